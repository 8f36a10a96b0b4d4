"""Pictures of outcomes."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.extras import need
from dpcalc.files import write_atomically
from dpcalc.numerals import spelt
from dpcalc.reproduction.captions import caption, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel, Table

_STYLES = {"none": "-", "printed": "-", "certified": "--", "theory": ":"}
"""Dashed curves have certified noise, solid ones the paper's."""

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00")
"""Of Okabe and Ito, told apart by all kinds of colour vision; their yellow is too pale for a line."""

_MARKS = "osv^Dxp*"
_MARKS_ALONG = 7
"""Marks along a line of many points, so that lines differ in more than their colour."""

_DPI = 150

_PANEL = 4.2
"""Width of a panel in inches, with what stands beside it."""

_ACROSS, _ALONG = 3.4, 2.4
"""Inches of a panel for a line of words, across and up its side."""

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


def coinciding(curves: Sequence[Curve]) -> dict[int, str]:
    """For curves that cannot be seen for an earlier one, by their number, that one's name.

    Closer everywhere than a thousandth of what all curves of the panel span.
    """
    drawn = [curve.statistics()[:2] for curve in curves]
    heights = np.concatenate([y for _, y in drawn]) if drawn else np.zeros(1)
    width = 1e-3 * float(np.ptp(heights)) if heights.size else 0.0
    found: dict[int, str] = {}
    for i, (x, y) in enumerate(drawn):
        for j in range(i):
            same = x.size and x.shape == drawn[j][0].shape and np.array_equal(x, drawn[j][0])
            if same and np.abs(y - drawn[j][1]).max() <= width:
                found[i] = curves[j].name
                break
    return found


def _figure(experiment: Experiment, outcome: Outcome) -> Any:
    import matplotlib.pyplot as plt

    panels = len(experiment.panels)
    columns = min(panels, 3) if panels != 4 else 2
    rows = math.ceil(panels / columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(_PANEL * columns, (2.7 + 0.13 * _legend_rows(outcome)) * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    known: dict[str, int] = {}
    for place, panel in zip(grid.flat, experiment.panels, strict=False):
        curves = [c for c in outcome.curves if c.panel == panel.key]
        colours = colours_of([method_of(curve.name) for curve in curves], known)
        known = colours | known
        _panel(place, panel, curves, colours)
    for place in list(grid.flat)[panels:]:
        place.set_axis_off()
    return figure


def _legend_rows(outcome: Outcome) -> int:
    """Lines of the longest legend."""
    panels: dict[str, list[Curve]] = {}
    for curve in outcome.curves:
        panels.setdefault(curve.panel, []).append(curve)
    return max((math.ceil(len(c) / legend_columns(_labels(c))) for c in panels.values()), default=0)


def legend_columns(labels: Sequence[str]) -> int:
    """How many columns of a legend a panel has room for."""
    return 2 if max(map(len, labels), default=0) <= _WIDEST_LABEL else 1


def method_of(name: str) -> str:
    """The part of a curve's name that its colour stands for."""
    return re.sub(r" \d+ noisy rounds$", "", name.split(",")[0])


def colours_of(methods: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """A colour's number for every method of a panel: that of earlier panels, else a free one."""
    found: dict[str, int] = {}
    for name in sorted(dict.fromkeys(methods), key=lambda method: method not in known):
        taken = set(found.values())
        number = known.get(name)
        if number is None or number in taken:
            number = next(k for k in count() if k not in taken)
        found[name] = number
    return found


def _shade(colour: str, number: int) -> tuple[float, float, float]:
    """A colour, darker for every further curve of the same method."""
    from matplotlib.colors import to_rgb

    red, green, blue = (0.6**number * part for part in to_rgb(colour))
    return red, green, blue


def _panel(place: Any, panel: Panel, curves: list[Curve], colours: dict[str, int]) -> None:
    before: Counter[tuple[str, str]] = Counter()
    greys = ["0.6", "0.1", "0.4"] * len(curves)
    marked = all(np.size(c.x) <= 12 for c in curves)
    labels, common = _labels(curves), _common(curves)
    for curve, label in zip(curves, labels, strict=True):
        x, mean, low, high = curve.statistics()
        base = method_of(curve.name)
        if curve.noise == "none" and len(x) and np.ptp(mean) == 0:
            place.plot(x, mean, "-.", color=greys.pop(0), lw=0.9, label=_fitted(place, label))
            continue
        number = colours[base]
        colour = _shade(_COLOURS[number % len(_COLOURS)], before[base, curve.noise])
        before[base, curve.noise] += 1
        place.plot(
            x,
            mean,
            _STYLES[curve.noise],
            color=colour,
            lw=1.2,
            marker=_MARKS[number % len(_MARKS)],
            ms=3.5,
            markevery=1 if marked else _every(len(x), number),
            label=_fitted(place, label),
        )
        if (high > low).any():
            place.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
    ours = " [ours]" if panel.ours else ""
    place.set_title(_fitted(place, f"({panel.key}) {panel.title}{ours}"), fontsize=8)
    place.set_xlabel(_fitted(place, panel.x))
    place.set_ylabel(_fitted(place, panel.y, room=_ALONG))
    if panel.log_x:
        place.set_xscale("log")
        _plain_numbers(place.xaxis, place.get_xlim())
    if panel.log_y:
        place.set_yscale("log")
        _plain_numbers(place.yaxis, place.get_ylim())
    place.grid(alpha=0.25, lw=0.5)
    if curves:
        place.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=legend_columns(labels),
            frameon=False,
            handlelength=2.4,
            columnspacing=1.0,
            title=f"certified {common}" if common else None,
            title_fontsize=7,
        )


def _fitted(place: Any, text: str, *, room: float = _ACROSS) -> str:
    """A text in lines that a panel has room for, letters of 8 points."""
    return "\n".join(lines_of(place.figure, text, size=8, width=room))


def _every(points: int, number: int) -> tuple[int, int]:
    """First mark and their distance, each method's at places of its own."""
    step = max(1, points // _MARKS_ALONG)
    return (number * step // len(_MARKS)) % max(points, 1), step


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
    """The curves' names, with their ε unless that is every curve's, and what hides them."""
    hidden, common = coinciding(curves), _common(curves)
    labels = []
    for i, curve in enumerate(curves):
        spent = _spent(curve)
        label = f"{curve.name} ({spent})" if spent and spent != common else curve.name
        labels.append(label + (f" = {hidden[i]}" if i in hidden else ""))
    return labels


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
