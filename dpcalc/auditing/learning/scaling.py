"""Released numbers on a common scale, without merging outcomes that are far out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LINEAR = 20.0  # spreads from the centre up to which numbers are kept as they are


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Medians and median absolute deviations of the numbers of both worlds together."""

    centre: Array
    spread: Array

    @classmethod
    def of(cls, values: Array) -> Scaling:
        """From runs of both worlds, shape (runs, numbers)."""
        centre = np.median(values, axis=0)
        away = np.abs(values - centre)
        spread = np.median(away, axis=0)
        return cls(centre, np.where(spread > 0, spread, np.maximum(away.max(axis=0), 1e-300)))

    def __call__(self, values: Array) -> Array:
        """The distance from the centre; beyond 20 spreads it grows like a logarithm only."""
        with np.errstate(over="ignore"):
            z = np.clip((values - self.centre) / self.spread, -1e300, 1e300)
        far = np.sign(z) * _LINEAR * (1 + np.log(np.maximum(np.abs(z) / _LINEAR, 1.0)))
        return np.asarray(np.where(np.abs(z) <= _LINEAR, z, far))
