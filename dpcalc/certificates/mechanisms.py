"""The laws of what a certificate names: mechanism, parameters and number of rounds, one direction.

Depends on python-flint alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flint import arb

from dpcalc.certificates.batches import without_replacement
from dpcalc.certificates.grammar import (
    RELATIONS,
    ROWS,
    Relation,
    fields,
    in_range,
    need,
    positive,
    whole,
)
from dpcalc.certificates.laws import Law, Rounds, approximate, gaussian, laplace
from dpcalc.certificates.mixtures import mixture, shifted
from dpcalc.certificates.norm import exponential_norm
from dpcalc.certificates.rare import rare
from dpcalc.certificates.renyi import concentrated, known_orders
from dpcalc.certificates.sampled import sampled
from dpcalc.certificates.tables import finite, known_points
from dpcalc.certificates.updates import (
    DIMENSIONS,
    exponential_noise,
    normal_noise,
)

MOST_ROUNDS = 10**15

EITHER_ORDER = "gaussian-without-replacement", "profile", "distributions"
"""Whose rounds lose less than pairs that dominate them in both orders; distributions have one order
under add-remove."""


def poisson(relation: Relation, noise_multiplier: Any, rate: Any) -> Law:
    """A Gaussian on a Poisson sample."""
    adjacency, reverse = relation
    need(that=adjacency in RELATIONS[:2], got=adjacency)
    both = adjacency == "replace-one"
    mu, q = 1 / positive(noise_multiplier), positive(rate, 1)
    return sampled(mu, q, both or not reverse, both or reverse)


def fixed_size(relation: Relation, mu: Any, rate: Any) -> Law:
    """A Gaussian on a batch of fixed size."""
    need(that=relation[0] == "replace-one", got=relation[0])
    given = positive(mu), positive(rate, 1)
    return without_replacement(*given)._replace(parted=partial(rare, *given))


def approximately(_: Relation, epsilon: Any, delta: Any) -> Law:
    """Everything is told with probability δ, else the truth with odds e^ε."""
    return approximate(positive(epsilon), in_range(delta, 0, 1))


MECHANISMS: dict[str, tuple[tuple[str, ...], Callable[..., Law]]] = {
    "gaussian": (("mu",), lambda _, mu: gaussian(positive(mu))),
    "laplace": (("epsilon",), lambda _, epsilon: laplace(positive(epsilon))),
    "approximate": (("epsilon", "delta"), approximately),
    "poisson-subsampled-gaussian": (("noise_multiplier", "rate"), poisson),
    "gaussian-without-replacement": (("mu", "rate"), fixed_size),
    "gaussian-mixture": (("components",), mixture),
    "shifted-gaussian": (("start", "steps", "shifts"), shifted),
    "exponential-norm": (
        ("epsilon", "dimension"),
        lambda _, epsilon, d: exponential_norm(positive(epsilon), whole(d, 2, DIMENSIONS)),
    ),
    "exponentially-perturbed-update": (
        ("bound", "dimension", "curvature", "tied"),
        exponential_noise,
    ),
    "normally-perturbed-update": (
        ("mu", "curvature", "tied"),
        normal_noise,
    ),
    "distributions": (("outcomes",), finite),
    "profile": (("points",), known_points),
    "zcdp": (("rho",), concentrated),
    "rdp": (("orders",), known_orders),
}


def dominating(releases: Any, adjacency: str) -> bool:
    """Whether laws may lose more together than any of the mechanisms that they bound."""
    named = {release["mechanism"] for release in releases}
    unordered = named & set(EITHER_ORDER[: 2 if adjacency == "add-remove" else 3])
    several = sum(release["count"] for release in releases) > 1
    return "shifted-gaussian" in named or (several and bool(unordered))


def rounds_of(releases: Any, adjacency: Any, reverse: bool) -> Rounds:
    """The laws of one direction with their counts; Gaussians make one."""
    need(that=isinstance(releases, list) and 0 < len(releases) <= ROWS, got=releases)
    need(that=adjacency in RELATIONS, got=adjacency)
    found: Rounds = []
    squares = arb(0)
    for release in releases:
        mechanism = str(release.get("mechanism")) if isinstance(release, dict) else ""
        names, law_of = MECHANISMS.get(mechanism, (("a mechanism that is known",), gaussian))
        _, count, *parameters = fields(release, "mechanism", "count", *names)
        law, n = law_of((adjacency, reverse), *parameters), whole(count, 1, MOST_ROUNDS)
        squares += n * law.squared
        if law.squared == 0:
            found.append((law, n))
    return [*found, (gaussian(squares.sqrt()), 1)] if squares > 0 else found
