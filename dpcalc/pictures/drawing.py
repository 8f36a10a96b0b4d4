"""Pictures of curves: colours that everybody can tell apart, labels at the lines, the setting below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.files import write_atomically
from dpcalc.numerals import spelt
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.pictures.ends import End, fits, legend_below, name_ends
from dpcalc.pictures.saving import save_picture
from dpcalc.pictures.svg import svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

STYLES = {
    "claimed": ("#D55E00", (0, (5, 2))),
    "prescribed": ("#D55E00", (0, (5, 2))),
    "certified": ("#0072B2", "solid"),
    "attained": ("#000000", (0, (1, 1.5))),
    "attacked": ("#009E73", "none"),
    "the budget": ("#D55E00", "none"),
    "the claim": ("#D55E00", "none"),
}
"""Colours of Okabe and Ito, which differ for every kind of colour vision; and dashes for print."""

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00")
"""Of the same authors, for lines that have names of their own; their yellow is too pale for a line."""

_DASHES = ("solid", (0, (6, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2, 1, 1, 1, 2)))
_MARKS = "os^Dvp*"
"""Of the same lines: counts without a common factor, so that no pair is met twice soon."""

_LEVELS = (("#555555", (0, (1, 2))), ("#888888", (0, (6, 2))), ("#AAAAAA", (0, (6, 2, 1, 2))))
"""Greys and dashes of lines that are there to compare with."""

_ALIKE = 0.005
"""Relative distance below which two lines lie on one another."""

_NAMES = {"epsilon": "ε", "delta": "δ"}
_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ font-family: sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ max-width: 100%; height: auto }} table {{ border-collapse: collapse }}
td, th {{ padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ccc }}</style></head>
<body><h1>{title}</h1>{picture}<p>{setting}</p>
<details><summary>The numbers</summary><table><thead><tr>{heads}</tr></thead>
<tbody>{rows}</tbody></table></details></body></html>
"""


_NAME, _LETTERS = 8.5, 24
"""Size of the letters of names in points, and how many a line of a name has at most."""

_FEW = 8
"""Marks along a line that has more points."""

WIDTH = 7.0
"""Of a picture, in inches, unless another is asked for."""


def draw(
    picture: Picture,
    path: Path,
    *,
    title: str,
    setting: str,
    mark: float = 0.0,
    width: float = WIDTH,
) -> None:
    """Write a picture.

    Args:
        picture: what to draw.
        path: where to; the ending decides the format (png, svg, pdf, html).
        title: above it.
        setting: below it: parameters, release, neighbours, version.
        mark: a place of the horizontal axis to mark, 0 for none.
        width: in inches, 2 or more; letters keep their size.

    Raises:
        InvalidInput: if no curve has a point.
        OutputFailed: if it cannot be written.
    """
    figure = figure_of(picture, title=title, setting=setting, mark=mark, width=width)
    if path.suffix.lower() not in (".html", ".htm"):
        save_picture(figure, path, dpi=160)
        return
    heads, rows = table_of(picture)
    page = _HTML.format(
        title=escape(title),
        picture=svg_text(figure),
        setting=escape(f"{setting} {picture.gaps()}".strip()),
        heads="".join(f'<th scope="col">{escape(_named(head))}</th>' for head in heads),
        rows="".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
        ),
    )
    with write_atomically(path) as file:
        file.write(page.encode())


def figure_of(
    picture: Picture, *, title: str, setting: str, mark: float = 0.0, width: float = WIDTH
) -> Figure:
    """The picture as a figure of matplotlib; arguments as of `draw`."""
    need("matplotlib", purpose="a picture")
    from matplotlib.figure import Figure

    if not any(curve.points for curve in picture.curves):
        why = f" ({picture.left_out[0]})" if picture.left_out else ""
        raise InvalidInput(f"nothing finite and above 0 to draw{why}; try other parameters")
    above = textwrap.wrap(title, int(9.5 * width))
    below = textwrap.wrap(f"{setting} {picture.gaps()}".strip(), int(15.8 * width))
    height = 0.48 * width + 0.7 + 0.17 * len(above) + 0.115 * len(below)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    styles = _styles(picture.curves)
    y_name = picture.y_label or _named(picture.y)
    ends = []
    last = max(x for curve in picture.curves for x, _ in curve.points)
    for label, curve in _merged(picture.curves):
        line = _draw_curve(axes, label, curve, *styles[curve.name])
        x, y = max(curve.points)
        ends.append(End(_in_lines(label), line, (last if curve.level else x, y)))
    _scale(axes, picture, most=10 ** (3 * width / WIDTH))
    for curve in picture.curves:
        if not curve.points and curve.name != "attained":
            missing = f"{curve.name}: no finite {_named(picture.y)}"
            (line,) = axes.plot([], [], color=styles[curve.name][0], label=missing)
            ends.append(End(_in_lines(missing), line, None))
    if mark > 0:
        axes.axvline(mark, color="0.5", linewidth=0.8)
        axes.annotate(
            f"{_named(picture.x)} = {spelt(mark)}",
            (mark, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10),
            textcoords="offset points",
            fontsize=8,
            color="0.35",
        )
    axes.set_xlabel(picture.x_label or _named(picture.x))
    axes.set_ylabel("\n".join(textwrap.wrap(y_name, int(6.8 * width))))
    axes.set_title("\n".join(above), fontsize=10, x=0.0, horizontalalignment="left")
    axes.grid(visible=True, alpha=0.25)
    figure.supxlabel("\n".join(below), fontsize=7, color="0.35")
    names = [end.name for end in ends]
    if fits(figure, names, size=_NAME, width=width, height=0.4 * width):
        name_ends(figure, {axes: ends}, size=_NAME)
    else:
        legend_below(figure, axes, size=_NAME)
    return figure


def _in_lines(name: str) -> str:
    """A name in the lines that it has beside its curve."""
    return "\n".join(textwrap.wrap(name, _LETTERS))


def _draw_curve(axes: Axes, label: str, curve: Curve, color: str, dashes: Any, mark: str) -> Line2D:
    """One line; points alone where there is one place, or where points are all that is known."""
    x, y = zip(*curve.points, strict=True)
    if len(x) == 1 and curve.level:
        return axes.axhline(y[0], color=color, linestyle=dashes, linewidth=1.5, label=label)
    alone = len(x) == 1 or curve.name == "attacked"
    few = curve.ranges or len(x) <= _FEW
    (line,) = axes.plot(
        x,
        y,
        color=color,
        linestyle="none" if alone else dashes,
        linewidth=1.8,
        marker=mark or ("o" if alone or curve.ranges else ""),
        markersize=6 if alone else 4.5,
        markevery=1 if few or alone else max(1, len(x) // _FEW),
        label=label,
    )
    if curve.ranges:
        low, high = zip(*curve.ranges, strict=True)
        axes.vlines(x, low, high, color=color, linewidth=1)
    return line


def _styles(curves: Sequence[Curve]) -> dict[str, tuple[str, Any, str]]:
    """Colour, dashes and mark of every curve: of its kind, of levels, else the next of each."""
    levels = [curve.name for curve in curves if curve.level]
    own = [c.name for c in curves if c.name not in STYLES and not c.level]
    taken = {STYLES[curve.name][0] for curve in curves if curve.name in STYLES}
    free = [colour for colour in PALETTE if colour not in taken]
    of_kinds = {name: (*style, "") for name, style in STYLES.items()}
    greys = {name: (*_LEVELS[k % len(_LEVELS)], "") for k, name in enumerate(levels)}
    found = {
        name: (free[k % len(free)], _DASHES[k % len(_DASHES)], _MARKS[k % len(_MARKS)])
        for k, name in enumerate(own)
    }
    return {**of_kinds, **found, **greys}


def table_of(picture: Picture) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the numbers behind a picture; empty cells where a curve has no value."""
    columns: list[tuple[str, dict[float, float]]] = []
    for curve in picture.curves:
        columns.append((curve.name, dict(curve.points)))
        if curve.ranges:
            x = [place for place, _ in curve.points]
            for name, values in zip(
                ("lowest", "highest"), zip(*curve.ranges, strict=True), strict=True
            ):
                columns.append((f"{curve.name} {name}", dict(zip(x, values, strict=True))))
    places = sorted({x for _, column in columns for x in column})
    rows = [
        [repr(x), *("" if x not in column else repr(column[x]) for _, column in columns)]
        for x in places
    ]
    return [picture.x, *(name for name, _ in columns)], rows


def _merged(curves: Sequence[Curve]) -> list[tuple[str, Curve]]:
    """Curves with their labels; of those that lie on one another the last, which says so."""
    found: list[tuple[str, Curve]] = []
    for curve in curves:
        if not curve.points:
            continue
        twin = next((k for k, (_, other) in enumerate(found) if _alike(curve, other)), None)
        if twin is None:
            found.append((curve.name, curve))
        else:
            label, other = found[twin]
            found[twin] = (f"{label} = {curve.name}", other)
    return found


def _alike(one: Curve, other: Curve) -> bool:
    a, b = dict(one.points), dict(other.points)
    return a.keys() == b.keys() and all(abs(a[x] - b[x]) <= _ALIKE * abs(b[x]) for x in a)


def _scale(axes: Axes, picture: Picture, most: float) -> None:
    """Logarithmic axes where the numbers span more than a factor of five.

    Args:
        axes: of the picture.
        picture: what is drawn.
        most: the span below which there is room for labels between the decades.
    """
    points = [point for curve in picture.curves for point in curve.points]
    scales: tuple[tuple[Any, int], ...] = ((axes.set_xscale, 0), (axes.set_yscale, 1))
    for set_scale, place in scales:
        values = [point[place] for point in points]
        if min(values) > 0 and max(values) / min(values) > 5:
            set_scale("log")
            crowded = max(values) / min(values) >= most
            _plain_numbers(axes.yaxis if place else axes.xaxis, crowded=crowded)
        elif place == 1 and math.isfinite(max(values)) and min(values) >= 0:
            tops = [high for curve in picture.curves for _, high in curve.ranges]
            axes.set_ylim(0, 1.08 * max([*values, *tops]) or 1)


def _plain_numbers(axis: Axis, *, crowded: bool) -> None:
    """Numbers as people write them, 0.02 and 1e-5; between the decades where there is room."""
    from matplotlib.ticker import FuncFormatter

    digits = "" if crowded else "25"

    def between(value: float, place: int) -> str:
        del place
        return spelt(float(f"{value:.3g}")) if f"{value:e}"[0] in digits else ""

    axis.set_major_formatter(FuncFormatter(lambda value, _: spelt(float(f"{value:.3g}"))))
    axis.set_minor_formatter(FuncFormatter(between))


def _named(word: str) -> str:
    return _NAMES.get(word, word.replace("_", " "))
