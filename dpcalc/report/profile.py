"""A picture of δ(ε) with its enclosure."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.numerals import spelt
from dpcalc.report.pictures import save_picture

if TYPE_CHECKING:
    from dpcalc.guarantees import Guarantee

_POINTS = 25
_SMALLEST = 1e-12


def draw_profile(
    guarantee: Guarantee,
    path: Path,
    *,
    delta: float = 0.0,
    budget: float | None = None,
    title: str = "",
) -> None:
    """Write a picture of δ(ε), of the width of its bracket, and of the point of interest.

    Args:
        guarantee: what to draw.
        path: where to; the ending decides the format (png, pdf, svg).
        delta: the δ to mark, 0 for none.
        budget: the ε of a budget to mark.
        title: what to write above.

    Raises:
        InvalidInput: if nothing finite can be drawn, or matplotlib is not installed.
        OutputFailed: if the picture cannot be written.
    """
    need("matplotlib", purpose="a picture")
    from matplotlib.figure import Figure

    least = min(_SMALLEST, delta / 100) if delta > 0 else _SMALLEST
    far = guarantee.epsilon(least)
    if not math.isfinite(far):
        far = 2 * guarantee.epsilon(delta) if delta > 0 else far
    if not math.isfinite(far) or far == 0:
        raise InvalidInput(f"a finite ε above 0 was needed for a picture; got epsilon={far!r}")
    far = max(far, 1.05 * budget) if budget is not None and budget < 2 * far else far
    epsilons = [far * k / (_POINTS - 1) for k in range(_POINTS)]
    enclosures = [_enclosure(guarantee, e) for e in epsilons]
    two_sided = all(lower is not None for lower, _ in enclosures)
    figure = Figure(figsize=(7.0, 5.2), layout="constrained")
    if two_sided:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        _width_panel(bottom, epsilons, enclosures)
    else:
        top = figure.subplots()
        top.set_xlabel("ε")
    uppers = [upper for _, upper in enclosures]
    if two_sided:
        lowers = [max(lower or 0.0, least / 10) for lower, _ in enclosures]
        top.fill_between(epsilons, lowers, uppers, color="tab:blue", alpha=0.25, label="bracket")
    top.semilogy(epsilons, uppers, color="tab:blue", label="δ(ε), upper end")
    _marks(top, guarantee, delta, budget)
    top.set_ylim(least / 3, min(1.0, 3 * max(*uppers, delta, 1e-3)))
    top.set_xlim(0, far)
    top.set_ylabel("δ")
    top.set_title(title)
    top.grid(visible=True, alpha=0.3)
    top.legend()
    save_picture(figure, path, dpi=150)


def _enclosure(guarantee: Guarantee, epsilon: float) -> tuple[float | None, float]:
    bracket = getattr(guarantee, "delta_bracket", None)
    if bracket is None:
        return None, guarantee.delta(epsilon)
    found = bracket(epsilon)
    return found.lower, found.upper


def _width_panel(
    axes: Any, epsilons: list[float], enclosures: list[tuple[float | None, float]]
) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    widths = [
        max((upper - (lower or 0.0)) / upper, 1e-16) if upper > 0 else 1e-16
        for lower, upper in enclosures
    ]
    axes.semilogy(epsilons, widths, color="tab:gray", marker=".")
    # Whole decades, few of them labelled: the panel is too low for more.
    axes.set_ylim(
        10.0 ** math.floor(math.log10(min(widths))),
        10.0 ** (math.floor(math.log10(max(widths))) + 1),
    )
    axes.yaxis.set_major_locator(LogLocator(numticks=3))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("relative\nwidth")
    axes.set_xlabel("ε")
    axes.grid(visible=True, alpha=0.3)


def _marks(axes: Any, guarantee: Guarantee, delta: float, budget: float | None) -> None:
    if delta > 0:
        epsilon = guarantee.epsilon(delta)
        if math.isfinite(epsilon):
            axes.plot(
                [epsilon],
                [delta],
                "o",
                color="tab:red",
                label=f"ε = {epsilon:.5g} at δ = {spelt(delta)}",
            )
    if budget is not None:
        axes.axvline(budget, color="black", linestyle="--", label=f"budget ε = {budget:g}")
