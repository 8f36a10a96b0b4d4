"""Rounds known through Rényi divergences next to others: by a profile that their divergences show.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from typing import Any

from flint import acb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import at_least, fields, in_range, need, table
from dpcalc.certificates.laws import Rounds
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.renyi import at_an_order

METHOD = "corners"
FIELDS = "method", "precision", "enclosure", "points", "rest"

BARE = "zcdp", "rdp"
"""Mechanisms of which divergences alone are known, the same in both directions."""


def shown(statement: dict[str, Any], end: str, how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """`replaced`, refused unless a moment shows δ(ε) <= δ at every ε, δ, order that is named."""
    need(that=end == "upper", got="a bound from above")
    _, _, _, points, _ = fields(how, *FIELDS)
    rounds = rounds_of(parted(statement, bare=True), statement["adjacency"], False)
    for eps, delta, order in table(points, at_least(0), lambda x: in_range(x, 0, 1), at_least(1)):
        need(that=_least(rounds, eps, order - 1) <= delta, got=f"order {order}")
    others, rest = replaced(statement, how)
    need(that=isinstance(rest.get("method"), str), got=rest)
    return others, rest


def replaced(statement: dict[str, Any], how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The statement with the profile instead of these rounds, and the evidence about it."""
    _, precision, enclosure, points, rest = fields(how, *FIELDS)
    need(that=isinstance(rest, dict) and isinstance(points, list), got=rest)
    need(that=all(isinstance(point, list) for point in points), got=points)
    corners = {"mechanism": "profile", "count": 1, "points": [point[:2] for point in points]}
    releases = [*parted(statement, bare=False), corners]
    others = {"precision": precision, "enclosure": enclosure}
    return {**statement, "releases": releases}, {**rest, **others}


def parted(statement: dict[str, Any], *, bare: bool) -> list[dict[str, Any]]:
    """The releases of which divergences alone are known, or the others."""
    releases = statement["releases"]
    known = isinstance(releases, list) and all(isinstance(r, dict) for r in releases)
    need(that=known, got=releases)
    return [r for r in releases if (r.get("mechanism") in BARE) is bare]


def _least(rounds: Rounds, eps: Ball, c: Ball) -> Ball:
    """By the moment at c, or by Pinsker's inequality: δ(ε) <= δ(0) <= √(D/2), D a divergence."""
    need(that=c > 0, got="order 1")
    divergence = sum(abs(law.moment(acb(c))).log() / c * n for law, n in rounds)
    told = (divergence / 2).sqrt()
    found = at_an_order(rounds, eps, c)
    return found.min(told) if told.is_finite() else found
