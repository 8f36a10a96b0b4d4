"""Targets that release one Gaussian vector, or one of several Gaussian laws by chance.

The exact law gives all that an audit can use: the likelihood ratio, unit noise to be tested, and
tilted runs. A release moved by a fixed vector follows the moved law, so P_a takes no other runs:

    P_a = P moved by a·g, g = m - m';   ln dP_a/dP (x) = ln p(x - a·g) - ln p(x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.auditing.gaussian.separation import Law
from dpcalc.auditing.targets.target import ImportanceSample, Noise, Outputs, Target, World
from dpcalc.errors import AssumptionViolated
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-11  # of the largest eigenvalue: a direction without noise


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """The directions in which there is noise, and a scale for each coordinate.

    Attributes:
        scale: shape (k,).
        basis: orthonormal columns in scaled coordinates; shape (k, r).
    """

    scale: Array
    basis: Array

    @classmethod
    def of(cls, covariances: Sequence[ArrayLike]) -> Plane:
        """The plane of all covariances together."""
        S = np.mean([np.asarray(c, dtype=np.float64) for c in covariances], axis=0)
        size = np.sqrt(np.maximum(np.diagonal(S), 0))
        scale = np.where(size > 0, size, max(float(size.max()), 1e-300))
        values, vectors = np.linalg.eigh(S / np.outer(scale, scale))
        return cls(scale, vectors[:, values > _NEGLIGIBLE * values.max()])

    def on(self, x: Array) -> Array:
        """Coordinates on the plane; shape (..., r)."""
        return np.asarray((x / self.scale) @ self.basis)

    def misses(self, gap: Array) -> bool:
        """Whether a difference points out of the plane, where no noise hides it."""
        scaled = gap / self.scale
        left = scaled - self.basis @ (self.basis.T @ scaled)
        return bool(np.linalg.norm(left) > 1e-6 * np.linalg.norm(scaled))


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Gaussian laws on a plane, each with its chance.

    Attributes:
        means: shape (laws, r).
        roots: matrices that whiten; shape (laws, r, r).
        shares: shape (laws,).
    """

    means: Array
    roots: Array
    shares: Array

    @classmethod
    def of(cls, laws: Sequence[Law], plane: Plane, shares: Array) -> Mixture:
        """The laws seen on a plane."""
        frame = plane.basis / plane.scale[:, None]
        covariances = np.stack([frame.T @ law.covariance @ frame for law in laws])
        means = np.stack([law.mean @ frame for law in laws])
        return cls(means, np.linalg.inv(np.linalg.cholesky(covariances)), shares)

    def log_density(self, y: Array) -> Array:
        """At points of the plane, up to a constant; shape (runs,)."""
        total = np.full(len(y), -np.inf)
        for mean, root, share in zip(self.means, self.roots, self.shares, strict=True):
            z = (y - mean) @ root.T
            height = np.log(np.diagonal(root)).sum() + math.log(share)
            total = np.logaddexp(total, height - np.square(z).sum(axis=1) / 2)
        return total

    def unit(self, y: Array) -> Array:
        """Standard normal numbers if y follows the mixture; shape (runs, r), or one per run.

        Of one law the whitened vector; of several, the probability integral transform of the first
        coordinate in which their means differ most.
        """
        from scipy.special import ndtr, ndtri

        if len(self.means) == 1:
            return np.asarray((y - self.means[0]) @ self.roots[0].T)
        j = int(np.argmax(np.ptp(self.means, axis=0)))
        spread = np.sqrt([np.linalg.inv(root.T @ root)[j, j] for root in self.roots])
        z = (y[:, j, None] - self.means[:, j]) / spread
        below, above = ndtr(z) @ self.shares, ndtr(-z) @ self.shares
        tail = ndtri(np.clip(np.minimum(below, above), 1e-300, 1.0))
        return np.where(below < above, tail, -tail)[:, None]


def gaussian_release(
    run: Callable[[World, np.random.Generator, int], Outputs],
    read: Callable[[Any], Array],
    here: Sequence[Law],
    there: Sequence[Law],
    *,
    name: str,
    adjacency: Adjacency,
    shares: ArrayLike | None = None,
    described: str = "",
) -> Target:
    """The target, with its exact likelihood ratio, its unit noise and tilted runs.

    Args:
        run: (world, generator, runs) -> released.
        read: released -> the vector that the laws describe; shape (runs, k).
        here: the law of the world IN, or several of which chance picks one.
        there: the world OUT's, one for each of the others.
        name: for reports.
        adjacency: between the worlds' inputs.
        shares: chance of each law; equal if left out.
        described: for reports.

    Raises:
        AssumptionViolated: if the worlds differ where there is no noise: one look is enough there.
    """
    plane, own = _on_a_plane(here, there, shares)
    gap = _widest(own)

    def ratio(released: Outputs) -> Array:
        y = plane.on(read(released))
        return own[World.IN].log_density(y) - own[World.OUT].log_density(y)

    def tilted(
        world: World, a: float, moved: bool, generator: np.random.Generator, runs: int
    ) -> ImportanceSample:
        move = a * gap if world is World.IN else -a * gap
        y = plane.on(read(run(world, generator, runs))) + (move if moved else 0.0)
        density = own[world].log_density(y)
        return ImportanceSample(
            log_ratio=density - own[world.other].log_density(y),
            log_tilt=own[world].log_density(y - move) - density,
        )

    def noise(world: World, released: Outputs) -> Noise:
        unit = own[world].unit(plane.on(read(released)))
        return Noise(unit=unit[:, None, None, :], law="gaussian")

    return Target(
        name=name,
        run=run,
        adjacency=adjacency,
        log_ratio=ratio,
        tilted=tilted,
        noise=noise,
        described=described,
    )


def _on_a_plane(
    here: Sequence[Law], there: Sequence[Law], shares: ArrayLike | None
) -> tuple[Plane, dict[World, Mixture]]:
    """The directions that have noise, and the laws of both worlds in them."""
    weights = np.ones(len(here)) if shares is None else np.asarray(shares, dtype=np.float64)
    weights = weights / weights.sum()
    plane = Plane.of([law.covariance for law in (*here, *there)])
    if any(plane.misses(a.mean - b.mean) for a, b in zip(here, there, strict=True)):
        raise AssumptionViolated(
            "expected noise wherever the two worlds differ; got a difference without any; see the "
            "disclosure check"
        )
    laws = {
        World.IN: Mixture.of(here, plane, weights),
        World.OUT: Mixture.of(there, plane, weights),
    }
    return plane, laws


def _widest(own: dict[World, Mixture]) -> Array:
    """The difference of means of the pair of laws that is easiest to tell apart."""
    gaps = own[World.IN].means - own[World.OUT].means
    seen = np.einsum("jab,jb->ja", own[World.IN].roots, gaps)
    return np.asarray(gaps[int(np.argmax(np.linalg.norm(seen, axis=1)))])
