"""ε over δ of anything that answers it, as axes of matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import dpcalc
from dpcalc.pictures.curves import Curve, Picture, drawable
from dpcalc.pictures.drawing import figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DELTAS = tuple(10.0 ** (-12 + k / 2) for k in range(23))
"""Where a curve over δ is read unless somebody says: from 1e-12 to 0.1."""


def epsilon_axes(
    curves: Mapping[str, Callable[[float], float | None]],
    *,
    title: str,
    setting: str,
    deltas: Sequence[float] = DELTAS,
    points: Mapping[str, tuple[float, float]] | None = None,
    mark: float = 0.0,
) -> Axes:
    """ε over δ.

    Args:
        curves: by name, ε at a δ; None or infinite where there is none.
        title: above the picture.
        setting: below it; the version is added.
        deltas: where the curves are read, each above 0.
        points: by name, (δ, ε) to be drawn as points.
        mark: a δ to mark, 0 for none.

    Returns:
        The axes, of a figure of their own.

    Raises:
        InvalidInput: if nothing is finite and above 0.
        MissingExtra: without matplotlib.
    """
    lines = [
        Curve(name, drawable((d, y) for d in deltas if (y := answer(d)) is not None))
        for name, answer in curves.items()
    ]
    spots = [Curve(name, drawable([point])) for name, point in (points or {}).items()]
    picture = Picture("delta", "epsilon", (*lines, *[spot for spot in spots if spot.points]))
    note = f"{setting} dpcalc {dpcalc.__version__}."
    return figure_of(picture, title=title, setting=note, mark=mark).axes[0]
