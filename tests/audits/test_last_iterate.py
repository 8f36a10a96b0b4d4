"""Releases of which the law is known: densities, unit noise and tilted runs against scipy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from dpcalc.auditing import Target, World
from dpcalc.auditing.noise.conformance import conformance
from dpcalc.auditing.targets.gaussian_release import gaussian_release
from dpcalc.audits.instances.noisy_steps import Descent, Normal, gaussian_target
from dpcalc.errors import AssumptionViolated
from dpcalc.vocabulary import Adjacency

COVARIANCES = np.array([[[2.0, 0.3], [0.3, 0.5]], [[0.4, 0.0], [0.0, 1.5]]])
MEANS = np.array([[1.0, 0.0], [0.5, 3.0]])
SHARES = np.array([0.3, 0.7])


def target(components: Sequence[int]) -> Target:
    """One or two laws; the worlds differ in the sign of the first coordinate's mean."""
    index = np.array(components)

    def run(world: World, generator: np.random.Generator, runs: int) -> np.ndarray:
        chosen = generator.choice(index, p=SHARES[index] / SHARES[index].sum(), size=runs)
        roots = np.linalg.cholesky(COVARIANCES)[chosen]
        noise = np.einsum("rij,rj->ri", roots, generator.standard_normal((runs, 2)))
        return means(world)[chosen] + noise

    return gaussian_release(
        run,
        lambda x: np.asarray(x),
        [Normal(means(World.IN)[j], COVARIANCES[j]) for j in index],
        [Normal(means(World.OUT)[j], COVARIANCES[j]) for j in index],
        name="two laws",
        adjacency=Adjacency.REPLACE_ONE,
        shares=SHARES[index],
    )


def means(world: World) -> np.ndarray:
    return MEANS * np.array([1.0 if world is World.IN else -1.0, 1.0])


def density(world: World, components: Sequence[int], x: np.ndarray) -> np.ndarray:
    """Of the mixture, by scipy."""
    shares = SHARES[list(components)] / SHARES[list(components)].sum()
    parts = [
        share * stats.multivariate_normal(means(world)[j], COVARIANCES[j]).pdf(x)
        for share, j in zip(shares, components, strict=True)
    ]
    return np.asarray(np.sum(parts, axis=0))


BOTH = pytest.mark.parametrize("components", [(0,), (0, 1)], ids=["one law", "a mixture"])


@BOTH
def test_the_likelihood_ratio(components: Sequence[int]) -> None:
    made = target(components)
    assert made.log_ratio is not None
    x = made.run(World.IN, np.random.default_rng(1), 50)
    expected = np.log(density(World.IN, components, x) / density(World.OUT, components, x))
    np.testing.assert_allclose(made.log_ratio(x), expected, atol=1e-10)


@BOTH
@pytest.mark.parametrize("world", list(World))
def test_tilted_runs_average_to_what_untilted_ones_do(
    components: Sequence[int], world: World
) -> None:
    """E_P[g] = E_mixture[w·g]; five standard errors, 1 in 10⁶."""
    made = target(components)
    assert made.tilted is not None
    n, epsilon = 100_000, 1.0
    halves = [
        made.tilted(world, 0.8, moved, np.random.default_rng(seed), n)
        for seed, moved in enumerate((False, True))
    ]
    weighted = [
        2 / (1 + np.exp(h.log_tilt)) * np.maximum(-np.expm1(epsilon - h.log_ratio), 0)
        for h in halves
    ]
    plain = np.maximum(-np.expm1(epsilon - halves[0].log_ratio), 0)
    paired = (weighted[0] + weighted[1]) / 2
    error = 5 * np.hypot(paired.std(), plain.std()) / np.sqrt(n)
    assert abs(paired.mean() - plain.mean()) < error
    assert paired.std() < 2 * plain.std()


@BOTH
def test_unit_noise_is_standard_normal_and_half_of_it_is_not(components: Sequence[int]) -> None:
    """The noise tests' false alarms: 1 in 1,000, with a fixed seed."""
    made = target(components)
    assert made.noise is not None
    x = made.run(World.IN, np.random.default_rng(4), 4000)
    assert conformance(made.noise(World.IN, x)).passed
    middle = (MEANS[list(components)] * SHARES[list(components), None]).sum(0)
    middle = middle / SHARES[list(components)].sum()
    assert not conformance(made.noise(World.IN, middle + (x - middle) / 2)).passed


def test_a_difference_without_noise_is_refused() -> None:
    flat = np.diag([1.0, 0.0])
    with pytest.raises(AssumptionViolated, match="disclosure"):
        gaussian_release(
            lambda world, generator, runs: np.zeros((runs, 2)),
            lambda x: np.asarray(x),
            [Normal(np.array([0.0, 1.0]), flat)],
            [Normal(np.zeros(2), flat)],
            name="exposed",
            adjacency=Adjacency.REPLACE_ONE,
        )


def test_descents_run_as_their_laws_say() -> None:
    """Mean and spread of both coordinates, five standard errors."""
    descent = Descent(
        factors=np.array([0.9, 0.0, 0.7, 0.7]),
        uses=np.array([0.5, 0.2, 0.0, 0.1]),
        noise=0.3,
        offset=0.4,
        stops=(3, 3),
    )
    made = gaussian_target(descent, name="descent", adjacency=Adjacency.REPLACE_ONE)
    n = 200_000
    for world in World:
        law = descent.law(world, steps=3)
        x = made.run(world, np.random.default_rng(5), n)
        error = 5 * np.sqrt(np.diagonal(law.covariance) / n)
        assert (np.abs(x.mean(axis=0) - law.mean) < error).all()
        np.testing.assert_allclose(np.cov(x.T), law.covariance, atol=5e-3)
