"""Names of curves beside their right ends, each after a sample of its line; or a legend below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LEADER, _SAMPLE, _WORDS = 0.12, 0.42, 0.47
"""Inches right of the axes at which leaders end, samples end and words begin."""

_APART = 1.3
"""Distance of lines, in heights of their letters."""

_ROOM = 0.4
"""Share of a picture's width that names may take beside a curve."""

_LINE, _ROW, _DOWN = 0.65, 0.18, 0.42
"""Of a legend, in inches: beside each name, of each row, and from the axes down to it."""

_ALONG, _LETTER = 0.85, 0.65
"""Share of a picture's width that the columns of a legend may take; a wide letter over its height."""


@dataclass(frozen=True, slots=True)
class End:
    """A name to be written beside a curve.

    Attributes:
        name: what to write, in one line or several.
        line: as drawn; what its name is preceded by looks the same.
        at: (x, y) of its rightmost point; None for what has none, named below all others.
    """

    name: str
    line: Line2D
    at: tuple[float, float] | None


def spread(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Places in [0, 1] as near to those wanted as can be, in their order, nothing on anything else.

    Args:
        wanted: middles, in ascending order.
        sizes: of what is placed, made smaller if all have not enough room.

    Returns:
        The middles with the least sum of squared distances, moved between the ends.
    """
    shrunk = min(1.0, 1.0 / sum(sizes)) if sizes else 1.0
    sizes = [shrunk * size for size in sizes]
    below = list(accumulate(sizes, initial=0.0))
    middles = [low + size / 2 for low, size in zip(below, sizes, strict=False)]
    blocks: list[tuple[float, int]] = []  # mean and number of what is moved together
    for place, middle in zip(wanted, middles, strict=True):
        mean, number = place - middle, 1
        while blocks and blocks[-1][0] >= mean:
            other, more = blocks.pop()
            mean, number = (mean * number + other * more) / (number + more), number + more
        blocks.append((mean, number))
    moved = [mean for mean, number in blocks for _ in range(number)]
    room = 1.0 - below[-1]
    return [min(max(mean, 0.0), room) + middle for mean, middle in zip(moved, middles, strict=True)]


def fits(figure: Figure, names: Iterable[str], *, size: float, width: float, height: float) -> bool:
    """Whether names have room beside axes.

    Args:
        figure: whose letters are measured.
        names: maybe in several lines each.
        size: of the letters, in points.
        width: of the axes with the names, in inches.
        height: of the axes, in inches.
    """
    lines = [line for name in names for line in name.split("\n")]
    widest = max((width_of(figure, line, size) for line in lines), default=0.0)
    return _WORDS + widest <= _ROOM * width and len(lines) * _APART * size / 72 <= height


def name_ends(figure: Figure, ends: Mapping[Axes, Sequence[End]], *, size: float) -> None:
    """Write every name beside its curve's end, a thin line between them, no two on one another.

    Args:
        figure: with constrained layout, which makes room.
        ends: by axes, whose limits are final.
        size: of the letters, in points.
    """
    if not any(ends.values()):
        return
    figure.draw_without_rendering()  # heights of the axes, which names beside them do not change
    for axes, of_axes in ends.items():
        _name(figure, axes, of_axes, size)


def legend_below(figure: Figure, axes: Axes, *, size: float) -> None:
    """Name the curves in a legend under the axes, for which the picture grows: it covers no line.

    Args:
        figure: with constrained layout, which makes room.
        axes: the only ones of the figure.
        size: of the letters, in points.
    """
    from matplotlib.transforms import ScaledTranslation

    width, height = (float(inches) for inches in figure.get_size_inches())
    handles, labels = axes.get_legend_handles_labels()
    letters = int((_ALONG * width - _LINE) / (_LETTER * size / 72))
    names = [textwrap.wrap(label, letters) for label in labels]
    column = _LINE + max(width_of(figure, line, size) for lines in names for line in lines)
    columns = min(len(names), max(1, int(_ALONG * width / column)))
    rows = math.ceil(len(names) / columns) * max(map(len, names))
    figure.set_size_inches(width, height + _ROW * rows)
    axes.legend(
        handles,
        ["\n".join(lines) for lines in names],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + ScaledTranslation(0, -_DOWN, figure.dpi_scale_trans),
        ncols=columns,
        frameon=False,
        fontsize=size,
        handlelength=3.0,
    )


def _name(figure: Figure, axes: Axes, ends: Sequence[End], size: float) -> None:
    from matplotlib.patches import ConnectionPatch

    height = axes.bbox.height / figure.dpi
    placed = sorted(((_share(axes, end), k) for k, end in enumerate(ends)), key=lambda p: p[0])
    line = _APART * size / 72 / height
    sizes = [line * (ends[k].name.count("\n") + 1) for _, k in placed]
    places = spread([share for share, _ in placed], sizes)
    beside = _beside(figure, axes)
    for place, (_, k) in zip(places, placed, strict=True):
        end = ends[k]
        if end.at is not None:
            leader = ConnectionPatch(
                xyA=end.at,
                coordsA=axes.transData,
                xyB=(_LEADER, place),
                coordsB=beside,
                color=end.line.get_color(),
                linewidth=0.5,
                alpha=0.8,
                clip_on=False,
                zorder=1.5,
            )
            leader.set_in_layout(False)
            axes.add_artist(leader)
            figure.add_artist(_sample(end.line, place, beside))
        axes.text(
            _WORDS if end.at is not None else _LEADER,
            place,
            end.name,
            transform=beside,
            fontsize=size,
            verticalalignment="center",
        )


def _share(axes: Axes, end: End) -> float:
    """Height of an end as a share of the axes', 0 for what is named below all others."""
    if end.at is None:
        return -1.0
    place = axes.transAxes.inverted().transform(axes.transData.transform(end.at))[1]
    return float(min(max(place, 0.0), 1.0))


def _beside(figure: Figure, axes: Any) -> Any:
    """Inches right of the axes, and shares of their height."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    inches = figure.dpi_scale_trans + ScaledTranslation(1, 0, axes.transAxes)
    return blended_transform_factory(inches, axes.transAxes)


def _sample(line: Line2D, place: float, beside: Any) -> Line2D:
    """A short line that looks as the curve does, one mark in its middle."""
    from matplotlib.lines import Line2D as Line

    middle = (_LEADER + _SAMPLE) / 2
    sample = Line([_LEADER, middle, _SAMPLE], [place] * 3)
    sample.update_from(line)
    sample.set_transform(beside)
    sample.set_clip_on(False)
    sample.set_markevery([1])
    sample.set_in_layout(False)
    return sample


def width_of(figure: Any, words: str, size: float) -> float:
    """Of words in letters of so many points, in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    renderer: Any = RendererAgg
    width, _, _ = renderer(1, 1, figure.dpi).get_text_width_height_descent(
        words, FontProperties(size=size), ismath=False
    )
    return float(width) / float(figure.dpi)
