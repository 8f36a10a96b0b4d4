"""Error rates that a claim leaves to every attack, next to those that an audit shows, as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import dpcalc
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.guarantees import GDP, ApproxDP
from dpcalc.numerals import spelt
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.pictures.drawing import STYLES, figure_of
from dpcalc.wording import at_least

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpcalc.auditing.evidence import Evidence

_RATES = tuple(sorted({*(k / 200 for k in range(201)), *(10.0 ** (k / 4 - 8) for k in range(25))}))
"""Where curves are read: evenly, and at the small rates where a large ε shows."""
_COUNTED = ("true_positives", "false_negatives", "false_positives", "true_negatives")

Tradeoff = Callable[[float], float]


def tradeoff_axes(
    claim: Claim,
    bounds: Mapping[Quantity, float],
    best: Evidence | None,
    *,
    title: str,
    setting: str,
) -> Axes:
    """Least false-negative rates over false-positive ones: claimed, and shown by an audit.

    Args:
        claim: what is claimed.
        bounds: the largest lower bound in every notion that is bounded.
        best: the strongest evidence; its rule is a point, where its answers were counted.
        title: above the picture.
        setting: below it; how to read it and the version are added.

    Returns:
        The axes, of a figure of their own.

    Raises:
        MissingExtra: without matplotlib.
    """
    claimed = (
        claim.guarantee.tradeoff if claim.is_curve else _of_epsilon(claim.epsilon, claim.delta)
    )
    curves = [_curve("claimed", claimed), *_shown(claim, bounds)]
    point = _counted_rule(best)
    if point is not None:
        curves.append(Curve("attacked", (point,)))
    picture = Picture("false-positive rate", "false-negative rate", tuple(curves))
    setting = (
        f"{setting} The claim excludes the shaded region; some attack reaches every line that is "
        f"shown. dpcalc {dpcalc.__version__}."
    )
    axes = figure_of(picture, title=title, setting=setting).axes[0]
    rates, misses = zip(*curves[0].points, strict=True)
    axes.fill_between(rates, misses, color=STYLES["claimed"][0], alpha=0.08, linewidth=0)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return axes


def _shown(claim: Claim, bounds: Mapping[Quantity, float]) -> list[Curve]:
    """The lines that some attack reaches, at the confidence of the largest bounds.

    The (ε, δ) line of what is shown for any mechanism whatever; under a claimed Gaussian curve also
    that of the bound on μ.
    """
    mu = bounds.get(Quantity.MU, 0.0) if claim.is_curve else 0.0
    found = [_curve(f"shown: μ ≥ {at_least(mu)}", GDP(mu).tradeoff)] if mu > 0 else []
    lower = bounds.get(Quantity.EPSILON, 0.0)
    if lower > 0 or not found:
        line = _of_epsilon(lower, claim.delta)
        found.append(_curve(f"shown: ε ≥ {at_least(lower)} at δ = {spelt(claim.delta)}", line))
    return found


def _of_epsilon(epsilon: float, delta: float) -> Tradeoff:
    """The least false-negative rate that (ε, δ)-DP leaves at a false-positive one."""
    if math.isinf(epsilon):  # a false-positive rate of 0 is all that it says anything about
        return lambda rate: max(0.0, 1 - delta - rate) if rate == 0 else 0.0
    return ApproxDP(epsilon, delta).tradeoff


def _curve(name: str, tradeoff: Tradeoff) -> Curve:
    return Curve(name, tuple((rate, tradeoff(rate)) for rate in _RATES))


def _counted_rule(best: Evidence | None) -> tuple[float, float] | None:
    """(false-positive rate, false-negative rate) of the rule that the best bound counted, if any."""
    if best is None or not set(_COUNTED) <= set(best.counted):
        return None
    hits, misses, alarms, quiet = (int(best.counted[name]) for name in _COUNTED)
    if not (hits + misses and alarms + quiet):
        return None
    return alarms / (alarms + quiet), misses / (hits + misses)
