"""The sum of several equal rounds with a bounded loss as two lists, finest next to the largest sum.

Sums are put on a grid whose distances grow with that from the largest sum, round after round. Above,
each is split between its neighbours with its P- and Q-mass kept; below, what falls between two points
becomes one value with the P- and Q-mass of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.composition.lattice.rounds import Round, where_losses_are
from dpcalc.accounting.composition.listed_losses import Bools, Listed, Outline, cut_outline
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm

_CELLS, _POINTS, _MOST_POINTS = 200, 300, 2400
_SPLIT = 64 * UNIT_ROUNDOFF
"""More than what the share is off by that a split moves to the right."""

_FARTHEST = 700.0
"""Up to this e^x is a double."""

Grid = Callable[[int], Reals]
"""Points for the sum of so many rounds, increasing up to its largest value."""


@dataclass(frozen=True, slots=True)
class GradedOutline(Outline):
    """Those of equal rounds together.

    Attributes:
        round: one of them.
        count: how many they are.
        scale: from what distance to the largest sum on points lie the wider apart the farther.
        tail: P-mass of a round that may be left on either side.
        points: of the grid.
    """

    round: Round
    count: int
    scale: float
    tail: float
    points: int

    @property
    def cells(self) -> int:
        """Between points."""
        return len(self.above.losses) - 1

    def open(self, above: Reals, below: Reals) -> Reals:
        """The lower list's masses times what the chord of the upper list's places is above them."""
        chord = np.interp(self.below.losses, self.above.losses, above)
        found = np.zeros(self.cells)
        where = np.clip(np.searchsorted(self.above.losses, self.below.losses), 1, self.cells) - 1
        np.add.at(found, where, self.below.masses * np.maximum(chord - below, 0.0))
        return found * self.count

    def halved(self, which: Bools) -> Outline:
        """A grid of twice as many points, unless these are very many."""
        if not which.any() or 2 * self.points > _MOST_POINTS:
            return self
        return of_equal(self.round, self.count, self.scale, self.tail, 2 * self.points)


def of_equal(
    round_: Round, count: int, scale: float, tail: float, points: int = _POINTS
) -> GradedOutline:
    """Equal rounds with a density and a bounded loss; see `GradedOutline`."""
    pair = round_.pair
    assert pair is not None  # noqa: S101 # only such rounds are graded
    plan = plan_cells(pair, pair.truncation_interval(tail), 0.0).edges(_CELLS)
    first, last = pair.loss(plan[[0, -1]])
    top = largest(pair)
    # Where only one of the laws is a mixture, losses fall farther below zero than they rise above it.
    reach = max(2 * top, top - float(first))
    least = max(scale, 1e-12 * top)

    def grid(rounds: int) -> Reals:
        growth = math.asinh(rounds * reach / least) / points
        below = least * np.sinh(growth * np.arange(points, 0, -1))
        return np.append(rounds * top - below * (1 + 1e-12), rounds * top * (1 + 1e-15))

    points_inside = grid(1)[(grid(1) > first) & (grid(1) < last)]
    edges = np.union1d(plan, where_losses_are(pair, plan, points_inside))
    one = cut_outline(round_, edges, tail)
    above = _power(one.above, count, grid, _split)
    below = _power(one.below, count, grid, _merged)
    return GradedOutline(above, below, round_, count, scale, tail, points)


def largest(pair: DensityPair) -> float:
    """At least the largest loss."""
    return pair.bound if isinstance(pair, ExponentialNorm) else pair.supremum


Put = Callable[[Listed, Reals], Listed]


def _power(one: Listed, count: int, grid: Grid, put: Put) -> Listed:
    """The sum of ``count`` equal losses, by repeated squaring."""
    found, held, rounds = None, 0, 1
    base = put(one, grid(1))
    while True:
        if count & rounds:
            held += rounds
            found = base if found is None else put(_sum(found, base), grid(held))
        rounds *= 2
        if rounds > count:
            break
        base = put(_sum(base, base), grid(rounds))
    assert found is not None  # noqa: S101 # count is positive
    return found


def _sum(left: Listed, right: Listed) -> Listed:
    """All sums of two values; where masses are nothing there are none."""
    left, right = _held(left), _held(right)
    losses = np.add.outer(left.losses, right.losses).ravel()
    errors = np.add.outer(left.errors, right.errors).ravel() + 2 * UNIT_ROUNDOFF * np.abs(losses)
    masses = np.multiply.outer(left.masses, right.masses).ravel()
    # What underflows is far less than what is counted as infinite.
    return Listed(losses, masses, errors, left.infinite + right.infinite)


def _held(one: Listed) -> Listed:
    held = one.masses > 0
    return replace(one, losses=one.losses[held], masses=one.masses[held], errors=one.errors[held])


def _placed(one: Listed, grid: Reals) -> tuple[NDArray[np.int64], Reals]:
    """Between which points values lie, and how far above the lower one."""
    where = np.clip(np.searchsorted(grid, one.losses, side="right") - 1, 0, len(grid) - 2)
    return where, np.clip(one.losses - grid[where], 0.0, np.diff(grid)[where])


def _split(one: Listed, grid: Reals) -> Listed:
    """Every value as two of the grid, with its P- and Q-mass.

    Values beyond the ends by a rounding are moved there: ends are rounded outward by more.
    """
    where, beyond = _placed(one, grid)
    right = one.masses * (np.expm1(-beyond) / np.expm1(-np.diff(grid)[where]))
    left = np.maximum(one.masses - right, 0.0)
    summed = 1 + _SPLIT + 2 * UNIT_ROUNDOFF * len(where)
    masses = np.bincount(where, left, len(grid)) + np.bincount(where + 1, right, len(grid))
    errors = np.full(
        len(grid),
        float(one.errors.max(initial=0.0)) + 2 * UNIT_ROUNDOFF * float(np.abs(grid).max()),
    )
    return Listed(grid, np.asarray(masses * summed), errors, one.infinite)


def _merged(one: Listed, grid: Reals) -> Listed:
    """What lies between two points as one value, with the P- and Q-mass of all.

    What is below them, or so far below the next one that e^x is no double, is left out.
    """
    where, beyond = _placed(one, grid)
    size = len(grid) - 1
    ahead = np.diff(grid)[where] - beyond
    each = np.where((one.losses < grid[0]) | (ahead > _FARTHEST), 0.0, one.masses)
    masses = np.bincount(where, each, size)
    # From the point above, where nothing cancels however far apart points are.
    rise = np.bincount(where, each * np.expm1(np.minimum(ahead, _FARTHEST)), size)
    held = masses > 0
    losses = grid[1:][held] - np.log1p(rise[held] / masses[held])
    rounding = 4 * UNIT_ROUNDOFF * (len(where) + 16)
    slip = float(one.errors.max(initial=0.0)) + 2 * UNIT_ROUNDOFF * float(np.abs(grid).max())
    errors = np.asarray(slip + rounding * np.diff(grid)[held])
    return Listed(losses, np.asarray(masses[held] * (1 - rounding)), errors, one.infinite)
