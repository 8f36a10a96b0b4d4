"""Curves over one axis as plain points, whatever they are of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dpcalc.errors import DpcalcError, InvalidInput

Points = tuple[tuple[float, float], ...]

_MOST_POINTS = 1000


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a picture.

    Attributes:
        name: claimed, certified, attained, prescribed, or what else its legend says.
        points: (x, y), both finite; empty where there is none.
        ranges: (lowest, highest) at each of the points, where y is a mean; else empty.
        level: whether it is a number to compare with, the same everywhere.
    """

    name: str
    points: Points
    ranges: Points = ()
    level: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Curves over one axis.

    Attributes:
        x: what is varied: "delta", "epsilon" or a parameter's name.
        y: what answers: "epsilon", the name of a parameter, or of a measure.
        curves: the lines.
        x_label: what stands at the horizontal axis; the name unless given.
        y_label: the same of the vertical axis.
        left_out: reasons for which places of the axis have no point, one a place.
    """

    x: str
    y: str
    curves: tuple[Curve, ...]
    x_label: str = ""
    y_label: str = ""
    left_out: tuple[str, ...] = ()

    def gaps(self) -> str:
        """How many places have no point and why, in one sentence; "" if none."""
        if not self.left_out:
            return ""
        count = len(self.left_out)
        places = "1 place has" if count == 1 else f"{count} places have"
        return f"{places} no point: {self.left_out[0]}"


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


def asked(
    values: Iterable[float],
    names: Iterable[str],
    question: Callable[[float], Mapping[str, float | None]],
    *,
    zero: bool = False,
) -> tuple[tuple[Curve, ...], tuple[str, ...]]:
    """A curve for every name, and the reasons of places where the question makes no sense.

    Args:
        values: the places.
        names: of the curves.
        question: the answers at a place by name, None or infinite where there is none; one that
            raises has none at all.
        zero: whether 0 is worth a point.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    reasons: list[str] = []
    for value in values:
        try:
            answers = question(value)
        except DpcalcError as error:
            reasons.append(str(error))
            continue
        for name, answer in answers.items():
            if answer is not None:
                found[name].append((value, answer))
    curves = tuple(Curve(name, drawable(points, zero=zero)) for name, points in found.items())
    return curves, tuple(reasons)


def drawable(points: Iterable[tuple[float, float]], *, zero: bool = False) -> Points:
    """Points whose value is finite and above 0, which is all that a logarithmic axis shows."""
    return tuple((x, y) for x, y in points if 0 < y < math.inf or (zero and y == 0))
