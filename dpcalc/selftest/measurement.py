"""An assumption, next to what was measured of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcalc.accounting.losses import UNIT_ROUNDOFF
from dpcalc.numerics.precise import Real

POINTS = 200
"""Points of a range at which a function is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """An assumption and the largest error that was found.

    Attributes:
        name: what is assumed to be accurate.
        range: where it was measured.
        allowed: the error that enclosures count, in unit roundoffs u = 2^-53.
        measured: the largest error found, in the same unit; nan if a result was no number.
    """

    name: str
    range: str
    allowed: float
    measured: float

    @property
    def holds(self) -> bool:
        """Whether the measured error is at most the allowed one; nan is not."""
        return self.measured <= self.allowed

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "assumption": self.name,
            "range": self.range,
            "allowed": self.allowed,
            "measured": self.measured,
            "holds": self.holds,
        }


def worst(errors: Iterable[Real]) -> float:
    """The largest of some relative errors in unit roundoffs; nan if one is nan."""
    found = [float(error) / UNIT_ROUNDOFF for error in errors]
    return float(np.max(found))  # np.max hands nan on, max() does not


def spread(seed: int, least: float, most: float, *, both: bool = False) -> np.ndarray:
    """Seeded points whose logarithms are uniform between two positive ends; of both signs if asked."""
    rng = np.random.default_rng(seed)
    points = np.exp(rng.uniform(np.log(least), np.log(most), POINTS))
    return points * rng.choice([-1.0, 1.0], POINTS) if both else points


Check = Callable[[], Measurement]
