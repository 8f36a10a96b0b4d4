"""Characteristic functions of finitely many losses at equally spaced nodes, by fast transforms.

Nodes y = n·step see losses modulo R = 2π/step. Losses are moved to a lattice of N points over R and
transformed at once; what moving them costs is expanded (`change_at_nodes`) or bounded
(`moduli_at_nodes`).
"""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Complexes, Reals

FEW_USES = 32
"""Up to this many uses the absolute error of a ratio costs next to nothing."""

_TAYLOR_TERMS = 20
_REAL_SIGNS, _IMAG_SIGNS = (1, 1, -1, -1), (-1, 1, 1, -1)

_NEIGHBOURS = np.arange(-2, 4)
"""Lattice points, counted from the one to the left, between which e^{iyl} is interpolated."""

_REMAINDER = 0.0049
"""max |Π(t - k)|/6! over those k, 0 <= t <= 1: (5/2·3/2·1/2)²/720, rounded up."""


def change_at_nodes(
    losses: Reals, weights: Reals, step: float, stop: int
) -> tuple[Complexes, float]:
    """Σ w(e^{iyl} - 1) for n = 0..stop-1 at once, and a bound on the absolute errors.

    An atom moves to the nearest lattice point, at a distance d, and ``e^{iyd}`` is expanded: with
    y·d <= π/2 the K-th term leaves at most (π/2)^K/K!. Every power of d costs one FFT, whose error
    in the maximum norm is at most 5u·log₂N·√N times the Euclidean norm of what is transformed.
    """
    size = 2 * 2 ** math.ceil(math.log2(stop))
    turns = losses * (step / (2 * np.pi)) * size
    nearest = np.rint(turns)
    offset = turns - nearest  # within 1/2, in lattice steps
    index = np.mod(nearest, size).astype(np.int64)
    angle = 2 * np.pi / size * np.arange(stop)  # y times the lattice step
    power = np.ones(stop)  # angle^k/k!
    moved = weights.copy()
    change = np.zeros(stop, dtype=np.complex128)
    change.real = -weights.sum()
    error = 0.0
    for k in range(_TAYLOR_TERMS):
        grid = np.bincount(index, moved, minlength=size)
        found = np.fft.rfft(grid)[:stop]
        # The conjugate times i^k, a quarter turn at a time: half the work of complex products.
        real, imag = (found.real, found.imag) if k % 2 == 0 else (found.imag, found.real)
        change.real += _REAL_SIGNS[k % 4] * power * real
        change.imag += _IMAG_SIGNS[k % 4] * power * imag
        error += (np.pi**k / math.factorial(k)) * float(np.sqrt(np.square(grid).sum()))
        power *= angle * (1 / (k + 1))
        moved *= offset
    rest = (np.pi / 2) ** _TAYLOR_TERMS / math.factorial(_TAYLOR_TERMS)
    error *= _transform_error(size)
    # turns is rounded: a relative error of 3u of a loss of that many lattice steps. Angles, their
    # powers and the sum of the terms cost 2k + 20 roundings of the k-th, of which all together are
    # e^{π/2} at most.
    slip = 6 * np.pi * float((weights * np.abs(turns)).sum()) / size * stop
    slip += 120 * float(weights.sum())
    return change, error + rest * float(weights.sum()) + UNIT_ROUNDOFF * slip


def moduli_at_nodes(losses: Reals, weights: Reals, rest: float, step: float, stop: int) -> Reals:
    """At least |rest + Σ w e^{iyl}| for n = 0..stop-1.

    ``e^{iyl}`` is interpolated between six lattice points, Δ apart, which is off by at most
    (yΔ)⁶·max|Π(t - k)|/6!: that holds for complex values too (Hermite and Genocchi).
    """
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
