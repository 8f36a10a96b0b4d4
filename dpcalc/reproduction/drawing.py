"""Pictures of outcomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel, Table

_STYLES = {"none": "-", "printed": "-", "certified": "--", "theory": ":"}
"""Dashed curves have certified noise, solid ones the paper's."""

_MARKS = "osv^Dxp*"


def draw(experiment: Experiment, outcome: Outcome, paths: list[Path]) -> None:
    """Save the picture of an outcome to every path, in the format of its suffix."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 8, "svg.hashsalt": "dpcalc", "legend.fontsize": 6.5}):
        figure = _table(outcome.table) if outcome.table else _figure(experiment, outcome)
        figure.suptitle(f"{experiment.reference}: {experiment.title}", fontsize=9)
        if outcome.notes:
            figure.text(0.5, 0.005, "; ".join(outcome.notes), ha="center", fontsize=6, color="0.4")
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=80, metadata=metadata)
        plt.close(figure)


def _figure(experiment: Experiment, outcome: Outcome) -> Any:
    import matplotlib.pyplot as plt

    count = len(experiment.panels)
    columns = min(count, 3) if count != 4 else 2
    rows = math.ceil(count / columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(4.7 * columns, 2.5 * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    _leave_room(figure, below=0.03, above=0.02)
    for place, panel in zip(grid.flat, experiment.panels, strict=False):
        _panel(place, panel, [c for c in outcome.curves if c.panel == panel.key])
    for place in list(grid.flat)[count:]:
        place.set_axis_off()
    return figure


def _panel(place: Any, panel: Panel, curves: list[Curve]) -> None:
    colours: dict[str, Any] = {}
    greys = ["0.6", "0.1", "0.4"] * len(curves)
    marked = all(np.size(c.x) <= 12 for c in curves)
    for curve in curves:
        x, mean, low, high = curve.statistics()
        base = curve.name.split(",")[0]
        colour = colours.setdefault(base, f"C{len(colours) % 10}")
        if curve.noise == "none" and len(x) and np.ptp(mean) == 0:
            place.plot(x, mean, "-.", color=greys.pop(0), lw=0.9, label=curve.name)
            continue
        mark = _MARKS[list(colours).index(base) % len(_MARKS)] if marked else ""
        style = _STYLES[curve.noise]
        place.plot(x, mean, style, color=colour, lw=1.2, marker=mark, ms=3.5, label=_label(curve))
        if (high > low).any():
            place.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
    place.set_xlabel(panel.x)
    place.set_ylabel(panel.y)
    ours = " [ours]" if panel.ours else ""
    place.set_title(f"({panel.key}) {panel.title}{ours}", fontsize=8)
    if panel.log_x:
        place.set_xscale("log")
        _plain_numbers(place.xaxis, place.get_xlim())
    if panel.log_y:
        place.set_yscale("log")
        _plain_numbers(place.yaxis, place.get_ylim())
    place.grid(alpha=0.25, lw=0.5)
    if curves:
        place.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False, handlelength=1.6)


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


def _label(curve: Curve) -> str:
    if curve.epsilon is None:
        return curve.name
    spent = "∞" if math.isinf(curve.epsilon) else f"{curve.epsilon:.3g}"
    return f"{curve.name} (ε={spent})"


def _table(table: Table) -> Any:
    import matplotlib.pyplot as plt

    figure, place = plt.subplots(
        figsize=(1.15 * len(table.columns) + 0.6, 0.3 * len(table.rows) + 1.1),
        layout="constrained",
    )
    _leave_room(figure, below=0.08, above=0.06)
    place.set_axis_off()
    cells = [[_cell(value) for value in row] for row in table.rows]
    made = place.table(cellText=cells, colLabels=list(table.columns), loc="center")
    made.auto_set_font_size(False)
    made.set_fontsize(7)
    made.scale(1, 1.25)
    return figure


def _leave_room(figure: Any, *, below: float, above: float) -> None:
    """Keep space for the title and the notes."""
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below - above))


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
