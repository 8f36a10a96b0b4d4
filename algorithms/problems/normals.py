"""Normal numbers of a generator, three times as fast where numba is installed, with the same bits.

Experiments draw them from SFC64, whose loop is compiled once a process has drawn so many that this
pays. Before it serves it must give numpy's own numbers: a numpy that draws others is not followed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]
Tables = tuple[NDArray[np.uint64], Array, Array]

_FEW = 2048  # numbers that numpy has drawn before the state of a generator is read and written
_PAYS = 2**25  # numbers of a process from which it pays to load numba
_TRIED = 2**16  # numbers that must be numpy's; twenty of them are beyond the last layer


@dataclass(slots=True)
class _Count:
    """Numbers drawn in this process."""

    drawn: int = 0


_COUNT = _Count()


def standard_normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """What ``generator.standard_normal(shape)`` returns, and leaves behind."""
    found = np.empty(shape)
    fill_normal(generator, found)
    return found


def fill_normal(generator: np.random.Generator, out: Array) -> None:
    """Put these numbers into an array, which may be every so many rows of another."""
    _COUNT.drawn += out.size
    small = out.size < _FEW or not isinstance(generator.bit_generator, np.random.SFC64)
    fits = not small and ("numba" in sys.modules or _COUNT.drawn >= _PAYS)
    (_checked() if fits else _numpys)(generator, out)


def tables() -> Tables | None:
    """What a compiled loop needs to draw the numbers of SFC64 itself, by `ziggurat.fill`.

    Returns:
        The tables of the ziggurat; None where its numbers are not numpy's.
    """
    if _checked() is _numpys:
        return None
    from dpcalc.algorithms.problems import ziggurat

    return ziggurat.TABLES


def words(generator: np.random.Generator) -> NDArray[np.uint64]:
    """A copy of the state of an SFC64, which `ziggurat.fill` moves on."""
    found: NDArray[np.uint64] = generator.bit_generator.state["state"]["state"].copy()
    return found


def put_back(generator: np.random.Generator, words: NDArray[np.uint64]) -> None:
    """Move a generator on to such a state."""
    state = generator.bit_generator.state
    state["state"]["state"] = words
    generator.bit_generator.state = state


def _numpys(generator: np.random.Generator, out: Array) -> None:
    if out.flags.c_contiguous:
        generator.standard_normal(out=out)
    else:
        out[...] = generator.standard_normal(out.shape)


@cache
def _checked() -> Callable[[np.random.Generator, Array], None]:
    """The compiled loop, or numpy's without numba or where its numbers are not numpy's."""
    if not compiled.is_there():
        return _numpys
    try:
        from dpcalc.algorithms.problems import ziggurat
    except ImportError:  # of tables that another numba keeps elsewhere
        return _numpys

    def fill(generator: np.random.Generator, out: Array) -> None:
        with generator.bit_generator.lock:
            state = words(generator)
            ziggurat.fill(state, out.reshape(len(out), -1), *ziggurat.TABLES)
            put_back(generator, state)

    one, other = (np.random.Generator(np.random.SFC64(0)) for _ in range(2))
    tried = np.empty(_TRIED)
    fill(one, tried)
    same = np.array_equal(tried, other.standard_normal(_TRIED))
    return fill if same and one.random() == other.random() else _numpys
