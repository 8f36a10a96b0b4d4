"""Sums over atoms at equally spaced nodes by matrix products, each term right to a share of itself.

Weights w at losses l are asked for Σ w(e^{iyl} - 1), or for Σ w(e^{iyl} - 1 - iyl), at y = nΔ. With
n = a + b, a a multiple of a block's length, E(n) = e^{inθ} - 1 and F(n) = E(n) - inθ, θ = lΔ,

    E(a + b) = E(a) + E(b) + E(a) E(b),    F(a + b) = F(a) + F(b) + E(a) E(b),

so that nothing cancels where θ is tiny. Bounds of the sizes add up as well, ((a + b)θ)²/2 for F.

*Rounding*, u a unit roundoff. From |F(b)| <= (bθ)²/2, errors of 8bu and 24bu relative to bθ and
(bθ)²/2 grow by no more than that from b to b + 1: a step adds 24(b - 1)³/2 + 12 + 12b(b - 1) + 3b²/2 at
most, less than 24b³/2. What is left, products and sums, is counted by `roundings`.
"""

from __future__ import annotations

import numpy as np

from dpcalc.accounting.losses.distribution import Complexes, Reals
from dpcalc.numerics.products import summed_in_parts, terms_in_parts

_TERMS, _LEAST = 24, 1e-19
"""Of the series of e^x - 1 - x for |x| <= 1 at most; and what those left out may be of it."""


def block_length(stop: int) -> int:
    """How many nodes to a block: about the square root of how many nodes there are."""
    return 8 if stop <= 256 else 32


def roundings(size: int, start: int, stop: int, each: int) -> int:
    """Unit roundoffs that a sum is off by, as a share of Σ w times the bound of a term's size.

    Args:
        size: how many atoms there are.
        start: number of the first node.
        stop: number after the last one.
        each: 8 for E and 24 for F.
    """
    block = block_length(stop)
    return 64 + terms_in_parts(size) + each * (block + (stop - start) // block)


def _terms(near: Reals) -> int:
    """How many leave less than 1e-19 of a series whose k-th is at most the k-th power over k!."""
    largest, term = float(np.abs(near).max(initial=0.0)), 1.0
    for k in range(1, _TERMS):
        term *= largest / k
        if term < _LEAST:
            return k
    return _TERMS


def second_order(x: Reals) -> Reals:
    """``e^x - 1 - x``, right to 40 unit roundoffs of itself."""
    near = np.clip(x, -1.0, 1.0)
    series = np.ones_like(near)
    for k in range(_terms(near) + 2, 2, -1):
        series = 1 + near / k * series
    return np.where(np.abs(x) < 1, near * near / 2 * series, np.expm1(x) - x)


def turned(theta: Reals) -> tuple[Complexes, Complexes]:
    """``e^{iθ} - 1`` and that less iθ, right to 24 unit roundoffs of |θ| and of θ²/2."""
    change = np.expm1(1j * theta)
    near = np.square(np.clip(theta, -1.0, 1.0))
    series = np.ones_like(near)
    last = 2 * (_terms(near) // 2) + 2
    for k in range(last, 3, -2):
        series = 1 - near / (k * (k + 1)) * series
    less = np.where(np.abs(theta) < 1, -theta * near / 6 * series, np.sin(theta) - theta)
    return change, -2 * np.square(np.sin(theta / 2)) + 1j * less


class NodeSums:
    """The sums of some atoms, whose powers are kept from block to block.

    Args:
        losses: shape (n,).
        weights: shape (n,).
    """

    def __init__(self, losses: Reals, weights: Reals) -> None:
        self._losses, self._weights = losses, weights
        self._kept: tuple[tuple[float, int, bool], Complexes, Complexes] | None = None

    def change(self, step: float, start: int, stop: int) -> Complexes:
        """Σ w(e^{iyl} - 1) at the nodes from ``start`` to before ``stop``."""
        block = block_length(stop)
        fine, _ = self._powers(step, block, less=False)
        first, last = start // block, (stop - 1) // block
        row = np.expm1(1j * step * first * block * self._losses)
        jump = fine[-1]
        rows = np.empty((last - first + 1, len(self._losses)), dtype=np.complex128)
        for k in range(len(rows)):
            rows[k] = row
            row = row + jump + row * jump
        coarse = summed_in_parts(rows, self._weights)[:, None]
        change = coarse + summed_in_parts(rows * self._weights + self._weights, fine[:-1].T)
        offset = first * block
        return np.asarray(change.ravel()[start - offset : stop - offset])

    def less_slope(self, step: float, start: int, stop: int) -> Complexes:
        """Σ w(e^{iyl} - 1 - iyl) there."""
        block = block_length(stop)
        fine, fine_less = self._powers(step, block, less=True)
        first, last = start // block, (stop - 1) // block
        row, less = turned(step * first * block * self._losses)
        jump, jump_less = fine[-1], fine_less[-1]
        rows, rows_less = np.empty((2, last - first + 1, len(self._losses)), dtype=np.complex128)
        for k in range(len(rows)):
            rows[k], rows_less[k] = row, less
            both = row * jump
            row, less = row + jump + both, less + jump_less + both
        weights = self._weights
        coarse = summed_in_parts(rows_less, weights)[:, None]
        within = summed_in_parts(fine_less[:-1], weights)[None, :]
        change = coarse + within + summed_in_parts(rows * weights, fine[:-1].T)
        offset = first * block
        return np.asarray(change.ravel()[start - offset : stop - offset])

    def _powers(self, step: float, block: int, *, less: bool) -> tuple[Complexes, Complexes]:
        """E(b), and F(b) if it is asked for, for b up to the block length and every atom."""
        key = (step, block, less)
        if self._kept is None or self._kept[0] != key:
            powers = np.zeros((block + 1, len(self._losses)), dtype=np.complex128)
            others = np.zeros_like(powers) if less else powers[:0]
            powers[1] = np.expm1(1j * step * self._losses)
            if less:
                powers[1], others[1] = turned(step * self._losses)
            for b in range(2, block + 1):
                np.multiply(powers[b - 1], powers[1], out=powers[b])
                if less:
                    np.add(powers[b], others[b - 1], out=others[b])
                    others[b] += others[1]
                powers[b] += powers[b - 1]
                powers[b] += powers[1]
            self._kept = key, powers, others
        return self._kept[1], self._kept[2]
