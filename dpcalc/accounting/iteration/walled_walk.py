"""A walk that drifts between two walls: what noisy descent on a narrow domain reveals at least.

Statement
    All losses are linear in one dimension and the domain is an interval: a use of the record moves
    the iterate by u one way or the other, every step adds N(0, 1) and stops at the walls. Where
    batches are drawn at random, a step is a use with some probability. Let L be
    stochastically below the iterate that is moved up; as the other one starts and moves like its
    mirror image, -L is above that, and ``δ(ε) >= P(L >= τ) - e^ε P(-L >= τ)`` for every τ.
Source
    docs/theorems/shifted-interpolation.md, what an instance attains.
Rounding
    A step increases with what it starts from. So distances from the upper wall may be rounded up to
    a grid in every step, and what came before the counted steps may have left the iterate at the
    lower wall. A transform of a law and the noise is off by less than 1e-14 in the Euclidean norm, so
    by 1e-12 in sums of probabilities; steps do not enlarge that, and 1e-9 is charged for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.iteration.interval_walk import IntervalWalk
from dpcalc.numerics.products import product

Reals = NDArray[np.float64]

_GRID = 2**12
_STEPS = 600
"""Steps that are counted: twice the square of the widest domain, in which a walk mixes."""
_CHARGED = 1e-9
NARROWEST, WIDEST = 0.1, 16.0
"""Widths of the domain, over a step's noise, where the grid resolves the walk and it mixes in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalledWalk(IntervalWalk):
    """With both walls; the further attributes are those of `IntervalWalk`.

    Attributes:
        shift: u, over a step's noise, rounded down.
        rate: probability with which a step that may use the record does; rounded down.
    """

    shift: float
    rate: float = 1.0

    def _revealed(self, epsilon: float) -> float:
        law = _law_below(self)
        told, mistaken = law.cumsum(), law[::-1].cumsum()
        gaps = told - _CHARGED - math.exp(epsilon) * (mistaken + _CHARGED)
        return float(gaps.max())


@lru_cache(maxsize=16)
def _law_below(walk: WalledWalk) -> Reals:
    """Probabilities of the distances from the upper wall, on the grid from 0 to the width."""
    counted = min(walk.steps, _STEPS)
    law = np.zeros(_GRID + 1)
    law[_GRID // 2 if counted == walk.steps else _GRID] = 1.0
    cell = walk.width / _GRID
    cells = min(int(walk.shift / cell * (1 - 1e-12)), _GRID)
    for left in range(counted, 0, -1):
        moved = _after_step(law, walk.width, cells if walk.is_use(left) else 0)
        if walk.rate < 1:
            moved = walk.rate * moved + (1 - walk.rate) * _after_step(law, walk.width, 0)
        law = moved
    return law


def _after_step(law: Reals, width: float, cells: int) -> Reals:
    """Moved by some cells towards the upper wall and by a step's noise, and stopped at the walls."""
    spectrum, at_wall = _movements(width, cells)
    length = 4 * _GRID
    found = np.fft.irfft(np.fft.rfft(law, length) * spectrum, length)
    found = np.maximum(found[_GRID : 2 * _GRID + 1], 0.0)
    found[0], found[-1] = product(law, at_wall[0]), product(law, at_wall[1])
    return np.asarray(found)


@lru_cache(maxsize=8)
def _movements(width: float, cells: int) -> tuple[NDArray[np.complex128], Reals]:
    """The transform of the chances of every movement on the grid, and those of ending at a wall."""
    from scipy.special import ndtr

    cell = width / _GRID
    ends = (
        np.arange(-_GRID, _GRID + 1) + cells
    )  # of the noise, in cells; it may end up to one before
    far = np.where(ends > 0, -ends, ends - 1) * cell
    near = np.where(ends > 0, 1 - ends, ends) * cell
    places = (np.arange(_GRID + 1) - cells) * cell
    at_wall = np.array([ndtr(-places), ndtr(places - (_GRID - 1) * cell)])
    return np.fft.rfft(ndtr(near) - ndtr(far), 4 * _GRID), at_wall
