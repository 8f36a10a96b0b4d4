"""Any sequence of noisy contractive steps, for many users at once.

Statement
    As in `descent`, with a factor c_t, above 1 if the step may expand, and a noise ω_t for every step
    and jumps s_{i,t} for every user and step: ``optimal_shifts`` gives each user's μ and the shifts
    that prove it.
Source
    docs/theorems/shifted-interpolation.md.
Rounding
    Doubles. All sums have non-negative terms, so each is right to T roundings. The minorant may lie
    above a point by that much and by what rounded sums of weights displace it; it is measured how
    far. Starting it so much later and paying the rest in the last step is allowed, and is what is
    charged. Weights far below those before them are added exactly, which keeps it small. Steps
    before which everything shrinks by more than 1e-100 are replaced by a start as far apart as all
    their jumps together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.accounting.iteration.minorant import convex_minorant
from dpcalc.errors import InvalidInput

Reals = NDArray[np.float64]

_MIN_FACTOR = 1e-100
_WIDEST = 1e4
_MIN_NOISE = 1e-50
_UNEVEN = 1e-8
_TINY = 5e-324


@dataclass(frozen=True, slots=True)
class Shifts:
    """The cheapest shifts and what they cost.

    Attributes:
        mu: upper bounds of every user's μ, shape (users,).
        shifts: a_{i,t}, shape (users, steps), to a few roundings.
    """

    mu: Reals
    shifts: Reals


def optimal_shifts(
    jumps: ArrayLike, contractions: ArrayLike, noises: ArrayLike, start: ArrayLike = 0.0
) -> Shifts:
    """Every user's μ after a sequence of steps of which only the last iterate is released.

    Args:
        jumps: s_{i,t} >= 0, shape (users, steps) or (steps,): how far user i's data move step t.
        contractions: c_t >= 0, shape (steps,) or a number; above 1 if a step may expand.
        noises: ω_t > 0, shape (steps,) or a number.
        start: distance of the runs before the first step, shape (users,) or a number.

    Raises:
        InvalidInput: for values out of range or shapes that do not fit.
    """
    s = np.atleast_2d(np.asarray(jumps, dtype=np.float64))
    users, steps = s.shape
    c = _per_step("contractions", contractions, steps)
    noise = _per_step("noises", noises, steps)
    begin = np.broadcast_to(np.asarray(start, dtype=np.float64), (users,))
    _check(s, c, noise, begin)
    # Per user in units of the largest jump, all in units of the largest noise: squares stay normal.
    widest = np.maximum(s.max(axis=1), begin)
    unit = np.where(widest > 0, widest, 1.0)
    max_noise = noise.max()
    s, begin, noise = s / unit[:, None], begin / unit, noise / max_noise
    carry = np.append(np.cumprod(c[:0:-1])[::-1], 1.0)
    cut = int(np.argmax(carry >= _MIN_FACTOR))
    if c[1:].max(initial=0.0) > 1:
        cut, spread = 0, carry.max() / carry.min() if carry.min() > 0 else np.inf
        if not spread <= _WIDEST:
            raise InvalidInput(
                "expanding steps need to carry distances within a factor of "
                f"{_WIDEST:g}; got {spread:g}; try fewer steps"
            )
        carry = carry / carry.max()
    before = (begin + s[:, :cut].sum(axis=1)) * (carry[cut] * c[cut])
    heights = np.concatenate([before[:, None], s[:, cut:] * carry[cut:]], axis=1)
    weights = (noise[cut:] * carry[cut:]) ** 2
    slopes, rises = _minorant(weights, heights)
    slack = 8 * (steps + 4) * np.finfo(np.float64).eps
    above = np.cumsum(rises, axis=1) - np.cumsum(heights, axis=1)[:, 1:]
    shortfall = np.maximum(above.max(axis=1), 0.0) + slack * heights.sum(axis=1)
    last = slopes[:, -1] * weights[-1]
    extra = shortfall * (2 * last + shortfall) / weights[-1]
    total = ((slopes * rises).sum(axis=1) + extra) * (1 + slack)
    shifts = np.zeros((users, steps))
    shifts[:, cut:] = slopes * weights / carry[cut:] * unit[:, None]
    mu = np.where(widest > 0, np.sqrt(total) * (1 + slack) * (unit / max_noise), 0.0)
    return Shifts(
        np.where(mu > 0, np.nextafter(mu, np.inf), np.where(widest > 0, _TINY, 0)), shifts
    )


def _minorant(weights: Reals, heights: Reals) -> tuple[Reals, Reals]:
    """Slopes of every row's minorant in every step, and its rises.

    ``heights`` has one column more: what is there before the first step. Only points before a jump
    can be vertices, so a row costs as much as it has jumps.
    """
    steps = len(weights)
    exactly = bool((weights < _UNEVEN * np.cumsum(weights)).any())
    w = _sums(np.append(0.0, weights), exactly)
    slopes = np.empty((len(heights), steps))
    for row, jumps in enumerate(heights):
        bends = np.flatnonzero(jumps[1:])
        at = np.unique(np.concatenate([[0], bends, [steps]]))
        level = _sums(jumps, exactly)[at]
        level[0] = 0  # from the origin, whatever the start adds to later points
        vertices = at[convex_minorant(list(zip(w[at].tolist(), level.tolist(), strict=True)))]
        rise = np.add.reduceat(jumps[1:], vertices[:-1])
        rise[0] += jumps[0]
        slopes[row] = np.repeat(rise / np.add.reduceat(weights, vertices[:-1]), np.diff(vertices))
    return slopes, slopes * weights


def _sums(terms: Reals, exactly: bool) -> NDArray[Any]:
    """Partial sums, in rationals if asked for."""
    if exactly:
        return np.array(list(accumulate(map(Fraction, terms.tolist()))), dtype=object)
    return np.cumsum(terms)


def _per_step(name: str, values: ArrayLike, steps: int) -> Reals:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim > 1 or (found.ndim == 1 and len(found) not in (1, steps)):
        raise InvalidInput(
            f"{name} needs one value or one per step; got shape {found.shape} for {steps} steps"
        )
    return np.broadcast_to(found, (steps,))


def _check(jumps: Reals, contractions: Reals, noises: Reals, start: Reals) -> None:
    if jumps.ndim != 2 or not jumps.shape[1]:
        raise InvalidInput(f"jumps needs shape (users, steps); got shape {jumps.shape}")
    if not (np.isfinite(jumps).all() and (jumps >= 0).all()):
        raise InvalidInput("jumps needs finite numbers, 0 or above; try the norms of the changes")
    if not (np.isfinite(contractions).all() and (contractions >= 0).all()):
        raise InvalidInput(
            f"contractions needs finite numbers, 0 or above; got {contractions.min():g} to "
            f"{contractions.max():g}"
        )
    if not (np.isfinite(noises).all() and (noises > 0).all()):
        raise InvalidInput(f"noises needs finite numbers above 0; got a least of {noises.min():g}")
    if noises.min() < _MIN_NOISE * noises.max():
        raise InvalidInput(
            f"noises needs values within a factor of 1e50; got {noises.min():g} to {noises.max():g}"
        )
    if not (np.isfinite(start).all() and (start >= 0).all()):
        raise InvalidInput(f"start needs finite numbers, 0 or above; got {start.min():g}")
