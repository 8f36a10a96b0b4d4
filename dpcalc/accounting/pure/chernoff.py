"""A weaker bound for rounds of pure differential privacy too many to sum over.

Statement
    With ``β(α) = Σ n β_ε(α)``, the Rényi divergences of randomised response added up,
    ``δ(ε) <= e^{c(β(1+c) - ε)} c^c/(1+c)^{1+c}`` for every c > 0. From below: half the outcomes of
    equal rounds lie at the floor of their mean or above, so ``δ(ε) >= (1 - e^{ε-L})/2`` for the loss
    L there.
Source
    Canonne, Kamath and Steinke 2020, proposition 12; the median of a binomial law is at least the
    floor of its mean.
Rounding
    Sixty digits, outward by 1e-30 for what they lose, then outward. The search for c may be sloppy:
    every c gives a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dpcalc.accounting.enclosure import Bracket
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up

METHOD = "weaker: Chernoff bound, as there are too many rounds to sum over"
_SEARCH = 80
_SLACK = 1e-30


def epsilon_by_chernoff(rounds: Mapping[float, int], delta: float) -> Bracket:
    """An enclosure of ε at a δ in (0, 1)."""
    log_delta = context().log(mpf(delta))

    def epsilon(c: Real) -> Real:
        divergence, rest = _divergence(rounds, c), (_entropy(c) - log_delta) / c
        return divergence + rest + _SLACK * (divergence + abs(rest))

    best = max(round_up(_least(epsilon)), 0.0)
    return Bracket(min(_epsilon_at_the_mean(rounds, delta), best), best, METHOD)


def delta_by_chernoff(rounds: Mapping[float, int], epsilon: float) -> Bracket:
    """An enclosure of δ at an ε of 0 or above."""
    ctx, eps = context(), mpf(epsilon)

    def exponent(c: Real) -> Real:
        gain, entropy = c * _divergence(rounds, c), _entropy(c)
        return gain - c * eps + entropy + _SLACK * (gain + c * eps - entropy)

    lower = 0.0
    if len(rounds) == 1:
        lower = max(0.0, round_down(-ctx.expm1(eps - _loss_at_the_mean(rounds)) / 2))
    return Bracket(lower, min(1.0, round_up(ctx.exp(_least(exponent)))), METHOD)


def _divergence(rounds: Mapping[float, int], c: Real) -> Real:
    """Σ n ln[cosh((c+½)ε)/cosh(ε/2)]/c, without cancellation for small ε.

    For large ε the digits before the point of (1+c)ε are carried on top, as all behind it count.
    """
    ctx, total = context(), mpf(0)
    for epsilon, count in rounds.items():
        eps = mpf(epsilon)
        with ctx.extradps(max(0, ctx.mag(eps)) // 3 + 10):
            excess = 2 * ctx.sinh((c + 1) * eps / 2) * ctx.sinh(c * eps / 2)
            total += count * ctx.log1p(excess / ctx.cosh(eps / 2))
    return total / c


def _entropy(c: Real) -> Real:
    """Ln[c^c/(1+c)^{1+c}], below 0."""
    ctx = context()
    return -c * ctx.log1p(1 / c) - ctx.log1p(c)


def _least(function: Callable[[Real], Real]) -> Real:
    """About the least value of a function with one valley, by golden section over log c."""
    ctx = context()
    ratio = (ctx.sqrt(5) - 1) / 2
    low, high = mpf(-400), mpf(800)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(ctx.exp(left)), function(ctx.exp(right))
    for _ in range(_SEARCH):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(ctx.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(ctx.exp(right))
    return min(at_left, at_right)


def _epsilon_at_the_mean(rounds: Mapping[float, int], delta: float) -> float:
    """The ε at which half the outcomes give δ; 0 if that says nothing."""
    if len(rounds) != 1 or delta >= 0.5:
        return 0.0
    found = _loss_at_the_mean(rounds) + context().log1p(-2 * mpf(delta))
    return max(0.0, round_down(found))


def _loss_at_the_mean(rounds: Mapping[float, int]) -> Real:
    """(2⌊np⌋ - n)ε for n equal rounds, p = 1/(1+e^{-ε}), with room for the rounding of np."""
    ctx = context()
    ((epsilon, count),) = rounds.items()
    with ctx.extradps(int(math.log10(count)) + 1):
        p = 1 / (1 + ctx.exp(-mpf(epsilon)))
        return (2 * (ctx.floor(count * p) - 1) - count) * mpf(epsilon)
