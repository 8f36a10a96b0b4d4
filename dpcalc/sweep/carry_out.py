"""A whole sweep: its settings in stretches that workers take, and rows in the order of the file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.numerals import number as parsed
from dpcalc.store import Store
from dpcalc.sweep.accounted import Point, Row, line, shared_axis
from dpcalc.sweep.grid import Sweep

Answer = Callable[[Sweep, "str | None", Sequence[Point]], list[Row]]
"""Sweep, axis along which answers are shared, settings of one stretch -> what was found for each."""

_LONGEST = 256
"""Settings of a line that are answered together."""

_ALONE = 8
"""Settings that are answered together where nothing is shared."""

Stretch = tuple[int, tuple[int, ...]]
"""Number of the stretch, and numbers of its settings."""


def rows_of(
    sweep: Sweep,
    *,
    answer: Answer = line,
    shared: Callable[[Sweep], str | None] = shared_axis,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """A row for every setting: values of the axes, then what was found.

    Args:
        sweep: what is asked.
        answer: who answers a stretch of settings.
        shared: the axis along which answers are shared.
        executor: who does the work; this process if left out.
        store: where finished stretches are kept.
        progress: called with the number of settings done.
    """
    axis, points = shared(sweep), sweep.points()
    stretches = list(enumerate(_stretches(sweep, axis, points)))
    keeping: Keeping[Stretch, list[Row]] = Keeping(
        store=store, key=_key, pack=_packed, unpack=_unpacked
    )
    found: dict[int, Row] = {}
    made = in_order_kept(
        partial(_answered, answer, sweep, axis, points),
        stretches,
        executor,
        keeping=keeping,
        what="stretch of settings",
    )
    for (_, numbers), rows in zip(stretches, made, strict=True):
        found |= dict(zip(numbers, rows, strict=True))
        if progress is not None:
            progress(len(found))
    return [_plain(point) | found[number] for number, point in enumerate(points)]


_WORDS = ("case", "data", "graph", "label", "positive", "schema")
"""What stays the text that it is, also where that looks like a number."""


def _plain(point: Point) -> Point:
    """Values as a table holds them: numbers as doubles, also those written as text such as "1/3"."""
    return {name: v if name in _WORDS else _double(v) for name, v in point.items()}


def _double(value: Any) -> Any:
    if isinstance(value, str):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            return float(parsed(value))
    return float(value) if isinstance(value, float) else value


def _answered(
    answer: Answer, sweep: Sweep, axis: str | None, points: Sequence[Point], stretch: Stretch
) -> list[Row]:
    return answer(sweep, axis, [points[number] for number in stretch[1]])


def _stretches(
    sweep: Sweep, axis: str | None, points: Sequence[Point]
) -> Iterator[tuple[int, ...]]:
    """Numbers of settings that are answered together; they depend on the file alone."""
    if axis is None:
        for start in range(0, len(points), _ALONE):
            yield tuple(range(start, min(start + _ALONE, len(points))))
        return
    lines: dict[tuple[Any, ...], list[int]] = {}
    others = [name for name in sweep.axes if name != axis]
    for number, point in enumerate(points):
        lines.setdefault(tuple(repr(point[name]) for name in others), []).append(number)
    for numbers in lines.values():
        numbers.sort(key=lambda number: float(points[number][axis]))
        for start in range(0, len(numbers), _LONGEST):
            yield tuple(numbers[start : start + _LONGEST])


def _key(stretch: Stretch) -> str:
    return f"{stretch[0]:06d}"


def _packed(rows: list[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"rows": rows}, {}


def _unpacked(header: Mapping[str, Any], _: Mapping[str, Any]) -> list[Row]:
    return list(header["rows"])
