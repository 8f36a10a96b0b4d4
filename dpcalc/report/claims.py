"""A picture of a claim: ε at every δ, claimed, certified, and what an instance attains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.pictures.curves import Picture
from dpcalc.pictures.drawing import draw, figure_of
from dpcalc.report.setting import setting_note
from dpcalc.report.theorem_curves import epsilon_over_delta

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcalc.theorems.base import Theorem

_DELTAS = [10.0 ** (-12 + k / 2) for k in range(24)]


def draw_claim(theorem: Theorem, path: Path, *, delta: float = 0.0) -> None:
    """Write a picture of ε(δ) as claimed, as certified and as a known instance attains it.

    A certified curve below the claimed one is noise to be saved; an attained one above it is a
    refutation.

    Args:
        theorem: an instance.
        path: where to; the ending decides the format (png, pdf, svg, html).
        delta: the δ to mark, 0 for none.

    Raises:
        InvalidInput: if nothing finite can be drawn, or matplotlib is not installed.
        OutputFailed: if the picture cannot be written.
    """
    need("matplotlib", purpose="a picture")
    picture = _picture(theorem)
    draw(picture, path, title=theorem.title, setting=setting_note(theorem), mark=delta)


def claim_figure(theorem: Theorem, *, delta: float = 0.0) -> Figure:
    """The same picture as a figure of matplotlib; arguments and errors as of `draw_claim`."""
    need("matplotlib", purpose="a picture")
    setting = setting_note(theorem)
    return figure_of(_picture(theorem), title=theorem.title, setting=setting, mark=delta)


def _picture(theorem: Theorem) -> Picture:
    picture = epsilon_over_delta(theorem, _DELTAS)
    if not any(curve.points for curve in picture.curves):
        raise InvalidInput(f"{theorem.key} has no finite ε to draw; try other parameters")
    return picture
