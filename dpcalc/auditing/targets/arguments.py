"""What a function of the user's is called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dpcalc.errors import InvalidInput


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; True where nothing tells."""
    try:
        shape = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        shape.bind(*range(count))
    except TypeError:
        return False
    return True


def require_batches(release: Callable[..., Any], name: str) -> None:
    """Raise `InvalidInput` for a release that cannot be called with input, generator and runs.

    Args:
        release: (input, generator, runs) -> released values.
        name: of the mechanism.
    """
    if takes(release, 3):
        return
    called = getattr(release, "__name__", type(release).__name__)
    one = f"{called}{inspect.signature(release)}"
    wrapped = f"np.stack([{called}(data, generator) for _ in range(runs)])"
    raise InvalidInput(
        f"expected a function of (input, generator, runs) as release of target {name!r}; got {one}; "
        f"one that releases once a call: lambda data, generator, runs: {wrapped}"
    )
