"""What the divergence of one order says of ε and δ, with sixty digits, rounded up.

Statement
    With a divergence of at most β at order α, ``δ <= exp((α-1)(β - ε)) (1 - 1/α)^α / (α - 1)``, hence
    ``ε = β + ln((α-1)/α) - (ln δ + ln α)/(α-1)``; and δ(0) <= √(β/2) at any order above 1, as
    divergences increase with the order.
Source
    Canonne, Kamath and Steinke 2020, proposition 12; Pinsker's inequality.
"""

from __future__ import annotations

import math

from dpcalc.numerics.precise import context, mpf, round_up

NEXT_TO_ONE = 1 + 1e-6
"""The order at which Pinsker's inequality is asked for."""


def epsilon_of(beta: float, order: float, delta: float) -> float:
    """ε at a δ above 0, never below 0."""
    if not math.isfinite(beta):
        return math.inf
    ctx, a = context(), mpf(order)
    value = mpf(beta) + ctx.log((a - 1) / a) - (ctx.log(mpf(delta)) + ctx.log(a)) / (a - 1)
    return max(0.0, round_up(value))


def delta_of(beta: float, order: float, epsilon: float) -> float:
    """δ at a finite ε, at most 1."""
    if not math.isfinite(beta):
        return 1.0
    ctx, a = context(), mpf(order)
    log_delta = (a - 1) * (mpf(beta) - epsilon + ctx.log((a - 1) / a)) - ctx.log(a)
    return min(1.0, round_up(ctx.exp(log_delta)))


def advantage_of(beta: float) -> float:
    """δ(0), by Pinsker's inequality."""
    return round_up(context().sqrt(mpf(beta) / 2)) if math.isfinite(beta) else 1.0
