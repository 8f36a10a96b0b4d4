"""Results kept for when they are asked for again, in a bounded number of bytes, not of results."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

Given = ParamSpec("Given")
Found = TypeVar("Found")

_EACH = 2**7
"""Bytes that an object counts for beside its arrays."""


class Kept(Generic[Given, Found]):
    """A function that keeps what it found, the least lately asked for least long.

    Arguments are hashable. They and results count by what they hold when a result is found; the last
    result is kept however large it is. Safe to call on several threads,
    which may both find what neither has yet.
    """

    def __init__(self, function: Callable[Given, Found], limit: int) -> None:
        self._function, self._limit = function, limit
        self._found: OrderedDict[Hashable, tuple[Found, int]] = OrderedDict()
        self._held, self._lock = 0, threading.Lock()
        functools.update_wrapper(self, function)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Found:
        """The result, found now or before."""
        key = (given, *named.items())
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key][0]
        found = self._function(*given, **named)
        size = bytes_of((key, found))
        with self._lock:
            self._held += size - self._found.pop(key, (found, 0))[1]
            self._found[key] = found, size
            while self._held > self._limit and len(self._found) > 1:
                self._held -= self._found.popitem(last=False)[1][1]
        return found

    def __reduce__(self) -> str:
        """The function by its name, as functions are pickled."""
        return str(self.__qualname__)  # type: ignore[attr-defined]  # set by update_wrapper

    @property
    def held(self) -> int:
        """Bytes that are counted now."""
        return self._held

    def cache_clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()
            self._held = 0


def kept_within(limit: int) -> Callable[[Callable[Given, Found]], Kept[Given, Found]]:
    """Keeps results of a function in at most so many bytes."""
    return lambda function: Kept(function, limit)


def bytes_of(value: object) -> int:
    """About how many bytes an object holds; arrays exactly, and each once."""
    seen: dict[int, object] = {}
    total, open_ = 0, [value]
    while open_:
        here = open_.pop()
        if id(here) in seen:
            continue
        seen[id(here)] = here
        if not isinstance(here, np.ndarray):
            open_ += _parts(here)
        elif here.base is None:
            total += here.nbytes
        else:
            open_.append(here.base)
    return total + _EACH * len(seen)


def _parts(value: object) -> list[Any]:
    """What tuples, lists, mappings and objects of this package hold."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, type) or not type(value).__module__.startswith("dpcalc."):
        return []
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [getattr(value, name) for name in slots if hasattr(value, name)]
    return found + list(getattr(value, "__dict__", {}).values())
