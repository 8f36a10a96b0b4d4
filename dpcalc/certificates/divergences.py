"""Corners of the profile that divergences show, to be named in evidence."""

from __future__ import annotations

from typing import Any

from dpcalc.certificates.balls import precision
from dpcalc.certificates.corners import parted
from dpcalc.certificates.grammar import exact, number
from dpcalc.guarantees import RDP, ZCDP, Guarantee
from dpcalc.guarantees.renyi_profile import corners

_NEGLIGIBLE = 1e-12
"""Of δ, what may be told beyond the last corner."""


def profile_of(statement: dict[str, Any]) -> list[list[str]]:
    """ε, δ and the order that shows it, of the releases known through divergences alone."""
    parts = [(_guarantee(release), release["count"]) for release in parted(statement, bare=True)]
    known, least = corners(parts), _NEGLIGIBLE * float(exact(statement["delta"]))
    last = next((k for k, (_, delta, _) in enumerate(known) if delta < least), len(known))
    return [[float(x).hex() for x in row] for row in known[: last + 1]]


def _guarantee(release: dict[str, Any]) -> Guarantee:
    if release["mechanism"] == "zcdp":
        return ZCDP(_double(release["rho"]))
    points = {_double(order): _double(beta) for order, beta in release["orders"]}
    return RDP.from_points(points)


def _double(value: Any) -> float:
    """About a number, which may be a formula."""
    with precision(64):
        return float(number(value))
