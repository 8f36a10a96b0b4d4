"""Characteristic functions of finitely many losses at equally spaced nodes, by fast transforms.

Nodes y = n·step see losses modulo R = 2π/step. Losses are moved to a lattice of N points over R and
transformed at once, as smooth bumps whose own transform is known (`change_at_nodes`), or spread over
six points at a cost that is bounded (`moduli_at_nodes`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Complexes, Reals

Integers = NDArray[np.int64]

FEW_USES = 32
"""Up to this many uses the absolute error of a ratio costs next to nothing."""

_HANDFUL = 4
"""So few atoms cost less one by one than in a transform."""

_CROWDED = 2
"""So many atoms for every node are many."""

_TAYLOR_TERMS = 20

_OVERSAMPLING = 8
"""Lattice points for every node: the nodes fill a quarter of what the transform tells apart."""

_VARIANCE, _REACH = 2.6, 14
"""v and W of the bumps, in lattice points."""

_HEIGHT = math.sqrt(2 * math.pi * _VARIANCE)
_LARGEST_FACTOR = math.exp(_VARIANCE * math.pi**2 / 32) / _HEIGHT * (1 + 1e-12)
_SHORTEST = 64
"""Points of a lattice at least, so that a bump meets itself nowhere."""

_TINY = 1e-250
"""Smaller weights are left out: transforms then meet no numbers of less than full precision."""

_AT_ONCE = 2**12, 2**17
"""Atoms whose bumps are made together: few, to stay in a cache, but no fewer than a quarter of the
lattice's points, and at most as many."""

_NEIGHBOURS = np.arange(-2, 4)
"""Lattice points, counted from the one to the left, between which e^{iyl} is interpolated."""

_REMAINDER = 0.0049
"""max |Π(t - k)|/6! over those k, 0 <= t <= 1: (5/2·3/2·1/2)²/720, rounded up."""


def change_at_nodes(
    losses: Reals, weights: Reals, step: float, stop: int
) -> tuple[Complexes, float]:
    """Σ w(e^{iyl} - 1) for n = 0..stop-1 at once, and a bound on the absolute errors.

    By bumps; where atoms are many and nodes are few, by expansion, which costs less there; a handful
    of atoms one by one.
    """
    if len(losses) <= _HANDFUL:
        return _one_by_one(losses, weights, step, stop)
    points = 2 ** math.ceil(math.log2(stop))
    if len(losses) > _CROWDED * points:
        return _by_expansion(losses, weights, step, stop)
    return _by_bumps(losses, weights, step, stop)


def _one_by_one(losses: Reals, weights: Reals, step: float, stop: int) -> tuple[Complexes, float]:
    """``e^{iθ} - 1 = -2 sin²(θ/2) + i sin θ``, which cancels nothing.

    θ is the product of three doubles: a relative error of 3u moves e^{iθ} by 3uθ at most. Sines, their
    square, the products and the sum of so few cost less than 24 roundings.
    """
    change = np.zeros(stop, dtype=np.complex128)
    nodes = step * np.arange(stop)
    for loss, weight in zip(losses, weights, strict=True):
        half = nodes * (loss / 2)
        change.real -= 2 * weight * np.square(np.sin(half))
        change.imag += weight * np.sin(2 * half)
    slip = 3 * step * stop * np.abs(losses) + 24
    return change, UNIT_ROUNDOFF * float((np.abs(weights) * slip).sum())


def _by_expansion(losses: Reals, weights: Reals, step: float, stop: int) -> tuple[Complexes, float]:
    """Atoms moved to the nearest lattice point.

    At a distance d, ``e^{iyd}`` is expanded: with y·d <= π/2 the K-th term leaves at most (π/2)^K/K!.
    Every power of d costs one FFT, whose error in the maximum norm is at most 5u·log₂N·√N times the
    Euclidean norm of what is transformed.
    """
    size = 2 * 2 ** math.ceil(math.log2(stop))
    turns = losses * (step / (2 * np.pi)) * size
    nearest = np.rint(turns)
    offset = turns - nearest  # within 1/2, in lattice steps
    index = np.mod(nearest, size).astype(np.int64)
    moved, grids = weights.copy(), np.empty((_TAYLOR_TERMS, size))
    for grid in grids:
        grid[:] = np.bincount(index, moved, minlength=size)
        moved *= offset
    change = np.empty(stop, dtype=np.complex128)
    # The conjugate times i^k, a quarter turn at a time: half the work of complex products.
    even, odd = np.fft.rfft(grids)[:, :stop].reshape(_TAYLOR_TERMS // 2, 2, stop).swapaxes(0, 1)
    of_even, of_odd = _signed_powers(size, stop)
    change.real = (of_even * even.real).sum(axis=0) + (of_odd * odd.imag).sum(axis=0)
    change.imag = (of_odd * odd.real).sum(axis=0) - (of_even * even.imag).sum(axis=0)
    change.real -= weights.sum()
    shares = [np.pi**k / math.factorial(k) for k in range(_TAYLOR_TERMS)]
    error = float((np.sqrt(np.square(grids).sum(axis=1)) * shares).sum()) * _transform_error(size)
    rest = (np.pi / 2) ** _TAYLOR_TERMS / math.factorial(_TAYLOR_TERMS)
    # turns is rounded: a relative error of 3u of a loss of that many lattice steps. Angles, their
    # powers and the sum of the terms cost 2k + 20 roundings of the k-th, of which all together are
    # e^{π/2} at most; the sums of atoms that meet at a point one for each.
    slip = 6 * np.pi * float((weights * np.abs(turns)).sum()) / size * stop
    slip += (120 + 5 * int(np.bincount(index).max(initial=0))) * float(weights.sum())
    return change, error + rest * float(weights.sum()) + UNIT_ROUNDOFF * slip


@lru_cache(maxsize=4)
def _signed_powers(size: int, stop: int) -> tuple[Reals, Reals]:
    """angle^k/k! at the nodes, k even and k odd, with the sign of every second one turned; read only.

    The angle of a node is y times the lattice step.
    """
    angle = 2 * np.pi / size * np.arange(stop)
    powers = np.ones((_TAYLOR_TERMS, stop))
    for k in range(1, _TAYLOR_TERMS):
        powers[k] = powers[k - 1] * (angle * (1 / k))
    powers[2::4] *= -1
    powers[3::4] *= -1
    return powers[::2], powers[1::2]


def _by_bumps(losses: Reals, weights: Reals, step: float, stop: int) -> tuple[Complexes, float]:
    """Atoms turned into smooth bumps whose transform is known: one FFT.

    An atom becomes a Gaussian of variance v on the lattice points within W of the nearest one. Its
    transform ĝ is divided out: at ω = y·Δ <= π/4, Δ the distance of the points, it is at least
    √(2πv)·e^{-vπ²/32}. By Poisson's summation formula the other periods add
    ``Σ ĝ(ω + 2πm)/ĝ(ω)`` over m ≠ 0, at most 2.01·e^{-3π²v/2}; what lies beyond W is at most
    2.5·e^{-(W+1/2)²/2v} of the mass.
    """
    size = max(_OVERSAMPLING * 2 ** math.ceil(math.log2(stop)), _SHORTEST)
    turns = losses * (step / (2 * np.pi)) * size
    nearest = np.rint(turns)
    index = np.mod(nearest, size).astype(np.int64)
    grid = _bumps(index, turns - nearest, np.where(weights < _TINY, 0.0, weights), size)
    angle = 2 * np.pi / size * np.arange(stop)  # y times the distance of the points
    change = np.fft.rfft(grid)[:stop].conj()
    change *= np.exp(_VARIANCE / 2 * np.square(angle)) / _HEIGHT
    total = float(weights.sum())
    change.real -= total
    left_out = 2.01 * math.exp(-1.5 * math.pi**2 * _VARIANCE)
    left_out += 2.5 * math.exp(-((_REACH + 0.5) ** 2) / (2 * _VARIANCE))
    error = _transform_error(size) * float(np.sqrt(np.square(grid).sum())) * _LARGEST_FACTOR
    # turns is rounded: a relative error of 3u of a loss of that many points' distances. Bumps, the
    # quotient and the difference cost some two hundred roundings, the sum of the bumps that meet at a
    # point one for each.
    slip = 6 * np.pi * float((weights * np.abs(turns)).sum()) / size * stop
    slip += (250 + 3 * _crowd(index)) * total
    return change, error + left_out * total + UNIT_ROUNDOFF * slip + len(weights) * _TINY


def _bumps(index: Integers, offset: Reals, weights: Reals, size: int) -> Reals:
    """The atoms' bumps on a lattice that closes on itself, given the nearest points."""
    grid = np.zeros(size + 2 * _REACH)
    reach = np.arange(-_REACH, _REACH + 1)
    shape = np.exp(np.square(reach) / (-2 * _VARIANCE))
    many = min(max(_AT_ONCE[0], size // 4), _AT_ONCE[1])
    for start in range(0, len(index), many):
        part = slice(start, start + many)
        # e^{-(f-k)²/2v} = e^{-f²/2v} (e^{f/v})^k e^{-k²/2v}
        heights = np.empty((2 * _REACH + 1, len(index[part])))
        heights[_REACH] = weights[part] * np.exp(np.square(offset[part]) / (-2 * _VARIANCE))
        rise = np.exp(offset[part] / _VARIANCE)
        fall = 1 / rise
        for k in range(_REACH):
            np.multiply(heights[_REACH + k], rise, out=heights[_REACH + k + 1])
            np.multiply(heights[_REACH - k], fall, out=heights[_REACH - k - 1])
        heights *= shape[:, None]
        places = index[part] + (reach + _REACH)[:, None]
        grid += np.bincount(places.ravel(), heights.ravel(), minlength=len(grid))
    grid[_REACH : 2 * _REACH] += grid[size + _REACH :]
    grid[size : size + _REACH] += grid[:_REACH]
    return grid[_REACH : size + _REACH]


def _crowd(index: Integers) -> int:
    """At least how many bumps meet at one point."""
    places = np.sort(index, kind="stable")  # cells are in order: few runs to merge
    meeting = np.searchsorted(places, places + (2 * _REACH + 1)) - np.arange(len(places))
    return 2 * int(meeting.max(initial=0))  # twice, where the lattice closes


def moduli_at_nodes(losses: Reals, weights: Reals, rest: float, step: float, stop: int) -> Reals:
    """At least |rest + Σ w e^{iyl}| for n = 0..stop-1.

    ``e^{iyl}`` is interpolated between six lattice points, Δ apart, which is off by at most
    (yΔ)⁶·max|Π(t - k)|/6!: that holds for complex values too (Hermite and Genocchi). A handful of atoms
    is evaluated one by one.
    """
    if len(losses) <= _HANDFUL:
        change, error = _one_by_one(losses, weights, step, stop)
        whole = rest + float(weights.sum())
        return np.asarray(
            np.abs(whole + change) * (1 + 8 * UNIT_ROUNDOFF) + error + 8 * UNIT_ROUNDOFF,
            dtype=np.float64,
        )
    size = 4 * 2 ** math.ceil(math.log2(stop))
    turns = losses * (step / (2 * np.pi)) * size
    left = np.floor(turns)
    share = turns - left
    grid = np.zeros(size)
    for k in _NEIGHBOURS:
        others = np.delete(_NEIGHBOURS, k + 2)
        factors = np.multiply.reduce([(share - j) / (k - j) for j in others])
        index = np.mod(left + k, size).astype(np.int64)
        grid += np.bincount(index, weights * factors, minlength=size)
    angle = 2 * np.pi / size * np.arange(stop)
    total = float(weights.sum())
    modulus = np.abs(rest + np.fft.rfft(grid)[:stop]) + _REMAINDER * total * np.square(angle) ** 3
    slip = 6 * np.pi * float((weights * np.abs(turns)).sum()) / size * stop + 120 * total
    error = _transform_error(size) * float(np.sqrt(np.square(grid).sum()))
    return np.asarray(modulus + error + UNIT_ROUNDOFF * slip, dtype=np.float64)


def _transform_error(size: int) -> float:
    """In the maximum norm, over the Euclidean norm of what is transformed."""
    return 5 * UNIT_ROUNDOFF * math.log2(size) * math.sqrt(size)
