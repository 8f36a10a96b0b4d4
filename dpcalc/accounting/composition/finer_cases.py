"""How finely to cut losses and to smooth cases next, as coarse sums of the cases tell; choices only.

And laws above and below that are cut so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from dpcalc.accounting.composition.case_sums import (
    MOST_OVER_ORDER,
    SMALLEST,
    CaseSums,
    Setting,
    Term,
    least_smoothing,
)
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import Key
from dpcalc.accounting.contour.bend import Bend, densities, density_at, widening
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour
from dpcalc.accounting.contour.shared import kept
from dpcalc.accounting.losses import LossDistribution, Reals
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.discretisation import CellPlan, plan_cells, upper_and_lower

_PERIODS, _TILT, _RESOLVED = 3.0, 3.0, 1000
"""Of the sum of small losses: the period and the inverse order over ε, and how fine it is seen."""

_HEAVIEST = 3
"""Cases on whose places the density is known, besides that of no large loss; others are added there."""

_CELLS = (1.0, 0.5, 0.5, 0.25, 0.25, 0.25)
"""Cells for small losses, up to ε and for each class above, as shares."""

_LEAST_CELLS, MOST_CELLS = 128, 40_000

_SPREAD = 0.5
"""Of the cells: those that are spread over large losses, whose law else would be a few atoms, and their
characteristic function no smaller far out."""

_FLAT, _STEEP = 1e-6, 30.0
"""Of δ times the square of the order of its contour: less density than this is not told from none, and
more is none either."""

_LESS = 50.0
"""How many times less smoothing the next pass may have where a sum tells little."""

_ABOUT, _HALVINGS = 1.5, 6
"""How much more than planned smoothing may leave open; and how often the range between what has been
done and what was planned is halved where it would leave more."""

_FARTHEST = 300.0
"""Exponents beyond are not told from it."""

_MOST_TIMES = 2
"""How many times the cells that a plan by the size of losses would have."""


def bend_of_cases(sums: CaseSums, epsilon: float) -> Bend | None:
    """`Bend` of all cases together; None if they do not tell."""
    fall = sums.slope(epsilon) * sums.upper(epsilon)
    known = []
    for term in sums.terms:
        found = _density(term, epsilon)
        if found is None:
            return None
        known.append((term.high(epsilon), term.case.many, found))
    if not 0 < fall < math.inf or not sums.tell(epsilon):
        return None
    known.sort(key=lambda each: -each[0])
    grids = [places for k, (_, many, (places, _)) in enumerate(known) if k < _HEAVIEST or not many]
    places = np.unique(np.concatenate(grids))
    density = np.zeros(len(places))
    for _, _, (at, values) in known:
        density += np.interp(places, at, values, left=0.0, right=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        values = density / fall
    if not np.isfinite(values).all() or not values.any():
        return None
    return Bend(0.0, (epsilon - places)[::-1], values[::-1])


def _density(term: Term, epsilon: float) -> tuple[Reals, Reals] | None:
    """Of the case, times its weight, around ε; without large losses around zero too."""
    found = densities(term.upper, epsilon - math.pi / term.upper.step)
    if found is None:
        return None
    places, values = found
    values = term.case.weight[1] * values
    if term.case.many:
        return places, np.where(places > 0, values, 0.0)  # large ones add up
    small = _around_zero(term, epsilon)
    if small is None:
        return None
    tilt = np.exp(np.clip(term.upper.c * (places - epsilon), -_FARTHEST, _FARTHEST))
    with np.errstate(over="ignore"):
        own = _own(places, tilt * values, epsilon)
    places, values = places[own], values[own]
    before, after = small[0] < places[0], small[0] > places[-1]
    return (
        np.concatenate([small[0][before], places, small[0][after]]),
        np.concatenate([small[1][before], values, small[1][after]]),
    )


def _own(places: Reals, tilted: Reals, epsilon: float) -> slice:
    """Where a tilted density is that of the sum: around ε until it vanishes or rises again."""
    middle = int(np.searchsorted(places, epsilon))
    if not 0 < middle < len(places):  # a place is not told from its neighbour
        return slice(0, len(places))
    first = middle - 1 - int(np.argmin(tilted[:middle][::-1]))
    last = middle + int(np.argmin(tilted[middle:]))
    return slice(first, last + 1)


def _around_zero(term: Term, epsilon: float) -> tuple[Reals, Reals] | None:
    """Of small losses: most is there, where a contour that serves ε loses all digits."""
    period = _PERIODS * epsilon
    contour = Contour(
        _TILT / epsilon, period, 2 * _TILT / epsilon, epsilon, term.contour.log_delta, 0.0
    )
    smoothing = min(period / _RESOLVED, LARGEST_SMOOTHING)
    found = contour_sum(term.case.rounds, contour, smoothing=smoothing, most_nodes=2 * _RESOLVED)
    return densities(found, -period / 2)


def smoothing_of_cases(
    sums: CaseSums, epsilon: float, allowed: float
) -> tuple[Mapping[Key, float], float]:
    """Smoothing of each case, so that all of them together widen δ by ``allowed``, and what is missing.

    They widen it by more where there are no nodes for as little.

    By s the case is widened by 2s² times its density p at ε. The number of nodes is the period R over
    s; the sum of all is least where ``s³`` is as ``R/p``.
    """
    if not sums.tell(epsilon):
        return _less_smoothing(sums, epsilon, allowed / len(sums.terms)), 0.0
    bent = {}
    for term in sums.terms:
        found = term.upper
        density = term.case.weight[1] * density_at(found, epsilon)
        scale = found.c * (found.c + 1) * term.high(epsilon)
        if scale < math.inf:  # what is far from it is rounding
            density = min(max(density, _FLAT * scale), _STEEP * scale)
            # Where the density changes within s, what s has widened the case by tells more.
            density = max(density, term.smoothed(epsilon) / (2 * found.smoothing**2))
            bent[term.case.key] = 2 * density, 2 * math.pi / found.step
    scale = math.fsum(math.cbrt(p * r * r) for p, r in bent.values())
    if not scale > 0:
        return {}, 0.0
    each = math.sqrt(allowed / scale)
    chosen = {key: each * math.cbrt(r / p) for key, (p, r) in bent.items() if p > 0}
    for term in sums.terms:
        if (key := term.case.key) in chosen:
            chosen[key] = _within(term, epsilon, chosen[key], bent[key][0] * chosen[key] ** 2)
    more = [
        bent[k][0] * max(least_smoothing(bent[k][1]) ** 2 - s * s, 0) for k, s in chosen.items()
    ]
    return chosen, math.fsum(more)


def _within(term: Term, epsilon: float, smoothing: float, allowed: float) -> float:
    """Less smoothing, where that much would reach to where the density is more."""
    found, weight = term.upper, term.case.weight[1]
    least, most = found.smoothing, min(smoothing, LARGEST_SMOOTHING, MOST_OVER_ORDER / found.c)
    if most <= least or weight * widening(found, epsilon, most) <= _ABOUT * allowed:
        return smoothing
    for _ in range(_HALVINGS):
        middle = math.sqrt(least * most)
        if weight * widening(found, epsilon, middle) <= allowed:
            least = middle
        else:
            most = middle
    return least


def _less_smoothing(sums: CaseSums, epsilon: float, allowed: float) -> Mapping[Key, float]:
    """By what each case was widened by."""
    found = {}
    for term in sums.terms:
        ratio = math.sqrt(allowed / max(term.smoothed(epsilon), SMALLEST))
        found[term.case.key] = term.upper.smoothing * min(max(ratio, 1 / _LESS), 1.0)
    return found


def cells_of_laws(total: LossSum, tail: float, setting: Setting) -> dict[DensityPair, float]:
    """How many cells each law needs, where the setting has a bend.

    Cells widen ε by an eighth of Σ n·spread/cells²; the least sum of cells has them as the cube roots.
    """
    if setting.bend is None:
        return {}
    pairs = [(loss, count) for loss, count in total.parts if isinstance(loss, DensityPair)]
    roots = {
        loss: math.cbrt(plan_around(loss, tail, setting).spread * count) for loss, count in pairs
    }
    scale = math.sqrt(sum(roots.values()) / (8 * setting.cut / setting.slope))
    most = _MOST_TIMES * setting.cells
    return {loss: min(max(root * scale, _LEAST_CELLS), most) for loss, root in roots.items()}


def plan_around(loss: DensityPair, tail: float, setting: Setting) -> CellPlan:
    """Cells by the setting's bend, a share of them for large losses alone."""
    window, least = loss.truncation_interval(tail), setting.thresholds[0] / 2
    bend = setting.bend or Bend.along(setting.slope)
    plan = plan_cells(loss, window, 0.0, bend.at, bend.turns)

    def above(losses: Reals) -> Reals:
        return np.where(losses > least, 1.0, 0.0)

    large = plan_cells(loss, window, 0.0, above, bend.turns)
    return replace(
        plan,
        density=(1 - _SPREAD) * plan.density + _SPREAD * large.density,
        spread=plan.spread / (1 - _SPREAD) ** 2,
    )


def peaks_of_cases(
    sums: CaseSums, epsilon: float, before: Mapping[Key, float], allowed: float
) -> Mapping[Key, float]:
    """How far integrands may outgrow what they add up to, where rounding is more than is allowed.

    Args:
        sums: the cases.
        epsilon: where.
        before: what held for these.
        allowed: what rounding may leave open of δ.
    """
    rounded = {term.case.key: term.rounded(epsilon) - term.forced(epsilon) for term in sums.terms}
    found = dict(before)
    if math.fsum(rounded.values()) <= allowed or not sums.tell(epsilon):
        return found
    each = allowed / len(rounded)
    for term in sums.terms:
        lost = rounded[term.case.key]
        if lost > each:
            found[term.case.key] = term.peak - math.log(lost / each)
    return found


def law_around(
    loss: LossDistribution | DensityPair,
    tail: float,
    setting: Setting,
    numbers: Mapping[DensityPair, float],
) -> tuple[LossDistribution, LossDistribution]:
    """A law above and one below; cells planned by the density of the sum, or by the size of losses."""
    if isinstance(loss, LossDistribution):
        return loss, loss
    if loss in numbers:
        plan, cells = plan_around(loss, tail, setting), setting.finer * numbers[loss]
        return upper_and_lower(loss, plan.edges(min(cells, MOST_CELLS)), tail)
    key = (law_around, loss, tail, setting.place, setting.share, setting.tilt, setting.cells)
    return kept(key, partial(_cut, loss, tail, setting))


def _cut(loss: DensityPair, tail: float, setting: Setting) -> tuple[DiscreteLoss, DiscreteLoss]:
    window = loss.truncation_interval(tail)
    x = plan_cells(loss, window, 0.0).x
    levels = sorted([setting.place, *setting.thresholds])
    cuts = np.unique(np.searchsorted(loss.loss(x), levels))
    inner = cuts[(cuts > 0) & (cuts < len(x) - 1)]
    bounds = [window[0], *x[inner], window[1]]
    tilts = [setting.tilt if level <= setting.place else 0.0 for level in levels] + [0.0]
    edges = [np.array([window[0]])]
    for between, tilt, share in zip(itertools.pairwise(bounds), tilts, _CELLS, strict=False):
        edges.append(plan_cells(loss, between, tilt).edges(share * setting.cells)[1:])
    return upper_and_lower(loss, np.concatenate(edges), tail)
