"""What a change that depends on the noise leaks in the limit of small jumps, by singular values.

With X = φ(N) and Z normal, the χ²-divergence of X + su(N) + Z from X + Z is s² E[E[uZ | X + Z]²] to
second order. On a grid the worst u is a singular vector; no code of dpcalc takes part.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

NOISE = np.linspace(-5.0, 5.0, 161)
MASSES = np.exp(-(NOISE**2) / 2) / np.exp(-(NOISE**2) / 2).sum()


def _worst_share(places: np.ndarray) -> float:
    """sup over u of E[E[uZ | X + Z]²]/Eu², X at these places with the masses of a normal law."""
    seen = np.linspace(places[0] - 6.0, places[-1] + 6.0, 301)
    away = seen[:, None] - places[None, :]
    joint = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) * MASSES * (seen[1] - seen[0])
    told = joint * away / np.sqrt(joint.sum(axis=1)[:, None] * MASSES)
    return float(np.linalg.norm(told, 2) ** 2)


def _bound(least: float, most: float) -> float:
    if least * most <= math.sqrt(0.5):
        return 1 / (1 + least**2)
    return 1 / (1 + math.sqrt(2) * least / most - 1 / (2 * most**2))


def _path(slopes: np.ndarray) -> np.ndarray:
    """φ on the grid from its slopes between the points."""
    return np.concatenate([[0.0], np.cumsum(slopes * np.diff(NOISE))])


@pytest.mark.parametrize(("least", "most"), [(0.5, 0.97), (0.2, 1.0), (0.7, 1.0), (0.9, 1.1)])
def test_no_step_with_kinks_leaks_more(least: float, most: float) -> None:
    rng = np.random.default_rng(5)
    cells = len(NOISE) - 1
    for pieces in (1, 2, 3, 5, 9, 20, 80):
        switches = np.sort(rng.integers(0, cells, pieces))
        steep = (np.searchsorted(switches, np.arange(cells)) + rng.integers(2)) % 2
        slopes = np.where(steep, most, least)
        assert _worst_share(_path(slopes)) <= _bound(least, most) * (1 + 1e-6)


def test_the_flattest_step_attains_it_and_a_flatter_one_would_be_caught() -> None:
    flat = np.full(len(NOISE) - 1, 0.5)
    assert _worst_share(_path(flat)) == pytest.approx(0.8, rel=1e-4)
    assert _worst_share(_path(0.8 * flat)) > _bound(0.5, 0.97)
