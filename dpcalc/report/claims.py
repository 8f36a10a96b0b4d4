"""A picture of a claim: ε at every δ, claimed, certified, and what an instance attains."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc.accounting.bracket import aiming_at
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.extras import need
from dpcalc.report.pictures import save_picture

if TYPE_CHECKING:
    from dpcalc.theorems.base import Bound, Theorem

_DELTAS = [10.0 ** (-12 + k / 2) for k in range(24)]
_WIDTH = 1e-3  # finer than a line is wide
_STYLES = {"claimed": ("tab:red", "--"), "certified": ("tab:blue", "-"), "attained": ("black", ":")}


def draw_claim(theorem: Theorem, path: Path, *, delta: float = 0.0) -> None:
    """Write a picture of ε(δ) as claimed, as certified and as a known instance attains it.

    A certified curve below the claimed one is noise to be saved; an attained one above it is a
    refutation.

    Args:
        theorem: an instance.
        path: where to; the ending decides the format (png, pdf, svg).
        delta: the δ to mark, 0 for none.

    Raises:
        InvalidInput: if nothing finite can be drawn, or matplotlib is not installed.
        OutputFailed: if the picture cannot be written.
    """
    need("matplotlib", purpose="a picture")
    from matplotlib.figure import Figure

    curves = {
        "claimed": theorem.claimed,
        "certified": theorem.certified,
        "attained": theorem.attained,
    }
    with aiming_at(_WIDTH):
        found = {name: points for name, of in curves.items() if (points := _finite(of))}
    if not found:
        raise InvalidInput(f"{theorem.key} has no finite ε to draw; try other parameters")
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, points in found.items():
        color, style = _STYLES[name]
        axes.loglog(*zip(*points, strict=True), color=color, linestyle=style, label=name)
    for name in curves:
        if name not in found and name != "attained":
            axes.plot([], [], color=_STYLES[name][0], label=f"{name}: no finite ε")
    if delta > 0:
        axes.axvline(delta, color="gray", linewidth=0.8)
    axes.set_xlabel("δ")
    axes.set_ylabel("ε")
    axes.set_title(theorem.title)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    save_picture(figure, path, dpi=100)


def _finite(of: Callable[[], Bound | None]) -> list[tuple[float, float]]:
    """(δ, ε) wherever ε is finite and above 0."""
    try:
        bound = of()
    except AssumptionViolated:
        return []
    if bound is None:
        return []
    points = [(delta, bound.guarantee.epsilon(delta)) for delta in _DELTAS]
    return [(delta, epsilon) for delta, epsilon in points if 0 < epsilon < math.inf]
