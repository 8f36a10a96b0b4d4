"""The loops that numba compiles; nothing else imports this module, since it imports numba.

Vectors are the last axis of every array. Matrices are in compressed form: entries
``starts[i]`` to ``starts[i + 1]`` of ``index`` and ``values`` are column numbers and numbers of row i.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from dpcalc.algorithms.problems.registers import add_piece

compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
"""Contract: a product and a sum are rounded once. What may raise is no vector instruction."""


@compiled
def add_up(pairs: Any, vectors: Any) -> None:
    """Make the last vectors, one per pair, the sums of the pairs of those before them."""
    first = len(vectors) - len(pairs)
    for k in range(len(pairs)):
        a, b, total = vectors[pairs[k, 0]], vectors[pairs[k, 1]], vectors[first + k]
        for j in range(len(total)):
            total[j] = a[j] + b[j]


@compiled
def share_out(pairs: Any, sums: Any) -> None:
    """The transpose of `add_up`: add the last vectors to both of their pairs, from the last on."""
    first = len(sums) - len(pairs)
    for k in range(len(pairs) - 1, -1, -1):
        a, b, total = sums[pairs[k, 0]], sums[pairs[k, 1]], sums[first + k]
        for j in range(len(total)):
            a[j] += total[j]
            b[j] += total[j]


@compiled
def add_combination(
    values: Any, index: Any, start: Any, stop: Any, vectors: Any, total: Any
) -> None:
    """Add Σ values[j]·vectors[index[j]] over start <= j < stop to ``total``, term after term.

    Four lines of the cache at a time, then one; what is left over, number by number.
    """
    if start == stop:
        return
    k, many, few = 0, 256 // total.itemsize, 64 // total.itemsize
    while k + many <= len(total):
        add_piece(values, index, start, stop, vectors, total, k, 256)
        k += many
    while k + few <= len(total):
        add_piece(values, index, start, stop, vectors, total, k, 64)
        k += few
    for rest in range(k, len(total)):
        number = total[rest]
        for j in range(start, stop):
            number += values[j] * vectors[index[j], rest]
        total[rest] = number


@compiled
def multiply(
    starts: Any, index: Any, values: Any, first: int, stop: int, vectors: Any, m: Any
) -> None:
    """Rows ``first`` to ``stop`` of a matrix times vectors, into the first rows of ``m``."""
    for i in range(first, stop):
        m[i - first] = 0
        add_combination(values, index, starts[i], starts[i + 1], vectors, m[i - first])


@compiled
def multiply_tile(
    starts: Any,
    index: Any,
    values: Any,
    first: int,
    tile: int,
    last: int,
    vectors: Any,
    m: Any,
) -> tuple[int, int]:
    """The rows of a tile, of ``len(m)`` rows from ``first`` on, times vectors; which rows these are."""
    begin = first + tile * len(m)
    stop = min(begin + len(m), last)
    multiply(starts, index, values, begin, stop, vectors, m)
    return begin, stop


@compiled
def fold(starts: Any, records: Any, values: Any, m: Any, total: Any) -> None:
    """Add the transpose of a tile times ``m`` to ``total``."""
    for k in range(len(total)):
        add_combination(values, records, starts[k], starts[k + 1], m, total[k])


@compiled
def move(part: Any, total: Any) -> None:
    """Add ``part`` to ``total`` and set it to zero."""
    for i in range(len(part)):
        row, result = part[i], total[i]
        for k in range(len(row)):
            result[k] += row[k]
            row[k] = 0


@compiled
def weighted(
    starts: Any,
    index: Any,
    values: Any,
    tiles: Any,
    records: Any,
    by_column: Any,
    vectors: Any,
    weights: Any,
    m: Any,
    part: Any,
    together: int,
    total: Any,
) -> None:
    """Add Rᵀ(weights ∘ R·vectors) to ``total``; ``part`` begins and ends as zeros."""
    for tile in range(len(tiles)):
        begin, stop = multiply_tile(starts, index, values, 0, tile, len(weights), vectors, m)
        for i in range(begin, stop):
            row, weight = m[i - begin], weights[i]
            for k in range(len(weight)):
                row[k] *= weight[k]
        fold(tiles[tile], records, by_column, m, part)
        if (tile + 1) % together == 0 or tile + 1 == len(tiles):
            move(part, total)


@compiled
def logistic(
    m: Any,
    bends: Any,
    weight: Any,
    squares: Any,
    levels: Any,
    powers: Any,
    exponents: Any,
    numbers: Any,
    series: Any,
) -> None:
    """Slopes -1/(1 + eᵐ) in the place of ``m``, w·φ'' into ``bends``, and both summed up.

    eᵐ = 2ᵏeʳ with a whole number k and |r| <= ln(2)/2: adding 1.5·2ᵖ, with p digits after the first
    one, leaves k in the last digits, from where it is moved to the exponent. ``exponents`` are the
    bits of ``powers``. Every loop is one of vector instructions.
    """
    largest, to_binary, rounding, high, low, one, shift, bias = numbers
    for i in range(len(m)):
        row, bend = m[i], bends[i]
        for k in range(len(bend)):
            x = row[k]
            x = largest if x > largest else x  # noqa: FURB136 - min() would hide a NaN
            x = -largest if x < -largest else x  # noqa: FURB136
            t = x * to_binary + rounding
            powers[k] = t
            t -= rounding
            r = x - t * high
            r -= t * low
            p = series[0]
            for c in series[1:]:
                p = p * r + c
            row[k] = p
        for k in range(len(bend)):
            exponents[k] = (exponents[k] << shift) + bias
        for k in range(len(bend)):
            s = -one / (one + row[k] * powers[k])
            b = -weight * (s + s * s)
            row[k] = s
            bend[k] = b
            squares[k] += s * s
            levels[k] += b


@compiled
def logistic_gradient(
    starts: Any,
    index: Any,
    values: Any,
    first: int,
    tiles: Any,
    records: Any,
    by_column: Any,
    vectors: Any,
    weight: Any,
    bends: Any,
    m: Any,
    total: Any,
    squares: Any,
    levels: Any,
    powers: Any,
    exponents: Any,
    numbers: Any,
    series: Any,
) -> None:
    """Add Rᵀφ'(R·vectors) over some tiles of records, from ``first`` on, to ``total``."""
    for tile in range(len(tiles)):
        begin, stop = multiply_tile(starts, index, values, first, tile, len(bends), vectors, m)
        logistic(
            m[: stop - begin],
            bends[begin:stop],
            weight,
            squares,
            levels,
            powers,
            exponents,
            numbers,
            series,
        )
        fold(tiles[tile], records, by_column, m, total)


@compiled
def gram(starts: Any, index: Any, values: Any, weights: Any, total: Any) -> None:
    """Add the lower triangle of Rᵀ·diag(weights)·R to ``total``; columns of a row increase."""
    for i in range(len(weights)):
        for j in range(starts[i], starts[i + 1]):
            row, scaled = total[index[j]], weights[i] * values[j]
            for k in range(starts[i], j + 1):
                row[index[k]] += scaled * values[k]


def exponential(dtype: Any) -> tuple[Any, Any]:
    """What `logistic` needs for eᵐ in a precision: numbers of its types, and 1/k! for k = most, ..., 0.

    What the series leaves out is less than an eighth of a unit roundoff. ln(2) is the sum of
    ``high``, whose last digits are zeros so that k·high is exact, and ``low``.
    """
    single = dtype == np.float32
    kind, whole = (np.float32, np.int32) if single else (np.float64, np.int64)
    largest, digits, offset = (87.0, 23, 127) if single else (708.0, 52, 1023)
    high = 0.693359375 if single else float.fromhex("0x1.62e42fee00000p-1")
    low = -0.00021219444005469057 if single else 1.9082149292705877e-10
    numbers = (largest, 1 / math.log(2), 1.5 * 2.0**digits, high, low, 1.0)
    bits = whole(digits), whole(offset << digits)
    most = 7 if single else 13
    series = tuple(kind(1 / math.factorial(k)) for k in range(most, -1, -1))
    return (*map(kind, numbers), *bits), series
