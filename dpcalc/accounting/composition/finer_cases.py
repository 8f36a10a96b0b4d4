"""How finely to cut losses and to smooth cases next, as coarse sums of the cases tell; choices only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpcalc.accounting.composition.case_sums import CaseSums, Setting, Term
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import Key
from dpcalc.accounting.contour.bend import Bend, densities, density_at
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour
from dpcalc.accounting.losses import Reals
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import CellPlan, plan_cells

_PERIODS, _TILT, _RESOLVED = 3.0, 3.0, 1000
"""Of the sum of small losses: the period and the inverse order over ε, and how fine it is seen."""

_HEAVIEST = 3
"""Cases on whose places the density is known, besides that of no large loss; others are added there."""

_LEAST_CELLS = 128

CUT = 0.8
"""Of what an enclosure may leave open: what cells may."""

_SPREAD = 0.5
"""Of the cells: those that are spread over large losses, whose law else would be a few atoms, and their
characteristic function no smaller far out."""

_FLAT, _STEEP = 1e-6, 30.0
"""Of δ times the square of the order of its contour: less density than this is not told from none, and
more is none either."""

_MOST_TIMES = 4
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
    if not 0 < fall < math.inf:
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
    """Of the case, times its weight, around ε; without large losses around zero."""
    if not term.case.many:
        return _density_of_small(term, epsilon)
    found = densities(term.upper, epsilon - math.pi / term.upper.step)
    if found is None:
        return None
    places, values = found
    return places, np.where(places > 0, term.case.weight[1] * values, 0.0)  # large ones add up


def _density_of_small(term: Term, epsilon: float) -> tuple[Reals, Reals] | None:
    """Most of it is around zero: a contour that serves ε would see what is there as an alias."""
    period = _PERIODS * epsilon
    contour = Contour(
        _TILT / epsilon, period, 2 * _TILT / epsilon, epsilon, term.contour.log_delta, 0.0
    )
    smoothing = min(period / _RESOLVED, LARGEST_SMOOTHING)
    found = contour_sum(term.case.rounds, contour, smoothing=smoothing, most_nodes=2 * _RESOLVED)
    return densities(found, -period / 2)


def smoothing_of_cases(sums: CaseSums, epsilon: float, allowed: float) -> Mapping[Key, float]:
    """Smoothing of each case, so that all of them together widen δ by ``allowed``.

    By s the case is widened by 2s² times its density p at ε. The number of nodes is the period R over
    s; the sum of all is least where ``s³`` is as ``R/p``.
    """
    bent = {}
    for term in sums.terms:
        found = term.upper
        density = term.case.weight[1] * density_at(found, epsilon)
        scale = found.c * (found.c + 1) * term.high(epsilon)
        if scale < math.inf:  # what is far from it is rounding
            density = min(max(density, _FLAT * scale), _STEEP * scale)
            bent[term.case.key] = 2 * density, 2 * math.pi / found.step
    scale = math.fsum(math.cbrt(p * r * r) for p, r in bent.values())
    if not scale > 0:
        return {}
    each = math.sqrt(allowed / scale)
    return {key: each * math.cbrt(r / p) for key, (p, r) in bent.items() if p > 0}


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
    scale = math.sqrt(sum(roots.values()) / (8 * CUT * setting.open / setting.slope))
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
