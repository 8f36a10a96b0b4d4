"""Normal noise with a shift that falls with the outcome: divergences of the exact laws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

Vector = NDArray[np.float64]
PLACES = np.arange(-9.0, 14.0, 0.02)


def odds(mu: float, kappa: float, start: float, share: Vector) -> Vector:
    """ln s/(1 - s) at the places, falling at a share of the fastest rate between them."""
    falls = kappa / mu * share[:-1] * np.diff(PLACES)
    return start - np.append(0.0, np.cumsum(falls))


def divergences(mu: float, path: Vector, ratios: Vector) -> Vector:
    """Of the two laws with outcomes lumped between places, which is never above the truth."""
    p, q = _masses(PLACES - mu * expit(path)), _masses(PLACES)
    return np.array([np.maximum(p - k * q, 0).sum() for k in ratios])


def drawn_path(rng: np.random.Generator, mu: float, kappa: float) -> Vector:
    """One fall, several, or a rate that comes and goes."""
    start = rng.uniform(-1, 8) if rng.random() < 0.8 else 30.0
    cuts = np.sort(rng.uniform(-2, 6, 2 * int(rng.integers(1, 5))))
    share = np.searchsorted(cuts, PLACES) % 2.0
    if rng.random() < 0.3:
        share = rng.random(len(PLACES)) ** rng.choice([0.2, 1, 5]) * (rng.uniform(-3, 3) < PLACES)
    return odds(mu, kappa, start, share)


def _masses(ends: Vector) -> Vector:
    """Normal masses between -∞, the ends and ∞, each from the side where it is small."""
    x = np.concatenate([[-np.inf], ends, [np.inf]])
    return np.where(x[:-1] > 0, ndtr(-x[:-1]) - ndtr(-x[1:]), ndtr(x[1:]) - ndtr(x[:-1]))
