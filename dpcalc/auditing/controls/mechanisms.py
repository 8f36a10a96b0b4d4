"""Mechanisms whose privacy loss is known exactly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.targets.target import ImportanceSample, Noise, Target, World
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]


def gaussian(
    mu: float, *, scale: float = 1.0, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Target:
    """N(μ, 1) against N(0, 1), exactly μ-GDP if the noise is drawn as modelled.

    Args:
        mu: distance of the two worlds in units of the modelled noise, above 0.
        scale: standard deviation that is really drawn; other than 1 it is a planted bug that the
            densities know nothing of.
        adjacency: what to call the pair.
    """
    checks.positive("mu", mu)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        return scale * generator.standard_normal(runs) + (mu if world is World.IN else 0.0)

    def log_ratio(x: Array) -> Array:
        return mu * x - mu**2 / 2

    def tilted(
        _: World, a: float, moved: bool, generator: np.random.Generator, runs: int
    ) -> ImportanceSample:
        unit = scale * generator.standard_normal(runs) + a * mu * moved
        L = mu * unit + mu**2 / 2
        return ImportanceSample(log_ratio=L, log_tilt=a * L - (a + a**2) * mu**2 / 2)

    def noise(world: World, x: Array) -> Noise:
        return Noise(unit=(x - (mu if world is World.IN else 0.0))[:, None, None], law="gaussian")

    return Target(
        name=f"Gaussian, mu = {mu:g}" + (f", drawn at {scale:g}" if scale != 1 else ""),
        run=run,
        adjacency=adjacency,
        log_ratio=log_ratio,
        tilted=tilted,
        noise=noise,
    )


def randomised_response(epsilon: float, *, adjacency: Adjacency = Adjacency.REPLACE_ONE) -> Target:
    """One bit, told truly with probability e^ε/(1 + e^ε): exactly ε-DP, at every corner tight."""
    truth = 1 / (1 + math.exp(-epsilon))

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        bit = world is World.IN
        return np.where(generator.random(runs) < truth, bit, not bit).astype(np.float64)

    return Target(
        name=f"randomised response, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=lambda x: np.where(x > 0.5, epsilon, -epsilon),
    )


def laplace(epsilon: float, *, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Target:
    """Laplace noise of scale 1/ε on 1 against 0: exactly ε-DP."""

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        return generator.laplace(scale=1 / epsilon, size=runs) + (world is World.IN)

    return Target(
        name=f"Laplace, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=lambda x: epsilon * (np.abs(x) - np.abs(x - 1)),
    )


def exponential_norm(
    epsilon: float, dimension: int, *, adjacency: Adjacency = Adjacency.REPLACE_ONE
) -> Target:
    """Density ∝ e^{-‖b‖} around points ε apart: exactly ε-DP, hard to see in many dimensions."""
    checks.count("dimension", dimension)
    centre = np.zeros(dimension)
    centre[0] = epsilon

    def middle(world: World) -> Array:
        return centre if world is World.IN else np.zeros(dimension)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        direction = generator.standard_normal((runs, dimension))
        radius = generator.standard_gamma(dimension, runs)
        unit = direction * (radius / np.linalg.norm(direction, axis=1))[:, None]
        return np.asarray(unit + middle(world))

    def log_ratio(x: Array) -> Array:
        return np.asarray(np.linalg.norm(x, axis=1) - np.linalg.norm(x - centre, axis=1))

    return Target(
        name=f"exponential norm, d = {dimension}, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=log_ratio,
        noise=lambda world, x: Noise(unit=(x - middle(world))[:, None, :], law="exponential-norm"),
        largest_log_ratio=lambda generator: log_ratio(
            np.outer(1 + generator.exponential(size=8), centre)
        ),
    )


def subsampled_gaussian(mu: float, rate: float) -> Target:
    """The record is used with probability ``rate``, then Gaussian noise: an asymmetric pair."""
    checks.positive("mu", mu)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        used = (generator.random(runs) < rate) & (world is World.IN)
        return np.asarray(generator.standard_normal(runs) + mu * used)

    return Target(
        name=f"subsampled Gaussian, mu = {mu:g}, rate = {rate:g}",
        run=run,
        adjacency=Adjacency.ADD_REMOVE,
        log_ratio=lambda x: np.logaddexp(
            np.log1p(-rate), np.log(rate) + mu * np.asarray(x) - mu**2 / 2
        ),
    )
