"""Releases whose numbers are each plain noise; in some runs a relation holds between them."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Runs = NDArray[np.bool_]


def equal_pair(holds: Runs, g: np.random.Generator) -> Array:
    """Forty Gaussian numbers; two of them, anywhere, are equal in the runs where it ``holds``."""
    runs = np.arange(len(holds))
    values = g.standard_normal((len(holds), 40))
    first = g.integers(40, size=len(holds))
    second = (first + g.integers(1, 40, size=len(holds))) % 40
    values[runs, first] = np.where(holds, values[runs, second], values[runs, first])
    return values


def product_of_signs(holds: Runs, g: np.random.Generator) -> Array:
    """Ten Gaussian numbers, of which three have a positive product."""
    values = g.standard_normal((len(holds), 10))
    wanted = np.abs(values[:, 7]) * np.sign(values[:, 2] * values[:, 4])
    values[:, 7] = np.where(holds, wanted, values[:, 7])
    return values


def parity_of_nine(holds: Runs, g: np.random.Generator) -> Array:
    """Twelve bits, of which nine have an even sum."""
    bits = g.integers(2, size=(len(holds), 12))
    even = bits[:, [0, 1, 2, 3, 6, 8, 9, 11]].sum(axis=1) % 2
    bits[:, 5] = np.where(holds, even, bits[:, 5])
    return bits


def sum_of_bytes(holds: Runs, g: np.random.Generator) -> Array:
    """Nine bytes; the last is the sum of the others."""
    values = g.integers(256, size=(len(holds), 9))
    values[:, 8] = np.where(holds, values[:, :8].sum(axis=1) % 256, values[:, 8])
    return values


def cyclic_code(holds: Runs, g: np.random.Generator) -> Array:
    """Twelve bytes; the last four are the CRC-32 of the others."""
    values = g.integers(256, size=(len(holds), 12)).astype(np.uint8)
    for run in np.flatnonzero(holds):
        row = values[run]
        row[8:] = np.frombuffer(zlib.crc32(row[:8].tobytes()).to_bytes(4, "big"), np.uint8)
    return values
