"""Normal numbers of numpy's generators, bit for bit, compiled by numba; imports it.

The ziggurat method of 256 layers (Marsaglia and Tsang 2000, as in numpy's `Generator`) on SFC64
(Doty-Humphrey 2010): one loop, in which the state of the generator stays in registers.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba.np.random._constants import (
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")

TABLES = (
    np.tile(ki_double.astype(np.uint64), 2),
    np.concatenate([wi_double.astype(float), -wi_double.astype(float)]),
    fi_double.astype(float),
)
"""The least integer not surely inside a layer and its width per integer, positive half, then negative
half: a sign that is looked up is no branch; and the density at the end of every layer."""

_END = float(ziggurat_nor_r)
_INVERSE_END = float(ziggurat_nor_inv_r)
_ONE = np.uint64(1)
_UNIT = 2.0**-53


@compiled
def advanced(a: Any, b: Any, c: Any, counter: Any) -> Any:
    """The next 64 bits of SFC64 and the four words of its state after them."""
    bits = a + b + counter
    rotated = (c << np.uint64(24)) | (c >> np.uint64(40))
    return bits, b ^ (b >> np.uint64(11)), c + (c << np.uint64(3)), rotated + bits, counter + _ONE


@compiled
def uniform(bits: Any) -> Any:
    """A number in [0, 1) from the first 53 of 64 bits."""
    return np.float64(np.int64(bits >> np.uint64(11))) * _UNIT


@compiled
def fill(state: Any, out: Any, inside: Any, widths: Any, heights: Any) -> None:
    """Fill ``out``, of two axes, with normal numbers; ``state`` is moved on."""
    a, b, c, counter = state
    for row in out:
        for i in range(len(row)):
            while True:
                bits, a, b, c, counter = advanced(a, b, c, counter)
                half = bits & np.uint64(511)
                whole = (bits >> np.uint64(9)) & np.uint64(2**52 - 1)
                x = np.float64(np.int64(whole)) * widths[half]
                if whole < inside[half]:
                    break
                layer = half & np.uint64(255)
                if layer == 0:
                    far, beyond = 0.0, -1.0
                    while not beyond + beyond > far * far:
                        bits, a, b, c, counter = advanced(a, b, c, counter)
                        far = -_INVERSE_END * math.log1p(-uniform(bits))
                        bits, a, b, c, counter = advanced(a, b, c, counter)
                        beyond = -math.log1p(-uniform(bits))
                    x = -(_END + far) if (whole >> np.uint64(8)) & _ONE else _END + far
                    break
                bits, a, b, c, counter = advanced(a, b, c, counter)
                rise = heights[layer - _ONE] - heights[layer]
                if rise * uniform(bits) + heights[layer] < math.exp(-0.5 * x * x):
                    break
            row[i] = x
    state[:] = a, b, c, counter
