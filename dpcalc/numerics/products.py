"""Sums of products on the calling thread alone, however large.

Libraries of linear algebra share large products among threads of their own, which a caller has not
asked for and which wait for one another where cores are fewer or busy: a query then takes many
times its work. Parts that are small enough stay on one thread. A sum of n terms is off by n unit
roundoffs of the sum of their moduli at most, in whatever order it is formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = 2**13
"""Terms of an inner product that OpenBLAS, from 10,000 on, would share among threads."""

_WORK, _COMPLEX_WORK = 2**17, 2**15
"""Multiplications of a matrix product, of real and of complex numbers: OpenBLAS would share 2^18 of the
former among threads, and 2^16 of the latter. Where one side is a single row or column numpy calls
the product of a matrix and a vector instead, which is shared from a few thousand on."""


def product(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """``left @ right`` for vectors and matrices.

    Args:
        left: shape (n,) or (m, n).
        right: shape (n,) or (n, k).
    """
    if left.ndim == 2 and right.ndim == 2:
        return _of_matrices(left, right)
    letters = {(1, 1): "i,i->", (2, 1): "mi,i->m", (1, 2): "i,ik->k"}[left.ndim, right.ndim]
    return np.einsum(letters, left, right)


SHORT = 256
"""Terms that `summed_in_parts` adds up at once."""


def summed_in_parts(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """``left @ right`` for a matrix and a vector or matrix, in sums of few terms.

    Of n terms 256 are added up at a time and the sums then one by one, so that the error is at most
    `terms_in_parts` unit roundoffs of the sum of the terms' moduli.

    Args:
        left: shape (m, n).
        right: shape (n,) or (n, k).
    """
    if len(right) == 0:
        return product(left, right)
    total = product(left[:, :SHORT], right[:SHORT])
    for first in range(SHORT, len(right), SHORT):
        part = slice(first, first + SHORT)
        total += product(left[:, part], right[part])
    return total


def terms_in_parts(size: int) -> int:
    """How many unit roundoffs `summed_in_parts` is off by at most, for sums of ``size`` terms."""
    return min(size, SHORT) + size // SHORT + 1


def _of_matrices(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    if min(len(left), right.shape[1]) == 1:
        return np.einsum("mi,ik->mk", left, right)
    work = _COMPLEX_WORK if np.iscomplexobj(left) or np.iscomplexobj(right) else _WORK
    terms = max(1, work // max(1, len(left) * right.shape[1]))
    total = left[:, :terms] @ right[:terms]
    for first in range(terms, len(right), terms):
        part = slice(first, first + terms)
        total += left[:, part] @ right[part]
    return total


def convolution(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The full convolution of two vectors, as plain sums of products.

    Args:
        one: shape (n,), n above 0.
        other: shape (k,), k above 0.
    """
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    if len(shorter) <= _LENGTH:
        return np.convolve(longer, shorter)
    total = np.zeros(len(one) + len(other) - 1)
    for first in range(0, len(shorter), _LENGTH):
        part = shorter[first : first + _LENGTH]
        total[first : first + len(longer) + len(part) - 1] += np.convolve(longer, part)
    return total
