"""Laws made of Gaussians: one drawn at random, and noisy contractions, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import acb, arb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import at_least, exact, in_range, need, positive, table
from dpcalc.certificates.laws import Law, either_way, gaussian


def gaussians(parts: Iterable[tuple[Ball, Ball]]) -> Law:
    """A Gaussian mechanism that is chosen at random and told: (μ, probability); else nothing."""
    known = [(gaussian(mu), weight) for mu, weight in parts]
    rest = 1 - sum(weight for _, weight in known)

    def mean(values: Iterable[Ball], still: Ball) -> Ball:
        return sum((w * value for (_, w), value in zip(known, values, strict=True)), still)

    return either_way(
        Law(
            lambda z: mean((law.moment(z) for law, _ in known), acb(rest)),
            lambda c, y, s: mean((law.beyond(c, y, s) for law, _ in known), arb(0)),
            still=rest,
            profile=lambda e: mean((law.profile(e) for law, _ in known), arb(0)),
            cost=len(known),
        )
    )


def mixture(_: object, components: Any) -> Law:
    """A Gaussian mechanism drawn at random; with what is left of probability one, nothing."""
    found = table(components, positive, positive)
    need(that=sum(exact(weight) for _, weight in components) <= 1, got="probabilities")
    return gaussians(found)


def shifted(_: object, start: Any, steps: Any, shifts: Any) -> Law:
    """Noisy contractions, [factor, jump, noise] each, paid by shifts; the last one pays the rest."""
    apart, cost = in_range(start, 0), arb(0)
    rows = table(steps, at_least(0), at_least(0), positive)
    need(that=isinstance(shifts, list) and len(shifts) == len(rows) - 1, got="shifts")
    for (factor, jump, noise), text in zip(rows, [*shifts, None], strict=True):
        apart = factor * apart + jump
        shift = apart if text is None else in_range(text, 0)
        need(that=text is None or bool(shift <= apart), got=text)
        apart, cost = apart - shift, cost + (shift / noise) ** 2
    return gaussian(cost.sqrt())
