"""Rényi divergences: bounds of moments, and of δ(ε) by one of them, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import acb, arb

from dpcalc.certificates.balls import Ball, product
from dpcalc.certificates.grammar import at_least, number, positive, table
from dpcalc.certificates.laws import Law, Rounds


def renyi(bound: Callable[[Ball], Ball]) -> Law:
    """What is known of it is a bound of the Rényi divergence of every order, in both directions."""

    def moment(z: Ball) -> Ball:
        c = z.real
        return acb((c * bound(c + 1)).exp()) if z.imag == 0 and c > 0 else acb("nan")

    return Law(moment, lambda *_: arb.pos_inf())


def between_orders(points: list[tuple[Ball, Ball]]) -> Callable[[Ball], Ball]:
    """Divergences known at orders: (order - 1)·divergence is convex, and divergences increase."""

    def bound(order: Ball) -> Ball:
        known = [point for point in points if point[0] >= order]
        lower = [point for point in points if point[0] < order]
        if not known:
            return arb.pos_inf()
        (b, right), *_ = known
        if not lower:
            return right
        a, left = lower[-1]
        chord = ((a - 1) * left * (b - order) + (b - 1) * right * (order - a)) / (b - a)
        return chord / (order - 1)

    return bound


def concentrated(_: object, rho: Any) -> Law:
    """Rényi divergences of at most ρ times the order."""
    slope = positive(rho)
    return renyi(lambda order: order * slope)


def known_orders(_: object, orders: Any) -> Law:
    """Rényi divergences at some orders."""
    return renyi(between_orders(table(orders, at_least(1), at_least(0))))


def order(rounds: Rounds, eps: Ball, chosen: Any) -> Ball:
    """By the moment at an order that the evidence names."""
    return at_an_order(rounds, eps, number(chosen) - 1)


def at_an_order(rounds: Rounds, eps: Ball, c: Ball) -> Ball:
    """A bound by the moment at c, as (1 - e^{-u})₊ <= e^{cu}·cᶜ/(1 + c)¹⁺ᶜ."""
    if not c > 0:
        return arb.nan()
    moment = product(abs(law.moment(acb(c))) ** n for law, n in rounds)
    return moment * (c * c.log() - (1 + c) * (1 + c).log() - c * eps).exp()


def sums_of_small(rounds: Rounds, eps: Ball, c: Ball) -> Ball:
    """δ(ε) of the small parts of laws alone, from 0 to the bound by their moments at c."""
    small = [(law._replace(moment=law.small or law.moment), n) for law, n in rounds]
    return arb(0.5, 0.5) * at_an_order(small, eps, c).upper()
