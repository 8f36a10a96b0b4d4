"""A picture of ε over δ with its enclosure."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.numerals import spelt
from dpcalc.pictures.saving import save_picture
from dpcalc.report.text import upper as rounded_up

if TYPE_CHECKING:
    from dpcalc.guarantees import Guarantee

_POINTS = 25
_SMALLEST = 1e-12
_LARGEST = math.log10(0.3)
_BLUE = "#0072B2"


def draw_profile(
    guarantee: Guarantee,
    path: Path,
    *,
    delta: float = 0.0,
    budget: float | None = None,
    title: str = "",
    setting: str = "",
) -> None:
    """Write a picture of ε over δ, of the width of its bracket, and of the point of interest.

    Args:
        guarantee: what to draw.
        path: where to; the ending decides the format (png, pdf, svg).
        delta: the δ to mark, 0 for none.
        budget: the ε of a budget to mark.
        title: what to write above.
        setting: what to write below.

    Raises:
        InvalidInput: if nothing finite can be drawn, or matplotlib is not installed.
        OutputFailed: if the picture cannot be written.
    """
    need("matplotlib", purpose="a picture")
    from matplotlib.figure import Figure

    deltas = _deltas(delta)
    found = [(d, *_enclosure(guarantee, d)) for d in deltas]
    found = [(d, lower, upper) for d, lower, upper in found if math.isfinite(upper)]
    far = max((upper for _, _, upper in found), default=0.0)
    if far == 0:
        raise InvalidInput("expected a finite ε above 0 for a picture; got none at any δ")
    places, uppers = [d for d, _, _ in found], [upper for _, _, upper in found]
    lowers = [lower for _, lower, _ in found if lower is not None]
    figure = Figure(figsize=(7.0, 5.2), layout="constrained")
    if two_sided := len(lowers) == len(found):
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        _width_panel(bottom, places, lowers, uppers)
        top.fill_between(places, lowers, uppers, color=_BLUE, alpha=0.25, label="enclosure")
    else:
        top = figure.subplots()
        top.set_xlabel("δ")
    top.semilogx(places, uppers, color=_BLUE, label="upper end" if two_sided else "ε")
    _marks(top, guarantee, delta, budget)
    far = max(far, 1.05 * budget) if budget is not None and budget < 2 * far else far
    top.set_ylim(0, 1.05 * far)
    top.set_ylabel("ε")
    top.set_title(title)
    top.grid(visible=True, alpha=0.3)
    top.legend()
    figure.supxlabel("\n".join(textwrap.wrap(setting, 110)), fontsize=7, color="0.35")
    save_picture(figure, path, dpi=150)


def _deltas(delta: float) -> list[float]:
    """Places of the axis, the marked one among them."""
    least = math.log10(min(_SMALLEST, delta / 100) if delta > 0 else _SMALLEST)
    return sorted(
        {
            10 ** (least * (1 - k / (_POINTS - 1)) + _LARGEST * k / (_POINTS - 1))
            for k in range(_POINTS)
        }
        | ({delta} if delta > 0 else set())
    )


def _enclosure(guarantee: Guarantee, delta: float) -> tuple[float | None, float]:
    bracket = getattr(guarantee, "bracket", None)
    if bracket is None:
        return None, guarantee.epsilon(delta)
    found = bracket(delta)
    return found.lower, found.upper


def _width_panel(axes: Any, places: list[float], lowers: list[float], uppers: list[float]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    widths = [
        max((upper - lower) / upper, 1e-16) if upper > 0 else 1e-16
        for lower, upper in zip(lowers, uppers, strict=True)
    ]
    axes.loglog(places, widths, color="tab:gray", marker=".")
    # Whole decades, few of them labelled: the panel is too low for more.
    axes.set_ylim(
        10.0 ** math.floor(math.log10(min(widths))),
        10.0 ** (math.floor(math.log10(max(widths))) + 1),
    )
    axes.yaxis.set_major_locator(LogLocator(numticks=3))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("relative\nwidth")
    axes.set_xlabel("δ")
    axes.grid(visible=True, alpha=0.3)


def _marks(axes: Any, guarantee: Guarantee, delta: float, budget: float | None) -> None:
    if delta > 0:
        epsilon = guarantee.epsilon(delta)
        if math.isfinite(epsilon):
            axes.plot(
                [delta],
                [epsilon],
                "o",
                color="#D55E00",
                label=f"ε = {rounded_up(epsilon)} at δ = {spelt(delta)}",
            )
    if budget is not None:
        axes.axhline(budget, color="black", linestyle="--", label=f"budget ε = {budget:g}")
