"""Enclosures of E[(1 - e^{ε-S})₊; S < ∞] for a sum S of independent losses, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. What makes no sense gives nan, which
is on no side of anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from flint import acb, arb, arb_poly

from dpcalc.certificates.laws import Ball, Law, Polynomial, Terms, ball, gaussian

Rounds = list[tuple[Law, int]]


class Line(NamedTuple):
    """The trapezoidal rule on Re z = real_part with nodes 2π/period apart."""

    real_part: Ball
    period: Ball
    order: Ball  # where Chernoff's inequality bounds aliases
    smoothing: Ball  # μ of one more Gaussian round, or 0
    nodes: int
    shifts: list[Ball]  # one a law, for the bound beyond the node where it becomes quiet
    quiet: list[int]  # the first node, one a law, at which its moment is bounded, not evaluated


def product(values: Iterable[Ball]) -> Ball:
    """The product, 1 of none."""
    return math.prod(values, start=arb(1))


class Heights(NamedTuple):
    """What a line needs of the summed loss; the same for every ε."""

    moments: list[Ball]  # at the nodes
    beyond: Ball  # bounds the moduli at all further nodes
    chernoff: Ball  # the moment at ``order``


def heights(rounds: Rounds, line: Line) -> Heights:
    """Moments of independent rounds on a line, from a law's quiet node on by its bound."""
    c, step, nodes = line.real_part, 2 * arb.pi() / line.period, line.nodes
    bounds = [
        law.beyond(c, step * first, shift)
        for (law, _), first, shift in zip(rounds, line.quiet, line.shifts, strict=True)
    ]
    far = [law.still + ball(bound) for (law, _), bound in zip(rounds, bounds, strict=True)]

    def moment(j: int) -> Ball:
        z, found = acb(c, step * j), acb(1)
        for k, (law, n) in enumerate(rounds):
            found *= (law.moment(z) if j < line.quiet[k] else far[k]) ** n
        return found

    beyond = product(
        (abs(law.still) + abs(bound)) ** n for (law, n), bound in zip(rounds, bounds, strict=True)
    )
    chernoff = product(abs(law.moment(acb(line.order))) ** n for law, n in rounds)
    return Heights([moment(j) for j in range(nodes + 1)], beyond, chernoff)


def on_a_line(found: Heights, eps: Ball, line: Line) -> Ball:
    """By the trapezoidal rule, with its tail and less its aliases."""
    c, period, order = line.real_part, line.period, line.order
    step, total = 2 * arb.pi() / period, arb(0)
    for j, moment in enumerate(found.moments):
        z = acb(c, step * j)
        value = moment * (-z * eps).exp() / (z * (z + 1))
        total += value.real / 2 if j == 0 else value.real
    cut = found.beyond * (-c * eps).exp() / (arb.pi() * step * line.nodes)
    left, right = (-c * period).exp(), ((c - order) * period).exp()
    above = found.chernoff * (-order * eps).exp()
    aliases = left / (1 - left) + above * right / (1 - right)
    return step / arb.pi() * total + arb(0, 1) * cut.upper() - arb(0.5, 0.5) * aliases


def by_a_line(rounds: Rounds, eps: Ball, line: Line) -> Ball:
    """Between bounds by one more Gaussian round of tiny μ = s <= 0.3, if s is not 0."""
    s, c, last = line.smoothing, line.real_part, line.nodes + 1
    sensible = c > 0 and line.order > c and line.period > 0 and s >= 0 and s <= arb("0.3")
    if not (sensible and all(1 <= first <= last for first in line.quiet)):
        return arb.nan()
    if s == 0:
        return on_a_line(heights(rounds, line), eps, line)
    more = line._replace(shifts=[*line.shifts, arb(0)], quiet=[*line.quiet, last])
    found, a = heights([*rounds, (gaussian(s), 1)], more), 2 * s
    at, before, after = (on_a_line(found, eps + move, more) for move in (0, -a, a))
    least = 2 * at - before / (1 + (-a).exp()) - after / (1 + a.exp())
    return least.lower().min(at.upper()).union(at.upper())


def at_an_order(rounds: Rounds, eps: Ball, c: Ball) -> Ball:
    """A bound by the moment at c, as (1 - e^{-u})₊ <= e^{cu}·cᶜ/(1 + c)¹⁺ᶜ."""
    if not c > 0:
        return arb.nan()
    moment = product(abs(law.moment(acb(c))) ** n for law, n in rounds)
    return moment * (c * c.log() - (1 + c) * (1 + c).log() - c * eps).exp()


def power(terms: Terms, n: int) -> list[tuple[Ball, Polynomial]]:
    """Terms of the n-th power of a moment."""
    (place, first), *rest = terms
    if not rest:
        return [(n * place, first**n)]
    return [
        (k * place + more, arb.bin_uiui(n, k) * first**k * left)
        for k in range(n + 1)
        for more, left in power(tuple(rest), n - k)
    ]


def gain(eps: Ball, place: Ball, polynomial: Polynomial) -> Ball:
    """What a term adds: e^{tx}/tʳ is the transform of e^{-s/2} times (x - s)ʳ⁻¹/(r - 1)! below x."""
    length, found = (place - eps).nonnegative_part(), arb(0)
    for sign in (1, -1):
        scale, rate = sign * ((eps + sign * length) / 2).exp(), arb(-sign) / 2
        moved, part, grown = (rate * length).exp(), arb(1), arb(1)
        for r, factor in enumerate(polynomial.coeffs()):
            found += factor * scale * part
            # the integral of e^{rate u} uʳ⁻¹/(r - 1)! over [0, length], r from 1 on
            part = (moved * grown - (part if r else 1)) / rate
            grown *= length / (r + 1)
    return found


def over_outcomes(rounds: Rounds, eps: Ball) -> Ball:
    """The sum over all terms of the summed loss's moment, where they are few."""
    sums = [(arb(0), arb_poly([1]))]
    for law, n in rounds:
        if not law.terms:
            return arb.nan()
        own = power(law.terms, n)
        sums = [(a + b, s * t) for a, s in sums for b, t in own]
    return sum((gain(eps, *term) for term in sums if not term[0] <= eps), arb(0))


def bounded(rounds: Rounds, eps: Ball) -> Ball:
    """0, where no sum of finite losses exceeds ε."""
    return arb(0) if sum(law.largest * n for law, n in rounds) <= eps else arb.nan()


def one_round(rounds: Rounds, eps: Ball) -> Ball:
    """The closed form of a single round that has one."""
    return rounds[0][0].profile(eps) if len(rounds) == 1 and rounds[0][1] == 1 else arb.nan()
