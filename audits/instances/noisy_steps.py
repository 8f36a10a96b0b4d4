"""Noisy gradient descent on quadratics along the direction in which one record differs.

    x ← Π(x - η(κ_t x ± s_t + Z_t)),   Z_t ~ N(0, σ²),

one sign in each world, s_t the record's share in step t. Without a domain the last x is
Gaussian in either world. A second coordinate, moved by every step alike, tells how many were made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Target, World
from dpcalc.auditing.targets.gaussian_release import gaussian_release
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]
SIGN = {World.IN: 1.0, World.OUT: -1.0}


class Normal(NamedTuple):
    """A Gaussian law."""

    mean: Array
    covariance: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Descent:
    """One setting.

    Attributes:
        factors: 1 - ηκ_t, shape (steps,).
        uses: η·s_t, shape (steps,).
        noise: ησ.
        radius: half the domain's diameter, None without a domain.
        offset: by how much every step moves the second coordinate, 0 to leave it out.
        stops: first and last step after which a run may stop, None to make them all.
        drawn: (generator, runs) -> uses of every run, shape (runs, steps), in place of ``uses``.
    """

    factors: Array
    uses: Array
    noise: float
    radius: float | None = None
    offset: float = 0.0
    stops: tuple[int, int] | None = None
    drawn: Callable[[np.random.Generator, int], Array] | None = None

    def run(self, world: World, generator: np.random.Generator, runs: int) -> Array:
        """The last iterates, shape (runs, 1) or (runs, 2)."""
        uses = self.uses[None] if self.drawn is None else self.drawn(generator, runs)
        last = np.full(runs, len(self.factors))
        if self.stops is not None:
            last = generator.integers(self.stops[0], self.stops[1] + 1, size=runs)
        x = np.zeros((runs, 2 if self.offset else 1))
        for t, factor in enumerate(self.factors):
            going = (t < last)[:, None]
            drift = SIGN[world] * uses[:, t, None] * np.eye(x.shape[1])[:1]
            if self.offset:
                drift = drift + np.array([[0.0, self.offset]])
            z = generator.standard_normal(x.shape)
            after = factor * x + drift + self.noise * z
            if self.radius is not None:
                after = np.clip(after, -self.radius, self.radius)
            x = np.where(going, after, x) if self.stops is not None else after
        return x

    def law(self, world: World, *, uses: Array | None = None, steps: int | None = None) -> Normal:
        """The last iterate's law without a domain, after this many steps and for given uses."""
        steps = len(self.factors) if steps is None else steps
        left = np.append(np.cumprod(self.factors[1:steps][::-1])[::-1], 1.0)
        jumps = self.uses if uses is None else uses
        mean = SIGN[world] * float(left @ jumps[:steps])
        variance = self.noise**2 * float(left @ left)
        if not self.offset:
            return Normal(np.array([mean]), np.array([[variance]]))
        return Normal(np.array([mean, self.offset * left.sum()]), variance * np.eye(2))

    def separation(self) -> float:
        """μ of the two laws, for fixed uses and no domain."""
        a, b = (self.law(world) for world in World)
        return float(np.linalg.norm(a.mean - b.mean) / np.sqrt(a.covariance[0, 0]))


def gaussian_target(
    descent: Descent, *, name: str, adjacency: Adjacency, orders: Array | None = None
) -> Target:
    """The last iterate with its exact law; a mixture over stopping times or over orders.

    Args:
        descent: without a domain.
        name: for reports.
        adjacency: the theorem's.
        orders: uses in every order that chance may pick, shape (orders, steps).
    """
    if descent.stops is not None:
        first, last = descent.stops
        laws = [
            [descent.law(world, steps=steps) for steps in range(first, last + 1)] for world in World
        ]
    elif orders is not None:
        laws = [[descent.law(world, uses=uses) for uses in orders] for world in World]
    else:
        laws = [[descent.law(world)] for world in World]
    return gaussian_release(
        descent.run,
        lambda x: np.asarray(x),
        *laws,
        name=name,
        adjacency=adjacency,
        described="quadratics that differ in one record's linear part; the law is known",
    )


def scored_target(descent: Descent, *, name: str, adjacency: Adjacency) -> Target:
    """The last iterate with its first coordinate as the score: any chance, any domain."""
    return Target(
        name=name,
        run=descent.run,
        adjacency=adjacency,
        score=lambda x: np.asarray(x)[:, 0],
        described="quadratics that differ in one record's linear part",
    )


def chosen(draw: Array) -> Callable[[np.random.Generator, int], Array]:
    """Every run takes one of the given rows of uses by chance."""
    return lambda generator, runs: draw[generator.integers(len(draw), size=runs)]


def strongest(settings: list[Descent]) -> Descent:
    """The setting whose worlds are furthest apart."""
    return max(settings, key=Descent.separation)
