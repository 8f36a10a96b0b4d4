"""Curves of a published result: ε over δ or a parameter, the noise over a budget; as plain points."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.errors import AssumptionViolated, DpcalcError, InvalidInput
from dpcalc.theorems.parameters import parameters

if TYPE_CHECKING:
    from dpcalc.theorems.base import Bound, Theorem

_WIDTH = 1e-3  # finer than a line is wide
_MOST_POINTS = 1000
KINDS = ("claimed", "certified", "attained")
"""The three numbers that a published result has for one question."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a picture.

    Attributes:
        name: claimed, certified, attained or prescribed.
        points: (x, y), y finite and above 0; empty where there is none.
    """

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Curves over one axis.

    Attributes:
        x: what is varied: "delta", "epsilon" or a parameter's name.
        y: what answers: "epsilon" or the noise parameter's name.
        curves: the lines.
    """

    x: str
    y: str
    curves: tuple[Curve, ...]


def steps(low: float, high: float, count: int, *, whole: bool = False) -> list[float]:
    """Places of an axis, evenly spaced in the logarithm where both ends are above 0.

    Args:
        low: the first, at least 0 for whole numbers.
        high: the last, above ``low``.
        count: how many, 2 to 1,000; whole numbers that coincide are left out.
        whole: round to whole numbers.

    Raises:
        InvalidInput: for ends that leave nothing between them, or too many places.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"--from needs to be below --to; got {low:g} and {high:g}")
    if not 2 <= count <= _MOST_POINTS:
        raise InvalidInput(f"--points needs 2 to {_MOST_POINTS}; got {count}")
    share = [k / (count - 1) for k in range(count)]
    if low > 0:
        ratio = high / low
        found = [low * ratio**s for s in share[:-1]] + [high]
    else:
        found = [low + (high - low) * s for s in share[:-1]] + [high]
    if whole:
        return [float(n) for n in sorted({round(value) for value in found})]
    return found


def epsilon_over_delta(theorem: Theorem, deltas: Sequence[float]) -> Picture:
    """ε at every δ, of one instance."""
    curves = []
    with with_relative_width(_WIDTH):
        for kind in KINDS:
            bound = _bound(getattr(theorem, kind))
            read = [] if bound is None else [(d, bound.guarantee.epsilon(d)) for d in deltas]
            curves.append(Curve(kind, _drawable(read)))
    return Picture("delta", "epsilon", tuple(curves))


def epsilon_over(theorem: Theorem, name: str, values: Iterable[float], delta: float) -> Picture:
    """ε at δ for every value of a parameter; values that the theorem refuses are left out.

    Raises:
        InvalidInput: if the parameter is no number, with those that are.
    """
    variable(type(theorem), name)
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    with with_relative_width(_WIDTH):
        for value in values:
            try:
                instance = theorem.replace(**{name: value})
            except DpcalcError:
                continue
            for kind in KINDS:
                bound = _bound(getattr(instance, kind))
                if bound is not None:
                    found[kind].append((value, bound.guarantee.epsilon(delta)))
    curves = tuple(Curve(kind, _drawable(points)) for kind, points in found.items())
    return Picture(name, "epsilon", curves)


def noise_over_epsilon(theorem: Theorem, epsilons: Iterable[float], delta: float) -> Picture:
    """The noise for every budget: what the paper prescribes, and the smallest that is certified."""
    from dpcalc.calibration import calibrate

    prescribed, certified = [], []
    start = theorem
    for epsilon in epsilons:
        with contextlib.suppress(DpcalcError):
            prescribed.append((epsilon, theorem.prescribed(epsilon, delta).noise_level()))
        try:
            start = calibrate(start, epsilon, delta)
        except DpcalcError:
            continue
        certified.append((epsilon, start.noise_level()))
    curves = Curve("prescribed", _drawable(prescribed)), Curve("certified", _drawable(certified))
    return Picture("epsilon", theorem.noise, curves)


def variable(kind: type[Theorem], name: str) -> bool:
    """Whether a parameter that can be varied takes whole numbers only.

    Raises:
        InvalidInput: if it is no parameter, or no number.
    """
    known = {
        key: parameter.kind
        for key, parameter in parameters(kind).items()
        if parameter.kind in ("number", "count", "schedule")
    }
    if name not in known:
        options = ", ".join(sorted(key.replace("_", "-") for key in known))
        raise InvalidInput(
            f"--over needs delta, epsilon or a parameter of {kind.key} that is a number ({options}); "
            f"got {name.replace('_', '-')!r}"
        )
    return known[name] == "count"


def _bound(of: Callable[[], Bound | None]) -> Bound | None:
    try:
        return of()
    except AssumptionViolated:
        return None


def _drawable(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Points whose value is finite and above 0, which is all that a logarithmic axis shows."""
    return tuple((x, y) for x, y in points if 0 < y < math.inf)
