"""One piece of work as it travels: a packed function there, an answer or its error back.

Functions, closures of a user's script among them, are packed by cloudpickle. What a function raises
comes back as part of its answer. So every other error means that the worker was lost, and with it
nothing but time: the piece may be made again.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

from dpcalc.errors import InvalidInput

_KEPT = 4
"""Unpacked functions that a worker's thread keeps at hand."""

_HERE = threading.local()


def packed(work: Any) -> bytes:
    """A function, or what it is applied to, with all that it refers to.

    Raises:
        InvalidInput: if something in it exists in this process only.
    """
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(work))
    except Exception as error:
        raise InvalidInput(
            "expected work that can be sent to other processes; got something that cannot be "
            f"({type(error).__name__}: {error}); make open files, locks and generators inside the "
            "function that uses them, or leave the workers out"
        ) from error


def answer(function: bytes, item: bytes) -> bytes:
    """What a function makes of an item, or what it raised; all packed; runs in the worker."""
    import cloudpickle

    try:
        whole = (True, unpacked(function)(pickle.loads(item)))  # noqa: S301 - packed by the process that called
        return bytes(cloudpickle.dumps(whole))
    except BaseException as error:  # noqa: BLE001 - raised again by `opened`
        return _failure(error)


def opened(answered: bytes) -> tuple[bool, Any]:
    """Whether the function came to its end, and its value or error."""
    done, value = pickle.loads(answered)  # noqa: S301 - written by a worker of this process
    return done, value


def _failure(error: BaseException) -> bytes:
    import cloudpickle

    try:
        text = bytes(cloudpickle.dumps((False, error)))
        pickle.loads(text)  # noqa: S301 - some errors can be packed and not opened
    except Exception:  # noqa: BLE001 - whatever an error of others cannot do
        told = RuntimeError(f"{type(error).__name__}: {error}")
        return bytes(cloudpickle.dumps((False, told)))
    return text


def unpacked(function: bytes) -> Callable[[Any], Any]:
    """A packed function; threads have one each, so that they share nothing but what is global."""
    kept: dict[bytes, Callable[[Any], Any]] = _HERE.__dict__.setdefault("functions", {})
    if function not in kept:
        if len(kept) >= _KEPT:
            del kept[next(iter(kept))]
        kept[function] = pickle.loads(function)  # noqa: S301 - packed by the process that called
    return kept[function]
