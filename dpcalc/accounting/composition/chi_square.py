"""Composition of rounds whose profile and whose χ²-divergence are bounded.

Statement
    Let ``V(r) = sup E_Q(r dP/dQ - 1)_+`` over all that adaptive rounds can be, so that
    ``δ(ε) = e^ε V(e^-ε)``. V is convex. A block of rounds before the others takes it to

        ``V(r) + sup ∫ H(k) r² V''(rk) dk``,    H(k) = E_Q(X - k)_+ - (1 - k)_+,  X = dP/dQ,

    where of the block ``0 <= H <= h``, h the profile of rounds that are all at their worst, and
    ``2∫ H dk = E_Q(X - 1)² <= χ²`` are known. For every ``ν >= 0`` the supremum is at most
    ``νχ²/2 + ∫ h(k) (r² V''(rk) - ν)_+ dk``.
Source
    docs/theorems/private-dual-averaging.md, with the proof.
Rounding
    V is followed at the points ``e^(lh)`` of a lattice. In between it is below its chords, so all k
    that matter are lattice points, and the chords of ``(X - 1)²`` are above it by
    ``(e^h - 1)² X²/4`` at most. All sums are of positive terms; doubles lose less than 1e-12 of
    them, and 1e-11 is added. Differences in the last digit of V's curvature grow from block to
    block: the bound holds with every choice of ν, but its fourth digit is noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dpcalc.accounting.losses.distribution import Reals

Bools = NDArray[np.bool_]

_ROUNDING = 1e-11
"""Relative error of a sum of at most 10,000 positive products of doubles, with room to spare."""

_DIFFERENCE = 1e-14
"""Error of a difference of slopes, relative to the slopes."""


@dataclass(frozen=True, slots=True)
class LimitedBlock:
    """A block of rounds, as far as it is known.

    Attributes:
        spacing: h, the distance of lattice points in ε, so few digits that multiples are exact.
        deltas: shape (2n + 1,), upper bounds of the block's δ at ε = 0, h, ..., 2nh; symmetric.
        chi_square: upper bound of the χ²-divergence of its two laws, in either order.
    """

    spacing: float
    deltas: Reals
    chi_square: float


@dataclass(frozen=True, slots=True)
class LimitedProfile:
    """An upper bound of δ(ε) after some blocks.

    Attributes:
        spacing: h, the distance of lattice points in ε.
        values: shape (n + 1,), upper bounds of V at ``e^(-lh)``.
    """

    spacing: float
    values: Reals

    @property
    def reach(self) -> float:
        """The largest ε on the lattice."""
        return (len(self.values) - 1) * self.spacing

    def delta(self, epsilon: float) -> float:
        """δ at an ε of 0 or above; constant beyond the lattice."""
        if epsilon >= self.reach:
            return min(1.0, math.exp(self.reach) * float(self.values[-1]) * (1 + _ROUNDING))
        before = min(math.floor(epsilon / self.spacing), len(self.values) - 2)
        down = math.expm1(before * self.spacing - epsilon) / math.expm1(-self.spacing)
        share = min(max(down, 0.0), 1.0)
        value = share * self.values[before + 1] + (1 - share) * self.values[before]
        return min(1.0, math.exp(epsilon) * float(value) * (1 + _ROUNDING))


def composed(block: LimitedBlock, count: int) -> LimitedProfile:
    """The profile of a number of such blocks, each chosen in view of those before.

    Args:
        block: what is known of each of them.
        count: 1 or above.
    """
    reach = (len(block.deltas) - 1) // 2
    ratios = np.exp(block.spacing * np.arange(-reach, reach + 1))
    weights, budget = _constraints(block)
    worth = np.zeros(2 * reach + 1)
    for _ in range(count):
        worth += ratios**2 * _gain(_curvature(worth, ratios, block.spacing), weights, budget)
        # Exchanging the two laws takes V(r) - (r - 1)_+ to r times its value at 1/r.
        worth = np.minimum(worth, ratios * worth[::-1]) * (1 + _ROUNDING)
    return LimitedProfile(block.spacing, worth[reach::-1].copy())


def _constraints(block: LimitedBlock) -> tuple[Reals, float]:
    """Largest weighted H at k = e^(lh), shape (2n - 1,) for |l| < n, and what all may add up to.

    The weights are the changes of slope of the chords of (k - 1)².
    """
    step, n = block.spacing, len(block.deltas)
    k = np.exp(step * np.arange(1 - n, n))
    most = np.concatenate([(block.deltas * np.exp(-step * np.arange(n)))[:0:-1], block.deltas])
    blurred = math.expm1(step) ** 2 / 4 * (1 + block.chi_square)
    weights: Reals = 2 * math.sinh(step) * k * most
    return weights, (block.chi_square + blurred) * (1 + _ROUNDING)


def _curvature(worth: Reals, ratios: Reals, step: float) -> Reals:
    """Upper bounds of the changes of V's slope at the lattice points, over 2 sinh(h) of the ratio.

    Args:
        worth: V(r) - (r - 1)_+, below the lattice proportional to r and above it constant.
        ratios: r.
        step: h.
    """
    slopes = np.diff(worth) / (ratios[:-1] * math.expm1(step))
    slopes = np.concatenate([[worth[0] / ratios[0]], slopes, [0.0]])
    change = np.diff(slopes) + _DIFFERENCE * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))
    change[len(ratios) // 2] += 1.0  # that of (r - 1)_+
    found: Reals = np.maximum(change, 0.0) / (2 * math.sinh(step) * ratios) * (1 + _DIFFERENCE)
    return found


def _gain(curvature: Reals, weights: Reals, budget: float) -> Reals:
    """νχ² + Σ held (curvature - ν)_+ for the best ν at every lattice point.

    Args:
        curvature: shape (n,).
        weights: shape (2n - 1,), how much may be held at every distance from a point.
        budget: how much in all.
    """
    # Row i: how much may be held at every point, as seen from point i.
    held = sliding_window_view(weights, len(curvature))[::-1]
    level, known = _levels(curvature, weights, budget)
    if not known.all():
        level[~known] = _sorted_levels(curvature, held[~known], budget)
    above = curvature - level[:, None]
    np.maximum(above, 0.0, out=above)
    found: Reals = level * budget + np.einsum("ij,ij->i", held, above)
    return found


def _sorted_levels(curvature: Reals, held: Reals, budget: float) -> Reals:
    """The curvature down to which all that may be held exceeds the budget, for rows of what may."""
    order = np.argsort(-curvature, kind="stable")
    used = np.cumsum(held[:, order], axis=1)
    full = np.argmax(used > budget, axis=1)
    found: Reals = np.where(used[:, -1] > budget, curvature[order][full], 0.0)
    return found


def _levels(curvature: Reals, weights: Reals, budget: float) -> tuple[Reals, Bools]:
    """The same at all points by bisection, and where it is known.

    Where the curvature falls on both sides of its peak, the points of the largest curvatures are a
    stretch, and what may be held there is a difference of two partial sums. Elsewhere it is lifted to
    fall; that does not matter as long as all points of the stretch are above the level by themselves.
    """
    size, peak = len(curvature), int(np.argmax(curvature))
    places = np.arange(size)
    left = np.maximum.accumulate(curvature[:peak])
    right = np.maximum.accumulate(curvature[:peak:-1])[::-1]
    falling = np.concatenate([left, curvature[peak : peak + 1], right])
    order = np.lexsort((np.abs(places - peak), -falling))
    first, last = np.minimum.accumulate(order), np.maximum.accumulate(order)
    partial = np.append(0.0, np.cumsum(weights))
    seen = size - 1 - places
    low, high = np.full(size, -1), np.full(size, size - 1)
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        over = partial[seen + last[middle] + 1] - partial[seen + first[middle]] > budget
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    level, lowest = falling[order], np.minimum.accumulate(curvature[order])
    return level[high], (lowest[high] >= level[high]) & (high < size - 1)
