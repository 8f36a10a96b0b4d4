"""Inputs that differ, and that a release must leave as they are: the next batch starts from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcalc.errors import InvalidInput


def leaving_unchanged(
    release: Callable[..., Any], given: Any, name: str
) -> Callable[[np.random.Generator, int], Any]:
    """The release on one input, refused once it changes arrays, lists or dictionaries of the input.

    Other objects are not looked into.

    Args:
        release: (input, generator, runs) -> released values.
        given: the input.
        name: of the mechanism.
    """
    before = _kept(given)

    def run(generator: np.random.Generator, runs: int) -> Any:
        released = release(given, generator, runs)
        if not _same(before, given):
            raise InvalidInput(
                f"expected a release that leaves its input as it is from target {name!r}; got an "
                "input that was changed in place, from which the next runs would start; work on a "
                "copy, such as data = data.copy()"
            )
        return released

    return run


def require_different(first: Any, second: Any, name: str) -> None:
    """Raise `InvalidInput` for two equal arrays of numbers, or two equal numbers or words.

    Args:
        first: the input with the record.
        second: the one without it.
        name: of the mechanism.
    """
    plain = isinstance(first, np.ndarray) and not first.dtype.hasobject
    plain = type(first) is type(second) and (plain or isinstance(first, int | float | str))
    if plain and _same(first, second):
        raise InvalidInput(
            f"expected two inputs of target {name!r} that differ in one record; got equal ones, on "
            "which nothing can be seen; leave the record out of the second"
        )


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _kept(value.tolist()) if value.dtype.hasobject else value.copy()
    if isinstance(value, list | tuple):
        return [_kept(part) for part in value]
    if isinstance(value, dict):
        return {key: _kept(part) for key, part in value.items()}
    return value


def _same(before: Any, now: Any) -> bool:
    if isinstance(now, np.ndarray) and now.dtype.hasobject:
        return _same(before, now.tolist())
    if isinstance(now, np.ndarray):
        return isinstance(before, np.ndarray) and (
            (before.dtype, before.shape) == (now.dtype, now.shape)
            and before.tobytes() == now.tobytes()
        )
    if isinstance(now, list | tuple):
        return isinstance(before, list) and (
            len(before) == len(now) and all(map(_same, before, now))
        )
    if isinstance(now, dict):
        return isinstance(before, dict) and (
            list(before) == list(now) and all(_same(before[key], now[key]) for key in now)
        )
    if isinstance(now, float):
        return isinstance(before, float) and (
            before == now or (math.isnan(before) and math.isnan(now))
        )
    return type(before) is type(now) and (before == now if isinstance(now, int | str) else True)
