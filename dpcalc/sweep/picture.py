"""A picture of a sweep: an answer over one axis, a line for every setting of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.numerals import spelt, unpadded
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.report.measured_curves import MEASURES, Trained, picture_of
from dpcalc.sweep.grid import Sweep, all_numbers

_MOST = 8
"""Lines that can be told apart."""

ANSWERS = ("certified", "lower")
"""What is drawn, the first that a sweep has."""


def sweep_picture(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> Picture:
    """The answer over the longest axis of numbers; of trainings their error over certified ε.

    Raises:
        InvalidInput: if no axis has two numbers, or nothing was found that could be drawn.
    """
    if sweep.kind == "run":
        return _trained(sweep, rows)
    across, drawn = _across(sweep), _drawn(rows, ANSWERS)
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        value = row.get(drawn)
        if isinstance(value, int | float):
            line = _line(row, (name for name in sweep.axes if name != across)) or drawn
            lines.setdefault(line, []).append((float(row[across]), float(value)))
    curves = [Curve(name, tuple(sorted(places))) for name, places in lines.items()]
    y = "epsilon" if drawn == "certified" else drawn
    left_out = tuple(str(row["refused"]) for row in rows if "refused" in row)
    return Picture(across, y, tuple(curves[:_MOST]), y_label=_LABELS[drawn], left_out=left_out)


def sweep_note(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> str:
    """For the foot of the picture: what is asked, what does not vary, and the version."""
    fixed = [f"{name.replace('_', ' ')} = {_short(value)}" for name, value in sweep.fixed.items()]
    for name in ("neighbours", "release"):
        found = {str(row[name]) for row in rows if name in row}
        fixed += [f"{name}: {value}" for value in found if len(found) == 1]
    lines = 1
    if sweep.kind != "run":
        across = _across(sweep)
        for name, values in sweep.axes.items():
            lines *= 1 if name == across else len(values)
    more = f" The first {_MOST} of {lines} lines." if lines > _MOST else ""
    means = " Points: means over seeds, bars: lowest to highest." if sweep.kind == "run" else ""
    said = ", ".join(fixed) or "see the lines"
    return f"{sweep.name}: {said}.{more}{means} dpcalc {dpcalc.__version__}."


_LABELS = {"certified": "certified ε", "lower": "lower end of ε that the attack shows"}


def _trained(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> Picture:
    measure = _drawn(rows, MEASURES)
    names = [name for name in sweep.axes if name not in ("epsilon", "seed")]
    trained = [
        Trained(_line(row, names) or sweep.name, float(row["certified"]), (float(row[measure]),))
        for row in rows
        if measure in row and "certified" in row
    ]
    delta = "that of its line" if "delta" in sweep.axes else _short(sweep.fixed.get("delta", 0))
    return picture_of(trained, measure, delta=delta)


def _line(row: Mapping[str, Any], names: Sequence[str] | Iterator[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_short(row[name])}" for name in names)


def _short(value: object) -> str:
    return unpadded(spelt(value) if isinstance(value, float) else str(value))


def _across(sweep: Sweep) -> str:
    """The longest axis whose values are numbers."""
    numbers = {
        name: len(values)
        for name, values in sweep.axes.items()
        if len(values) > 1 and all_numbers(values)
    }
    if not numbers:
        raise InvalidInput("--plot needs an axis of at least two numbers; got none in the file")
    return max(numbers, key=lambda name: numbers[name])


def _drawn(rows: Sequence[Mapping[str, Any]], answers: Sequence[str] | Mapping[str, str]) -> str:
    found = {name for row in rows for name in row}
    for name in answers:
        if name in found:
            return name
    raise InvalidInput("--plot needs at least one answer; every setting was refused")
