"""What a certificate is about: releases in exact numbers, from the guarantee that describes them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpcalc.accounting.losses import LaplaceLaw
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonPair,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.numerals import Written, ratio, unpadded


class NotCovered(Exception):
    """A release that certificates have no law for."""


def written(value: float) -> str:
    """A number as a certificate has it, exactly.

    What has at most fifteen digits is that decimal, as it was typed; other doubles are written in
    hexadecimal, and typed numbers that are no double as decimals or ratios.
    """
    exact, shortest = Fraction(*ratio(value)), repr(float(value))
    if Fraction(shortest) == exact or _digits(shortest) <= _TYPED:
        return unpadded(shortest)
    if isinstance(value, Written):
        return f"{exact.numerator}/{exact.denominator}"
    return float(value).hex()


def _digits(decimal: str) -> int:
    return len(decimal.partition("e")[0].replace(".", "").strip("0"))


_TYPED = 15
"""No two decimals of so many digits are the same double."""


def releases_of(parts: Iterable[tuple[Guarantee, int]], adjacency: str) -> list[dict[str, Any]]:
    """The releases of a certificate.

    Args:
        parts: guarantees with the number of rounds each describes.
        adjacency: the neighbouring relation.

    Raises:
        NotCovered: naming the first that has no law here.
    """
    found: dict[tuple[tuple[str, str], ...], int] = {}
    for part, count in parts:
        for fields, n in _laws(part, adjacency):
            key = tuple(fields.items())
            found[key] = found.get(key, 0) + n * count
    return [{**dict(key), "count": n} for key, n in found.items() if n]


def _laws(part: Guarantee, adjacency: str) -> list[tuple[dict[str, str], int]]:
    match part:
        case GDP() if part.mu == 0:
            return []
        case GDP():
            return [({"mechanism": "gaussian", "mu": written(part.mu)}, 1)]
        case PureDP() if part.bound == 0:
            return []
        case PureDP() | ApproxDP():
            failure = part.failure if isinstance(part, ApproxDP) else 0.0
            return [(_approximate(part.bound, failure), 1)]
        case Composition():
            return [
                (fields, n * count)
                for inner, count in part.parts
                for fields, n in _laws(inner, adjacency)
            ]
        case DominatedMechanism():
            return [_pair(part, adjacency)]
    raise NotCovered(f"{part.notion} is not covered by certificates")


def _approximate(bound: float, failure: float) -> dict[str, str]:
    return {"mechanism": "approximate", "epsilon": written(bound), "delta": written(failure)}


def _pair(part: DominatedMechanism, adjacency: str) -> tuple[dict[str, str], int]:
    (loss, count), *others = part.directions[0]
    if not others:
        match loss:
            case LaplaceLaw():
                return {"mechanism": "laplace", "epsilon": written(loss.epsilon)}, count
            case WithoutReplacement() if adjacency == "replace-one":
                given = {"mu": written(loss.mu), "rate": written(loss.rate)}
                return {"mechanism": "gaussian-without-replacement", **given}, count
            case PoissonRemove() if adjacency == "add-remove":
                return _sampled(part, loss), count
            case PoissonReplace() if adjacency == "replace-one":
                return _sampled(part, loss), count
    raise NotCovered(f"{part.described}: not covered by certificates")


def _sampled(part: DominatedMechanism, pair: PoissonPair) -> dict[str, str]:
    given = dict(part.typed) or {"noise_multiplier": pair.sigma, "rate": pair.rate}
    fields = {name: written(value) for name, value in given.items()}
    return {"mechanism": "poisson-subsampled-gaussian", **fields}
