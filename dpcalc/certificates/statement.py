"""What a certificate is about: releases in exact numbers, from the guarantee that describes them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpcalc.accounting.losses import LaplaceLoss
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonPair,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.renyi import RDP, ZCDP
from dpcalc.numerals import Written, ratio, unpadded

Release = dict[str, Any]
"""A mechanism with its parameters and number of rounds, as it stands in a certificate."""


class NotCovered(Exception):
    """A release that certificates have no law for."""


def written(value: float) -> str:
    """A number as a certificate has it, exactly.

    A decimal where that is the number itself, as it is of one that was typed; other doubles are
    written in hexadecimal, since that is what was computed with, and typed ratios as ratios.
    """
    given, shortest = Fraction(*ratio(value)), repr(float(value))
    if Fraction(shortest) == given:
        return unpadded(shortest)
    if isinstance(value, Written):
        return f"{given.numerator}/{given.denominator}"
    return float(value).hex()


def releases_of(parts: Iterable[tuple[Guarantee, int]], adjacency: str) -> list[Release]:
    """The releases of a certificate; the same mechanism twice is one with their number of rounds.

    Args:
        parts: guarantees with the number of rounds each describes.
        adjacency: the neighbouring relation.

    Raises:
        NotCovered: naming the first that has no law here.
    """
    known: dict[str, Release] = {}
    for part, count in parts:
        for fields, n in _laws(part, adjacency):
            release = known.setdefault(json.dumps(fields), {**fields, "count": 0})
            release["count"] += n * count
    return [release for release in known.values() if release["count"]]


def _laws(part: Guarantee, adjacency: str) -> list[tuple[Release, int]]:
    match part:
        case GDP(mu=0) | PureDP(bound=0) | ZCDP(rho=0):
            return []
        case Composition() | MixedReleases():
            return [
                (fields, n * count)
                for inner, count in part.parts
                for fields, n in _laws(inner, adjacency)
            ]
        case GDP():
            return [({"mechanism": "gaussian", "mu": written(part.mu)}, 1)]
        case PureDP() | ApproxDP():
            failure = part.failure if isinstance(part, ApproxDP) else 0.0
            return [(_approximate(part.bound, failure), 1)]
        case GaussianMixture():
            return [(_mixture(part), 1)]
        case ZCDP():
            return [({"mechanism": "zcdp", "rho": written(part.rho)}, 1)]
        case RDP() if part.points and all(math.isfinite(beta) for _, beta in part.points):
            orders = [[written(order), written(beta)] for order, beta in part.points]
            return [({"mechanism": "rdp", "orders": orders}, 1)]
        case DominatedMechanism():
            return [_pair(part, adjacency)]
    raise NotCovered(f"{part.notion} is not covered by certificates")


def _approximate(bound: float, failure: float) -> Release:
    return {"mechanism": "approximate", "epsilon": written(bound), "delta": written(failure)}


def _mixture(part: GaussianMixture) -> Release:
    weights = [_weight(weight) for weight in part.weights]
    if sum(weights) > 1:
        raise NotCovered("a mixture whose weights exceed one: not covered by certificates")
    known = zip(part.mus, weights, strict=True)
    return {"mechanism": "gaussian-mixture", "components": [[written(m), str(w)] for m, w in known]}


def _weight(weight: float) -> Fraction:
    """A double next to a ratio of small numbers is that ratio, else the decimal that is written."""
    near = Fraction(weight).limit_denominator(_POSITIONS)
    return near if float(near) == weight else Fraction(repr(float(weight)))


_POSITIONS = 10**8
"""Of denominators up to it no two ratios are the same double."""


def _pair(part: DominatedMechanism, adjacency: str) -> tuple[Release, int]:
    typed = dict(part.typed)
    (loss, count), *others = part.directions[0]
    if others:
        raise NotCovered(f"{part.described}: not covered by certificates")
    if "outcomes" in typed:
        return {"mechanism": "distributions", "outcomes": _normalised(typed["outcomes"])}, count
    if "points" in typed:
        points = [[written(epsilon), written(delta)] for epsilon, delta in typed["points"]]
        return {"mechanism": "profile", "points": points}, count
    if "curvature" in typed:
        return _update(typed), count
    match loss:
        case LaplaceLoss():
            return {"mechanism": "laplace", "epsilon": written(loss.epsilon)}, count
        case ExponentialNorm():
            given = {"epsilon": written(loss.bound), "dimension": loss.dimension}
            return {"mechanism": "exponential-norm", **given}, count
        case WithoutReplacement() if adjacency == "replace-one":
            given = {"mu": written(loss.mu), "rate": written(loss.rate)}
            return {"mechanism": "gaussian-without-replacement", **given}, count
        case PoissonRemove() if adjacency == "add-remove":
            return _sampled(part, loss), count
        case PoissonReplace() if adjacency == "replace-one":
            return _sampled(part, loss), count
    raise NotCovered(f"{part.described}: not covered by certificates")


def _update(typed: dict[str, Any]) -> Release:
    """An objective-perturbed update by what its law depends on, as rounded up."""
    normal = "mu" in typed
    kind = "normally-perturbed-update" if normal else "exponentially-perturbed-update"
    kept = {k: v if isinstance(v, int) else written(v) for k, v in typed.items()}
    return {"mechanism": kind, **kept}


def _normalised(outcomes: Sequence[tuple[float, float]]) -> list[list[str]]:
    known = [[Fraction(*ratio(value)) for value in row] for row in outcomes]
    sums = [sum(row[side] for row in known) for side in (0, 1)]
    return [[str(value / total) for value, total in zip(row, sums, strict=True)] for row in known]


def _sampled(part: DominatedMechanism, pair: PoissonPair) -> Release:
    given = dict(part.typed) or {"noise_multiplier": pair.sigma, "rate": pair.rate}
    fields = {name: written(value) for name, value in given.items()}
    return {"mechanism": "poisson-subsampled-gaussian", **fields}
