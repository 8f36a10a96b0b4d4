"""What an adversary reaches who chooses, in every sampled round, where all records lie.

The adversary knows the loss so far. One record has normal noise around u or v, all others around g,
and a share of the samples holds the record. What is reached is computed by backward induction, from
below: cells of the line or the plane leak less than the laws, and a convex function lies above the
extensions of its chords.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Reals = NDArray[np.float64]
Place = tuple[float, float]
Round = tuple[Reals, Reals]
"""Masses of cells under both laws."""


def rounds(mu: float, rate: float, places: list[Place], cells: int) -> list[Round]:
    """(P, Q) for every choice of the others and of one record, the other record at the first place.

    Args:
        mu: diameter of the ball, in standard deviations.
        rate: share of the samples that hold the record.
        places: in the unit disc.
        cells: in each direction.
    """
    flat = all(y == 0 for _, y in places)
    reach = mu / 2 + 3.2
    cuts_x = np.concatenate([[-np.inf], np.linspace(-reach, reach, cells - 1), [np.inf]])
    cuts = cuts_x, np.array([-np.inf, np.inf]) if flat else cuts_x
    scaled = [(x * mu / 2, y * mu / 2) for x, y in places]
    return [
        (
            _mixture([(1 - rate, g), (rate, scaled[0])], *cuts),
            _mixture([(1 - rate, g), (rate, v)], *cuts),
        )
        for v in scaled[1:]
        for g in scaled
    ]


def reached(choices: list[Round], count: int, ratios: Reals) -> Reals:
    """sup E_Q(rX - 1)_+ over adaptive choices in so many rounds, at increasing ratios r."""
    value = np.maximum(ratios - 1, 0.0)
    for _ in range(count):
        found = [
            q @ _below(np.outer(p / q, ratios).ravel(), ratios, value).reshape(len(q), -1)
            for p, q in choices
        ]
        value = np.maximum(value, np.max(found, axis=0))
    return value


def _mixture(points: list[tuple[float, Place]], cuts_x: Reals, cuts_y: Reals) -> Reals:
    total = sum(
        weight * np.outer(np.diff(ndtr(cuts_x - x)), np.diff(ndtr(cuts_y - y)))
        for weight, (x, y) in points
    )
    return np.ravel(total)


def _below(at: Reals, ratios: Reals, value: Reals) -> Reals:
    """A convex function that is known at some points, from below."""
    k = np.clip(np.searchsorted(ratios, at) - 1, 1, len(ratios) - 3)
    slopes = np.diff(value) / np.diff(ratios)
    left = value[k] + slopes[k - 1] * (at - ratios[k])
    right = value[k + 1] + slopes[k + 1] * (at - ratios[k + 1])
    return np.maximum(np.maximum(left, right), np.maximum(at - 1, 0.0))
