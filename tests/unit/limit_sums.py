"""Guarantees at their limits, and how they are refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.guarantees import (
    GDP,
    Guarantee,
)


def refused(call: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(*given, **named)
    return str(caught.value)


class Told(Guarantee):
    """A guarantee by two functions, with all else as it is for every guarantee."""

    notion = "told"

    def epsilon(self, delta: float) -> float:
        return math.inf if delta < 0.5 else 1.0

    def delta(self, epsilon: float) -> float:
        return GDP(1.0).delta(epsilon)

    def parameters(self) -> dict[str, float]:
        return {}
