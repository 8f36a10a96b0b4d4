"""The laws of what a certificate names: mechanism, parameters and number of rounds, one direction.

Depends on python-flint alone.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from dpcalc.certificates.grammar import fields, need, number, whole
from dpcalc.certificates.inversion import Rounds
from dpcalc.certificates.laws import (
    approximate,
    gaussian,
    laplace,
    sampled,
    without_replacement,
)

MECHANISMS: dict[str, tuple[str, ...]] = {
    "gaussian": ("mu",),
    "laplace": ("epsilon",),
    "approximate": ("epsilon", "delta"),
    "poisson-subsampled-gaussian": ("noise_multiplier", "rate"),
    "gaussian-without-replacement": ("mu", "rate"),
}
RELATIONS = "add-remove", "replace-one", "neighbouring-functions", ""


def rounds_of(releases: Any, adjacency: Any, reverse: bool) -> Rounds:
    """The laws of one direction with their counts; Gaussians make one."""
    need(that=isinstance(releases, list) and len(releases) > 0, got=releases)
    need(that=adjacency in RELATIONS, got=adjacency)
    found: Rounds = []
    squares = arb(0)
    for release in releases:
        mechanism = str(release.get("mechanism")) if isinstance(release, dict) else ""
        names = MECHANISMS.get(mechanism, ("a mechanism that is known",))
        _, count, *texts = fields(release, "mechanism", "count", *names)
        first, second = map(number, [*texts, "0"][:2])
        need(that=bool(first > 0 and second < 1 and whole(count, 1)), got=release)
        if mechanism == "gaussian":
            squares += count * first**2
        elif mechanism == "laplace":
            found.append((laplace(first), count))
        elif mechanism == "approximate":
            found.append((approximate(first, second), count))
        else:
            both = adjacency == "replace-one"
            poisson = mechanism == "poisson-subsampled-gaussian"
            need(
                that=bool(second > 0) and (both or (poisson and adjacency == "add-remove")),
                got=release,
            )
            if poisson:
                law = sampled(1 / first, second, both or not reverse, both or reverse)
            else:
                law = without_replacement(first, second)
            found.append((law, count))
    return [*found, (gaussian(squares.sqrt()), 1)] if squares > 0 else found
