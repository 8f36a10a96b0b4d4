"""Random objective-perturbed updates: each function draws one and returns a divergence over its law.

The update is integrated as it stands, in one to three dimensions, and its neighbours are the worst
that are known or random; a quadrature's own error is taken off what it finds.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law
from tests.oracles.normal_objective import NormalInstance, normal_points
from tests.oracles.objective_profile import Instance, Vector, noise_points

_LEAST = 1e-3
"""Bounds below it are not told from a quadrature's error."""

_SURE = 1.0
"""A larger share is integrated again on a finer grid: kinks cost the coarse one up to .15 of it."""

_ABSOLUTE = 1e-4
"""What quadrature on the coarse grids loses besides what its two checks show."""


def exponential_update(rng: np.random.Generator) -> float:
    """Noise of density e^{-rate |b|}."""
    d = int(rng.integers(1, 4))
    weight, stiffness = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 1)
    rate = min(10 ** rng.uniform(-1, 1), 4 / weight)
    instance = Instance(weight, stiffness, rate, _pull(rng, d))
    law = Update(instance.bound, instance.curvature, d, tied=True, cells=200)
    neighbours = _neighbours(rng, d)
    share = _share(instance, law, neighbours, (_exponential_points(d),))
    if share <= _SURE:
        return share
    return _share(instance, law, neighbours, (_exponential_points(d, fine=True),))


def normal_update(rng: np.random.Generator) -> float | None:
    """Normal noise; None where a margin's slope changes faster than the grid sees."""
    d = int(rng.integers(1, 4))
    weight, stiffness = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 1)
    rate = min(10 ** rng.uniform(-1.5, 0.5), 2 / weight)
    instance = NormalInstance(weight, stiffness, rate, _pull(rng, d))
    if instance.bound * (1 + 4 / instance.curvature) <= 28 / _PER_AXIS[d][0]:
        return None
    law = GaussianUpdate(instance.bound, instance.curvature, tied=True, cells=200)
    neighbours = _neighbours(rng, d)
    share = _share(instance, law, neighbours, _normal_points(d))
    if share <= _SURE:
        return share
    return _share(instance, law, neighbours, _normal_points(d, fine=True))


_PER_AXIS = {1: (1000, 1400), 2: (70, 100), 3: (22, 30)}
_FINE = {1: (4000, 8000), 2: (200, 400), 3: (44, 60)}


@cache
def _normal_points(d: int, *, fine: bool = False) -> tuple[tuple[Vector, Vector], ...]:
    return tuple(normal_points(d, count) for count in (_FINE if fine else _PER_AXIS)[d])


@cache
def _exponential_points(d: int, *, fine: bool = False) -> tuple[Vector, Vector]:
    coarse = {1: (200, 1), 2: (24, 60), 3: (8, 16)}[d]
    return noise_points(d, *({1: (2000, 1), 2: (96, 400), 3: (20, 60)}[d] if fine else coarse))


def _pull(rng: np.random.Generator, d: int) -> Vector:
    return np.asarray(rng.normal(size=d) * 10 ** rng.uniform(-2, 3) * rng.integers(2))


def _neighbours(rng: np.random.Generator, d: int) -> tuple[Vector, Vector]:
    """A record in the unit ball, and the opposite one, one nearly opposite or any other."""
    record, other, turn = (_unit(rng.normal(size=d)) for _ in range(3))
    length = rng.choice([1.0, 1.0, 0.5])
    nearly = _unit(0.3 * turn - record)
    return record * length, [-record, other, nearly][int(rng.integers(3))]


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector))


def _share(
    instance: Instance,
    update: Update | GaussianUpdate,
    neighbours: tuple[Vector, Vector],
    grids: tuple[tuple[Vector, Vector], ...],
) -> float:
    """The largest share of a bound over the three ways to change one record and four ε.

    Taken off are twice what two grids differ by, and thrice what Q's mass, as P's integral of
    e^{-loss}, is off one.
    """
    record, other = neighbours
    nobody = np.zeros_like(record)
    removed, added = removal_laws(update)
    worst = 0.0
    for p, q, law in (
        (record, other, replacement_law(update)),
        (record, nobody, removed),
        (nobody, record, added),
    ):
        epsilons = np.array([0.0, 0.1, 0.3, 0.6]) * min(law.supremum, 6 * instance.bound)
        points, weights = grids[-1]
        losses = instance.losses(points / instance.rate, p, q)
        found = [instance.divergence(p, q, epsilons, grid) for grid in grids]
        lost = 3 * abs(float(weights @ np.exp(-losses)) - 1) + _ABSOLUTE
        error = lost + 2 * np.abs(found[-1] - found[0])
        bounds = np.array([law.delta(float(e))[1] for e in epsilons])
        told = bounds > _LEAST
        if told.any():
            worst = max(worst, float(((found[-1] - error) / bounds)[told].max()))
    return worst
