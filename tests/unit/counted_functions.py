"""Functions that count their calls."""

from __future__ import annotations

from collections.abc import Callable


class Counted:
    """A function that remembers where it was asked for."""

    def __init__(self, function: Callable[[float], float]) -> None:
        self.function, self.asked = function, list[float]()

    def __call__(self, x: float) -> float:
        self.asked.append(x)
        return self.function(x)
