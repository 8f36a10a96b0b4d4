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

from dpcalc.accounting.composition import chi_square_levels
from dpcalc.accounting.losses.distribution import Reals

_ROUNDING = 1e-11
"""Relative error of a sum of at most 10,000 positive products of doubles, with room to spare."""

_DIFFERENCE = 1e-14
"""Error of a difference of slopes, relative to the slopes."""

_TOGETHER, _STRETCH = 64, 32
"""Lattice points that are looked at together, so that all about them stays in a processor's cache;
and places whose sum is taken first."""


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


def nothing(block: LimitedBlock) -> LimitedProfile:
    """The profile of no rounds, on the lattice of a block."""
    return LimitedProfile(block.spacing, np.zeros((len(block.deltas) + 1) // 2))


def followed(before: LimitedProfile, block: LimitedBlock, *, wide: bool = False) -> LimitedProfile:
    """The profile of the rounds before and one block more.

    Args:
        before: of the rounds before, on the block's lattice.
        block: what is known of it; blocks of fewer rounds have the deltas of longer ones as well.
        wide: whether levels may be a little off, for a third of the time.
    """
    reach = len(before.values) - 1
    ratios = np.exp(block.spacing * np.arange(-reach, reach + 1))
    # Exchanging the two laws takes V(r) - (r - 1)_+ to r times its value at 1/r.
    worth = np.concatenate([before.values[::-1], ratios[reach + 1 :] * before.values[1:]])
    weights, budget = _constraints(block)
    gain = chi_square_levels.gain if wide else _gain
    gained = gain(_curvature(worth, ratios, block.spacing), weights, budget, reach + 1)
    # Above r = 1 the condition on χ² is weaker.
    found = (worth[: reach + 1] + ratios[: reach + 1] ** 2 * gained) * (1 + _ROUNDING)
    return LimitedProfile(block.spacing, found[::-1])


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


def _gain(curvature: Reals, weights: Reals, budget: float, rows: int) -> Reals:
    """νχ² + Σ held (curvature - ν)_+ for the best ν at each of the first lattice points.

    Args:
        curvature: shape (n,).
        weights: shape (2n - 1,), how much may be held at every distance from a point.
        budget: how much in all.
        rows: of how many points, up to n.
    """
    largest_first = np.argsort(-curvature, kind="stable")
    falling, size = np.append(curvature[largest_first], 0.0), len(curvature)
    # Column k: how much may be held at a point, as seen from the last row up to the first.
    seen = sliding_window_view(weights, rows)[size - rows :]
    found, needed = np.empty(rows), size
    for start in range(0, rows, _TOGETHER):
        stop = min(start + _TOGETHER, rows)
        while True:
            held = seen[largest_first[:needed], rows - stop : rows - start]
            full = _full(held, budget)
            most = int(full.max())
            if most < needed or needed == size:
                break
            needed = size
        level = falling[full]
        above = np.maximum(falling[:most, None] - level, 0.0)
        above *= held[:most]
        found[start:stop] = (level * budget + above.sum(axis=0))[::-1]
        needed = min((most // _STRETCH + 2) * _STRETCH, size)  # the next rows need about as many
    return found


def _full(held: Reals, budget: float) -> NDArray[np.intp]:
    """At which place of each column the sum exceeds the budget; their number, if nowhere.

    By sums of stretches, then one by one in a single stretch.
    """
    size, columns = held.shape[0], np.arange(held.shape[1])
    sums = np.cumsum(np.add.reduceat(held, np.arange(0, size, _STRETCH)), axis=0)
    stretch = np.argmax(sums > budget, axis=0)
    before = np.where(stretch > 0, sums[stretch - 1, columns], 0.0)
    places = np.minimum(_STRETCH * stretch + np.arange(_STRETCH)[:, None], size - 1)
    used = before + np.cumsum(held[places, columns], axis=0)
    full = places[np.argmax(used > budget, axis=0), columns]
    return np.where(sums[-1] > budget, full, size)
