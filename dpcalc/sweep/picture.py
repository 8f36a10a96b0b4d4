"""A picture of a sweep: an answer over one axis, a line for every setting of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.report.pictures import save_picture
from dpcalc.sweep.grid import Sweep, all_numbers

_MOST = 8
"""Lines that can be told apart."""

ANSWERS = ("certified", "lower", "test_error")
"""What is drawn, the first that a sweep has."""


def draw(sweep: Sweep, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the picture; its horizontal axis is the longest axis of numbers.

    Raises:
        InvalidInput: if no axis has two numbers, or nothing was found that could be drawn.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across, drawn = _across(sweep), _drawn(rows)
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        value = row.get(drawn)
        if isinstance(value, int | float):
            names = [f"{n} {row[n]}" for n in sweep.axes if n != across]
            lines.setdefault(", ".join(names), []).append((float(row[across]), float(value)))
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for number, (name, places) in enumerate(list(lines.items())[:_MOST]):
        axes.plot(*zip(*sorted(places), strict=True), color=f"C{number}", label=name or None)
    if len(lines) > 1:
        more = f" (first {_MOST} of {len(lines)})" if len(lines) > _MOST else ""
        axes.legend(fontsize=7, title=more or None)
    axes.set(xlabel=across.replace("_", " "), ylabel=drawn.replace("_", " "), title=sweep.name)
    for axis, values in (("x", [x for line in lines.values() for x, _ in line]),
                         ("y", [y for line in lines.values() for _, y in line])):  # fmt: skip
        if values and min(values) > 0 and max(values) > 20 * min(values):
            getattr(axes, f"set_{axis}scale")("log")
    axes.grid(alpha=0.25, lw=0.5)
    try:
        save_picture(figure, path)
    finally:
        plt.close(figure)


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


def _drawn(rows: Sequence[Mapping[str, Any]]) -> str:
    found = {name for row in rows for name in row}
    for name in ANSWERS:
        if name in found:
            return name
    raise InvalidInput("--plot needs at least one answer; every setting was refused")
