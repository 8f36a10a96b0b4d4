"""Enclosures of E[(1 - e^{ε-S})₊; S < ∞] for a sum S of independent losses, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. What makes no sense gives nan, which
is on no side of anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from flint import acb, arb

from dpcalc.certificates.laws import Ball, Law, gaussian

Rounds = list[tuple[Law, int]]


class Line(NamedTuple):
    """The trapezoidal rule on Re z = real_part with nodes 2π/period apart."""

    real_part: Ball
    period: Ball
    order: Ball  # where Chernoff's inequality bounds aliases
    smoothing: Ball  # μ of one more Gaussian round, or 0
    nodes: int
    shifts: list[Ball]  # one a law, for the bound of what lies beyond the last node


def product(values: Iterable[Ball]) -> Ball:
    """The product, 1 of none."""
    return math.prod(values, start=arb(1))


def on_a_line(rounds: Rounds, eps: Ball, line: Line) -> Ball:
    """By the trapezoidal rule, with its tail and less its aliases."""
    c, period, order, _, nodes, shifts = line
    if not (c > 0 and order > c and period > 0):
        return arb.nan()
    step, total = 2 * arb.pi() / period, arb(0)
    for j in range(nodes + 1):
        z = acb(c, step * j)
        value = product(law.moment(z) ** n for law, n in rounds) * (-z * eps).exp() / (z * (z + 1))
        if not value.is_finite():
            return arb.nan()
        total += value.real / 2 if j == 0 else value.real
    y = step * (nodes + 1)
    beyond = (abs(law.beyond(c, y, s)) ** n for (law, n), s in zip(rounds, shifts, strict=True))
    cut = product(beyond) * (-c * eps).exp() / (arb.pi() * step * nodes)
    left, right = (-c * period).exp(), ((c - order) * period).exp()
    above = product(abs(law.moment(acb(order))) ** n for law, n in rounds) * (-order * eps).exp()
    aliases = left / (1 - left) + above * right / (1 - right)
    return step / arb.pi() * total + arb(0, 1) * cut.upper() - arb(0.5, 0.5) * aliases


def smoothed_line(rounds: Rounds, eps: Ball, line: Line) -> Ball:
    """Between bounds by one more Gaussian round of tiny μ = s <= 0.3, if s is not 0."""
    s = line.smoothing
    if s == 0:
        return on_a_line(rounds, eps, line)
    if not (s > 0 and s <= arb("0.3")):
        return arb.nan()
    more, a = [*rounds, (gaussian(s), 1)], 2 * s
    line = line._replace(shifts=[*line.shifts, arb(0)])
    at, before, after = (on_a_line(more, eps + move, line) for move in (0, -a, a))
    least = 2 * at - before / (1 + (-a).exp()) - after / (1 + a.exp())
    return least.lower().min(at.upper()).union(at.upper())


def over_outcomes(rounds: Rounds, eps: Ball) -> Ball:
    """The sum over all outcomes of rounds that have two each."""
    sums = [(arb(0), arb(1))]
    for law, n in rounds:
        if not law.atoms:
            return arb.nan()
        (up, p), (down, q) = law.atoms
        binomials = [arb.bin_uiui(n, k) * p**k * q ** (n - k) for k in range(n + 1)]
        own = [(k * up + (n - k) * down, mass) for k, mass in enumerate(binomials)]
        sums = [(a + b, s * t) for a, s in sums for b, t in own]
    return sum((mass * (1 - (eps - loss).exp()).nonnegative_part() for loss, mass in sums), arb(0))


def bounded(rounds: Rounds, eps: Ball) -> Ball:
    """0, where no sum of finite losses exceeds ε."""
    return arb(0) if sum(law.largest * n for law, n in rounds) <= eps else arb.nan()


def one_round(rounds: Rounds, eps: Ball) -> Ball:
    """The closed form of a single round that has one."""
    return rounds[0][0].profile(eps) if len(rounds) == 1 and rounds[0][1] == 1 else arb.nan()
