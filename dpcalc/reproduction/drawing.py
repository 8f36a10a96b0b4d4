"""Pictures of outcomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.extras import need
from dpcalc.files import write_atomically
from dpcalc.numerals import spelt
from dpcalc.pictures.ends import End, fits, name_ends
from dpcalc.reproduction.captions import caption, lines_of
from dpcalc.reproduction.looks import (
    MARKS,
    Look,
    coinciding,
    colours_of,
    is_level,
    looks_of,
    method_of,
    said,
    shows_decades,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel, Table

_MARKS_ALONG = 7
"""Marks along a line of many points, so that lines differ in more than their colour."""

_DPI = 150

_PANEL, _HEIGHT = 4.9, 2.8
"""Inches of a panel, with what stands beside and above it."""

_COLUMNS = 2
"""Panels in a row: more would be too small where a page shows them."""

_ABOVE, _ACROSS, _ALONG = 3.8, 3.2, 2.0
"""Inches of a panel for a line of words, above and below it and up its side."""

_NAME, _NAME_WIDTH = 7.0, 1.5
"""Size of the letters of names in points, and inches that a line of a name is wide at most."""

_BAND = 0.09
"""How much of its colour a band has."""

_WIDEST_LABEL = 26
"""Letters of a label up to which a legend under a panel has two columns."""


def draw(experiment: Experiment, outcome: Outcome, paths: list[Path]) -> None:
    """Save the picture of an outcome to every path, in the format of its suffix."""
    need("matplotlib", purpose="a picture")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 8, "svg.hashsalt": "dpcalc", "legend.fontsize": 7}):
        figure = _table(outcome.table) if outcome.table else _figure(experiment, outcome)
        title = f"{experiment.reference}: {experiment.title}"
        caption(figure, title=title, setting=setting(outcome))
        figure.draw_without_rendering()  # one pass places labels for ticks that are not yet there
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            with write_atomically(path) as file:
                figure.savefig(file, format=path.suffix[1:], dpi=_DPI, metadata=metadata)
        plt.close(figure)


def setting(outcome: Outcome) -> str:
    """What a picture rests on: its data, the δ of its ε, how many runs a band spans, the version."""
    import dpcalc

    deltas = sorted({curve.delta for curve in outcome.curves if curve.delta is not None})
    runs = max((np.atleast_2d(np.asarray(curve.y)).shape[0] for curve in outcome.curves), default=1)
    parts = list(outcome.notes)
    if deltas:
        parts.append("certified ε at δ = " + ", ".join(spelt(delta) for delta in deltas))
    if runs > 1:
        parts.append(f"bands from the worst to the best of {runs} runs")
    return "; ".join([*parts, f"dpcalc {dpcalc.__version__}"])


def _figure(experiment: Experiment, outcome: Outcome) -> Any:
    import matplotlib.pyplot as plt

    panels = len(experiment.panels)
    columns = min(panels, _COLUMNS)
    rows = math.ceil(panels / columns)
    of_panels = [[c for c in outcome.curves if c.panel == p.key] for p in experiment.panels]
    figure, grid = plt.subplots(rows, columns, squeeze=False, layout="constrained")
    labels = [_labels(curves) for curves in of_panels]
    below = max((_legend_rows(of) for of in labels if not _beside(figure, of)), default=0)
    figure.set_size_inches(_PANEL * columns, (_HEIGHT + 0.13 * below) * rows + 0.4)
    known: dict[str, int] = {}
    ends: dict[Any, list[End]] = {}
    for place, panel, curves in zip(grid.flat, experiment.panels, of_panels, strict=False):
        colours = colours_of([method_of(curve.name) for curve in curves], known)
        known = colours | known
        ends[place] = _panel(place, panel, curves, colours)
    for place in list(grid.flat)[panels:]:
        place.set_axis_off()
    name_ends(figure, ends, size=_NAME)
    return figure


def _named(figure: Any, label: str) -> str:
    """A label in the lines that it has beside its curve."""
    return "\n".join(lines_of(figure, label, size=_NAME, width=_NAME_WIDTH))


def _beside(figure: Any, labels: Sequence[str]) -> bool:
    """Whether names have room beside their curves; else they are a legend below."""
    names = [_named(figure, label) for label in labels]
    return fits(figure, names, size=_NAME, width=_PANEL, height=_ALONG)


def _legend_rows(labels: Sequence[str]) -> int:
    """Lines of a legend."""
    return math.ceil(len(labels) / legend_columns(labels))


def legend_columns(labels: Sequence[str]) -> int:
    """How many columns of a legend a panel has room for."""
    return 2 if max(map(len, labels), default=0) <= _WIDEST_LABEL else 1


def _panel(place: Any, panel: Panel, curves: list[Curve], colours: Mapping[str, int]) -> list[End]:
    """Draws the curves; the names that are to be written beside them, none if a legend has them."""
    labels, log = _labels(curves), panel.log_y or shows_decades(curves)
    hidden = coinciding(curves, log=log)
    marked = all(np.size(c.x) <= 12 for c in curves)
    named = [_named(place.figure, label) for label in labels]
    ends = []
    for k, (curve, look) in enumerate(zip(curves, looks_of(curves, colours), strict=True)):
        line = _draw_curve(place, curve, look, marked=marked, under=k in hidden.values())
        line.set_label(_fitted(place, labels[k]))
        ends.append(End(named[k], line, _right(curve, log=log)))
    _words(place, panel, curves, hidden)
    if panel.log_x:
        place.set_xscale("log")
        _plain_numbers(place.xaxis, place.get_xlim())
    if log:
        place.set_yscale("log")
        _plain_numbers(place.yaxis, place.get_ylim())
    place.grid(alpha=0.25, lw=0.5)
    if _beside(place.figure, labels):
        return ends
    place.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=legend_columns(labels),
        frameon=False,
        handlelength=3.0,
        columnspacing=1.0,
    )
    return []


def _right(curve: Curve, *, log: bool) -> tuple[float, float] | None:
    """The rightmost point that is drawn."""
    x, mean, _, _ = curve.statistics()
    drawn = [(float(a), float(b)) for a, b in zip(x, mean, strict=True) if b > 0 or not log]
    return max(drawn, default=None)


def _draw_curve(place: Any, curve: Curve, look: Look, *, marked: bool, under: bool) -> Any:
    """A line and its band; wider and paler where another lies on it, so that both are seen."""
    x, mean, low, high = curve.statistics()
    level = is_level(curve)
    (line,) = place.plot(
        x,
        mean,
        linestyle=look.dashes,
        color=look.colour,
        lw=3.5 if under else 1.0 if level else 1.2,
        alpha=0.5 if under else 1.0,
        marker=look.mark,
        ms=4.5 if under else 3.5,
        fillstyle=look.fill,
        markeredgewidth=0.8,
        markevery=1 if marked else _every(len(x), MARKS.find(look.mark)),
    )
    if not level and (high > low).any():
        place.fill_between(x, low, high, color=look.colour, alpha=_BAND, lw=0)
    return line


def _words(place: Any, panel: Panel, curves: Sequence[Curve], hidden: Mapping[int, int]) -> None:
    """Title with what holds of all curves and which cannot be told apart, and the axes' names."""
    common = _common(curves)
    ours = " [ours]" if panel.ours else ""
    lines = [
        f"({panel.key}) {panel.title}{ours}",
        f"all with certified {common}" if common else "",
        said(curves, hidden),
    ]
    title = "\n".join(_fitted(place, line, room=_ABOVE) for line in lines if line)
    place.set_title(title, fontsize=8, x=0.0, horizontalalignment="left")
    place.set_xlabel(_fitted(place, panel.x))
    place.set_ylabel(_fitted(place, panel.y, room=_ALONG))


def _fitted(place: Any, text: str, *, room: float = _ACROSS) -> str:
    """A text in lines that a panel has room for, letters of 8 points."""
    return "\n".join(lines_of(place.figure, text, size=8, width=room))


def _every(points: int, number: int) -> tuple[int, int]:
    """First mark and their distance, each method's at places of its own."""
    step = max(1, points // _MARKS_ALONG)
    return (number * step // len(MARKS)) % max(points, 1), step


def _plain_numbers(axis: Any, limits: tuple[float, float]) -> None:
    """0.34 instead of 3.4·10⁻¹ along a logarithmic axis of little more than one decade."""
    from matplotlib.ticker import FuncFormatter

    decades = math.log10(limits[1] / limits[0])
    if decades > 2:
        return
    crowded = "" if decades < 0.3 else "79" if decades < 1 else "346789"

    def plain(value: float, _: int) -> str:
        return "" if f"{value:e}"[0] in crowded else f"{value:g}"

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(plain))


def _spent(curve: Curve) -> str:
    if curve.epsilon is None:
        return ""
    return "ε = ∞" if math.isinf(curve.epsilon) else f"ε = {curve.epsilon:.3g}"


def _common(curves: Sequence[Curve]) -> str:
    """The ε of all curves of a panel that have one, if it is the same."""
    budgets = {_spent(curve) for curve in curves if curve.epsilon is not None}
    return budgets.pop() if len(budgets) == 1 else ""


def _labels(curves: Sequence[Curve]) -> list[str]:
    """The curves' names, with their ε unless that is every curve's."""
    common = _common(curves)
    spent = ["" if s == common else s for s in map(_spent, curves)]
    return [f"{c.name} ({s})" if s else c.name for c, s in zip(curves, spent, strict=True)]


def _table(table: Table) -> Any:
    import matplotlib.pyplot as plt

    figure, place = plt.subplots(
        figsize=(1.15 * len(table.columns) + 0.6, 0.3 * len(table.rows) + 1.1),
        layout="constrained",
    )
    place.set_axis_off()
    cells = [[_cell(value) for value in row] for row in table.rows]
    made = place.table(cellText=cells, colLabels=list(table.columns), loc="center")
    made.auto_set_font_size(False)
    made.set_fontsize(7)
    made.scale(1, 1.25)
    return figure


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
