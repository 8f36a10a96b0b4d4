"""Parities of bits that are constant in one world, and products of three signs.

Every whole number shows its last bits, every other number whether it lies above the median. A parity
of any of these bits that never changes in a world is a vector in the kernel of the matrix of its runs
over the field of two elements, and elimination finds all of them, however many bits they take: parity
bits, sums and codes, if they are the same function of the release in every run. Where a parity is only
likelier in one world than in the other, three numbers at a time are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]
Score = Callable[[Array], Array]

_MOST_BITS = 16  # of a whole number
_SPARE = 40  # runs beyond the bits: a parity is constant in them by chance once in 2⁴⁰
_MOST_PARITIES = 64
_MOST_NUMBERS = 40  # of which three at a time are tried
_CLEAR = 6.0  # standard deviations by which a product of signs must differ between the worlds


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """How many bits a number shows, 0 for whether it lies above its median."""

    widths: tuple[int, ...]
    medians: Array

    @classmethod
    def of(cls, values: Array) -> _Reading:
        widths = []
        for column in values.T:
            whole = (np.abs(column) < 2.0**_MOST_BITS).all() and (column == np.round(column)).all()
            largest = int(np.abs(column).max()) if whole else 0
            widths.append(max(largest.bit_length(), 1) if whole else 0)
        return cls(tuple(widths), np.median(values, axis=0))

    def __call__(self, values: Array) -> Bits:
        """Shape (runs, bits)."""
        found = []
        for column, width, median in zip(values.T, self.widths, self.medians, strict=True):
            if not width:
                found.append((column > median)[:, None])
                continue
            whole = np.nan_to_num(np.clip(column, -(2.0**62), 2.0**62)).astype(np.int64)
            found.append((whole[:, None] >> np.arange(width)) & 1)
        return np.concatenate(found, axis=1).astype(np.uint8)


def parity_score(first: Array, second: Array) -> Score | None:
    """Parities that hold in one world and not in the other; None if there are none.

    Each world's that hold, in parts of them, and those of the other world taken off.
    """
    reading = _Reading.of(np.concatenate([first, second]))
    bits = reading(first[:1]).shape[1]
    if not 1 < bits <= min(len(first), len(second)) - _SPARE:
        return None
    seen = (reading(first), reading(second))
    rules = []
    for own, other in (seen, seen[::-1]):
        kernel = _constant_parities(own)
        value = _parities(own[:1], kernel)
        tells = (_parities(other, kernel) != value).any(axis=0)
        rules.append((kernel[:, tells][:, :_MOST_PARITIES], value[:, tells][:, :_MOST_PARITIES]))
    if not any(kernel.shape[1] for kernel, _ in rules):
        return None

    def score(values: Array) -> Array:
        total, given = np.zeros(len(values)), reading(values)
        for sign, (kernel, value) in zip((1, -1), rules, strict=True):
            if kernel.shape[1]:
                total += sign * (_parities(given, kernel) == value).mean(axis=1)
        return total

    return score


def _parities(bits: Bits, kernel: Bits) -> Bits:
    return np.asarray((bits.astype(np.float32) @ kernel.astype(np.float32)) % 2, dtype=np.uint8)


def _constant_parities(bits: Bits) -> Bits:
    """Sets of bits whose parity never changes, one a column, independent of one another."""
    changes = bits ^ bits[:1]
    columns = [int.from_bytes(np.packbits(column).tobytes(), "big") for column in changes.T]
    pivots: dict[int, tuple[int, int]] = {}
    found = []
    for number, column in enumerate(columns):
        rest, used = column, 1 << number
        while rest and rest.bit_length() in pivots:
            other, others = pivots[rest.bit_length()]
            rest, used = rest ^ other, used ^ others
        if rest:
            pivots[rest.bit_length()] = (rest, used)
        else:
            found.append([(used >> k) & 1 for k in range(len(columns))])
    return np.array(found, dtype=np.uint8).reshape(len(found), len(columns)).T


def triple_score(first: Array, second: Array) -> Score | None:
    """The product of three signs, about the medians, that differs most; None if by chance it might."""
    width = first.shape[1]
    if not 2 < width <= _MOST_NUMBERS:
        return None
    middle = np.median(np.concatenate([first, second]), axis=0)

    def signs(values: Array) -> Array:
        return np.where(values > middle, 1.0, -1.0)

    one, other = signs(first), signs(second)
    best, place = 0.0, (0, 0, 0)
    for i in range(width - 2):
        rest = slice(i + 1, None)
        apart = np.triu(_products(one, i, rest) - _products(other, i, rest), 1)
        j, k = np.unravel_index(int(np.abs(apart).argmax()), apart.shape)
        if abs(apart[j, k]) > abs(best):
            best, place = float(apart[j, k]), (i, i + 1 + int(j), i + 1 + int(k))
    if abs(best) < _CLEAR * np.sqrt(1 / len(first) + 1 / len(second)):
        return None
    return lambda values: np.asarray(np.sign(best) * signs(values)[:, place].prod(axis=1))


def _products(signs: Array, number: int, rest: slice) -> Array:
    """Means of products of one sign with all pairs of others."""
    others = signs[:, rest]
    return np.asarray((others * signs[:, number : number + 1]).T @ others / len(signs))
