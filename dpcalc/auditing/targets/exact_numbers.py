"""Released values as doubles that tell apart all that was told apart, or a refusal.

A conversion that rounds may hide a leak: 2^60 and 2^60 + 1 are one double.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import InvalidInput, shortened

Array = NDArray[np.float64]

_EXACT = 2.0**53
"""Whole numbers up to here are doubles."""


def exact_scores(part: Any) -> Array:
    """The same scores as doubles.

    Args:
        part: anything that NumPy takes for an array of real numbers, of any shape.

    Raises:
        InvalidInput: as `exact_numbers`, and for what is ragged or complex.
    """
    try:
        kind = np.asarray(part).dtype.kind
        if kind == "c":
            raise _refused("complex ones", "give the real number that tells the worlds apart")
        return exact_numbers(part)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(_RELEASED, "as scores")) from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"expected one number per run as scores; got {type(part).__name__} ({error})"
        ) from error


def exact_numbers(part: Any) -> Array:
    """The same numbers as doubles; a complex one as two, on a new last axis.

    Args:
        part: anything that NumPy takes for an array of numbers, of any shape.

    Raises:
        InvalidInput: for masked arrays, words, dates, None, and numbers that are no doubles.
        TypeError: for an object that is no array at all.
    """
    pieces = part if isinstance(part, list | tuple) else [part]
    if any(isinstance(piece, np.ma.MaskedArray) for piece in pieces):
        raise _refused("a masked array", "fill it, and release its mask as numbers")
    whole = np.asarray(part)
    kind = whole.dtype.kind
    if kind == "O" and whole.ndim == 0:
        raise TypeError("no array of numbers")
    if kind == "c":
        return np.stack([exact_numbers(whole.real), exact_numbers(whole.imag)], axis=-1)
    if kind == "O":
        return _of_objects(whole)
    if kind not in "bifu":
        raise _refused(f"values of type {whole.dtype}", _OWN)
    with np.errstate(over="ignore"):
        doubles = whole.astype(np.float64, copy=False)
    if kind == "f" and whole.dtype.itemsize > 8:
        _require_same(whole, (doubles == whole) | np.isnan(whole))
    elif whole is part and kind == "f":
        return doubles
    elif np.any(large := np.isfinite(doubles) & (np.abs(doubles) > _EXACT)):
        # NumPy turns lists of whole numbers and others into doubles by itself.
        given = whole if whole is part else np.asarray(part, dtype=object)
        _of_objects(given[large].astype(object))
    return doubles


_RELEASED = "as what is released"
_OWN = "give words and other objects numbers of their own"


def _of_objects(whole: NDArray[Any]) -> Array:
    """Python's numbers, one by one."""
    doubles = np.empty(whole.shape)
    for place, value in np.ndenumerate(whole):
        if not isinstance(value, numbers.Real | Decimal):
            raise _refused(f"{shortened(repr(value))} of type {type(value).__name__}", _OWN)
        try:
            doubles[place] = float(value)
        except OverflowError:
            raise _inexact(value) from None
        exact = int(value) if isinstance(value, numbers.Integral) else value
        if float(doubles[place]) != exact and not math.isnan(doubles[place]):
            raise _inexact(value)
    return doubles


def _require_same(whole: NDArray[Any], same: NDArray[np.bool_]) -> None:
    if not same.all():
        raise _inexact(whole[~same].ravel()[0])


def _inexact(value: object) -> InvalidInput:
    return _refused(
        f"{shortened(str(value))} of type {type(value).__name__}, which is no double",
        "release smaller numbers, or one number for each part of it",
    )


def _refused(got: str, attempt: str) -> InvalidInput:
    return InvalidInput(f"expected numbers that are doubles {_RELEASED}; got {got}; {attempt}")
