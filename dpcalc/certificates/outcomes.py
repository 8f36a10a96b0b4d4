"""Enclosures by a sum over all outcomes, where they are few, and what largest losses decide alone.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from flint import arb, arb_poly

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import exact, need
from dpcalc.certificates.laws import Polynomial, Rounds, Terms

MOST = 100_000
"""Summands of a sum over outcomes."""

LONGEST = 10_000
"""Rounds whose chances of no infinite loss are multiplied exactly."""


def summands(rounds: Rounds) -> int:
    """Of the sum over outcomes."""
    degree = sum(n * max(p.degree() for _, p in law.terms) for law, n in rounds)
    kinds = [(min(n, MOST), len(law.terms)) for law, n in rounds]
    return (1 + degree) * math.prod(math.comb(n + k - 1, min(n, k - 1)) for n, k in kinds)


def power(terms: Terms, n: int) -> list[tuple[Ball, Polynomial]]:
    """Terms of the n-th power of a moment."""
    *others, (last, most) = terms
    found = [(n, arb(0), arb_poly([1]))]  # rounds left, place, polynomial
    for place, factor in others:
        found = [
            (left - k, at + k * place, arb.bin_uiui(left, k) * made * factor**k)
            for left, at, made in found
            for k in range(left + 1)
        ]
    return [(at + left * last, made * most**left) for left, at, made in found]


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
    if not all(law.terms for law, _ in rounds):
        return arb.nan()
    need(that=summands(rounds) <= MOST, got="a sum of so many outcomes")
    sums = [(arb(0), arb_poly([1]))]
    for law, n in rounds:
        own = power(law.terms, n)
        sums = [(a + b, s * t) for a, s in sums for b, t in own]
    return sum((gain(eps, *term) for term in sums if not term[0] <= eps), arb(0))


def bounded(rounds: Rounds, eps: Ball) -> Ball:
    """0, where no sum of finite losses exceeds ε."""
    return arb(0) if sum(law.largest * n for law, n in rounds) <= eps else arb.nan()


def over_losses(releases: Any, end: str, eps: Fraction, delta: Fraction) -> bool:
    """What follows from the largest finite losses and the chances of infinite ones alone.

    If no sum of finite losses exceeds ε, δ(ε) is the chance of an infinite one; below the largest sum,
    which has a positive chance, it is larger.
    """
    need(that={r["mechanism"] for r in releases} <= {"approximate", "laplace"}, got="largest loss")
    largest = sum(r["count"] * exact(r["epsilon"]) for r in releases)
    if end == "upper":
        return largest <= eps and sum(r["count"] * failure(r) for r in releases) <= delta
    need(that=sum(r["count"] for r in releases) <= LONGEST, got="so many rounds")
    finite = math.prod((1 - failure(r)) ** r["count"] for r in releases)
    return largest >= eps and 1 - finite >= delta


def failure(release: Any) -> Fraction:
    """The chance of an infinite loss."""
    return exact(release.get("delta", "0"))
