"""The laws of what a certificate names: mechanism, parameters and number of rounds, one direction.

Depends on python-flint alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from dpcalc.certificates.grammar import exact, fields, need, number, whole
from dpcalc.certificates.inversion import Rounds
from dpcalc.certificates.laws import (
    Ball,
    Law,
    approximate,
    between_orders,
    gaussian,
    gaussians,
    laplace,
    renyi,
)
from dpcalc.certificates.norm import exponential_norm
from dpcalc.certificates.sampled import sampled, without_replacement
from dpcalc.certificates.tables import distributions, in_either_order, profile
from dpcalc.certificates.updates import update

Relation = tuple[str, bool]
"""The neighbouring relation, and whether P is the law without the record."""

RELATIONS = "add-remove", "replace-one", "neighbouring-functions", ""


def in_range(value: Any, least: Any, most: Any = None) -> Ball:
    """A number that is certainly not below ``least``, and below ``most``."""
    found = number(value)
    need(that=bool(found >= least and (most is None or found < most)), got=value)
    return found


def at_least(least: Any) -> Callable[[Any], Ball]:
    """Reads a number that is certainly not below ``least``."""
    return lambda value: in_range(value, least)


def positive(value: Any, most: Any = None) -> Ball:
    """A number that is certainly above 0, and below ``most``."""
    need(that=bool(number(value) > 0), got=value)
    return in_range(value, 0, most)


def table(rows: Any, *columns: Callable[[Any], Ball]) -> list[tuple[Ball, ...]]:
    """Rows of numbers."""
    need(that=isinstance(rows, list) and len(rows) > 0, got=rows)
    need(that=all(isinstance(row, list) and len(row) == len(columns) for row in rows), got="row")
    return [tuple(read(x) for read, x in zip(columns, row, strict=True)) for row in rows]


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
    return without_replacement(positive(mu), positive(rate, 1))


def mixture(_: Relation, components: Any) -> Law:
    """A Gaussian mechanism drawn at random; with what is left of probability one, nothing."""
    found = table(components, positive, positive)
    need(that=sum(exact(weight) for _, weight in components) <= 1, got="probabilities")
    return gaussians(found)


def finite(relation: Relation, outcomes: Any) -> Law:
    """Two distributions; under add-remove the first is that with the record, in every round."""
    adjacency, reverse = relation
    pairs = table(outcomes, at_least(0), at_least(0))
    sums = [sum(exact(row[side]) for row in outcomes) for side in (0, 1)]
    need(that=sums == [1, 1] and adjacency in RELATIONS[:3], got="probabilities")
    if adjacency != "add-remove":
        return in_either_order(pairs)
    return distributions([(q, p) for p, q in pairs] if reverse else pairs)


def shifted(_: Relation, start: Any, steps: Any, shifts: Any) -> Law:
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


def concentrated(_: Relation, rho: Any) -> Law:
    """Rényi divergences of at most ρ times the order."""
    slope = positive(rho)
    return renyi(lambda order: order * slope)


def known_orders(_: Relation, orders: Any) -> Law:
    """Rényi divergences at some orders."""
    return renyi(between_orders(table(orders, at_least(1), at_least(0))))


def known_points(_: Relation, points: Any) -> Law:
    """(ε, δ) in both directions."""
    return profile(table(points, at_least(0), lambda x: in_range(x, 0, 1)))


def approximately(_: Relation, epsilon: Any, delta: Any) -> Law:
    """Everything is told with probability δ, else the truth with odds e^ε."""
    return approximate(positive(epsilon), in_range(delta, 0, 1))


def perturbed(relation: Relation, noise: Law, curvature: Any, tied: Any) -> Law:
    """An objective-perturbed update; ``tied`` if a record's derivative s has s(1-s) for its own."""
    need(that=relation[0] in RELATIONS[:2], got=relation[0])
    need(that=isinstance(tied, bool), got=tied)
    return update(noise, positive(curvature), tied, *relation)


def moved_noise(a: Any, dimension: Any) -> Law:
    """Noise ∝ e^{-η|b|} moved by a/η."""
    d = whole(dimension, 1)
    return laplace(positive(a)) if d == 1 else exponential_norm(positive(a), d)


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
        lambda _, epsilon, d: exponential_norm(positive(epsilon), whole(d, 2)),
    ),
    "exponentially-perturbed-update": (
        ("bound", "dimension", "curvature", "tied"),
        lambda relation, a, d, *rest: perturbed(relation, moved_noise(a, d), *rest),
    ),
    "normally-perturbed-update": (
        ("mu", "curvature", "tied"),
        lambda relation, mu, *rest: perturbed(relation, gaussian(positive(mu)), *rest),
    ),
    "distributions": (("outcomes",), finite),
    "profile": (("points",), known_points),
    "zcdp": (("rho",), concentrated),
    "rdp": (("orders",), known_orders),
}


def rounds_of(releases: Any, adjacency: Any, reverse: bool) -> Rounds:
    """The laws of one direction with their counts; Gaussians make one."""
    need(that=isinstance(releases, list) and len(releases) > 0, got=releases)
    need(that=adjacency in RELATIONS, got=adjacency)
    found: Rounds = []
    squares = arb(0)
    for release in releases:
        mechanism = str(release.get("mechanism")) if isinstance(release, dict) else ""
        names, law_of = MECHANISMS.get(mechanism, (("a mechanism that is known",), gaussian))
        _, count, *parameters = fields(release, "mechanism", "count", *names)
        law, n = law_of((adjacency, reverse), *parameters), whole(count, 1)
        squares += n * law.squared
        if law.squared == 0:
            found.append((law, n))
    return [*found, (gaussian(squares.sqrt()), 1)] if squares > 0 else found
