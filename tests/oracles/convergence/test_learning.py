"""The number of records against experiments: the two steps of the proof, and the noise's law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcalc.theorems.convergence._learning import Learning
from dpcalc.theorems.convergence.private_recycled_admm_sample_complexity import (
    PrivateRecycledADMMSampleComplexity,
)


def minimiser(x, lam, tilt):
    """argmin of mean log(1 + exp(-x·f)) + (λ/2)|f|² + tilt·f, Newton's method, batched."""
    runs, _, d = x.shape
    f = np.zeros((runs, d))
    for _ in range(40):
        p = 1 / (1 + np.exp(np.einsum("rnd,rd->rn", x, f)))
        slope = -np.einsum("rn,rnd->rd", p, x) / x.shape[1] + lam * f + tilt
        curved = np.einsum("rn,rnd,rne->rde", p * (1 - p), x, x) / x.shape[1] + lam * np.eye(d)
        f = f - np.linalg.solve(curved, slope[..., None])[..., 0]
    return f


@pytest.mark.parametrize("tilt", [0.0, 0.05])
def test_gap_and_distance_stay_below_their_bounds(tilt):
    # Records are drawn from a finite population, so J is exact. The mean gap stays below 2/(λn), the
    # quantiles below the bounds with probability 1 - δ.
    rng = np.random.default_rng(0)
    d, n, lam, runs, delta = 3, 40, 0.05, 400, 0.1
    b = np.full(d, tilt / np.sqrt(d))

    population = rng.normal(size=(3000, d))
    population /= np.maximum(1, np.linalg.norm(population, axis=-1, keepdims=True))
    flip = rng.random(3000) < 0.2
    population *= np.where((population[:, 0] > 0) != flip, 1, -1)[:, None]
    best = minimiser(population[None], lam, b)[0]

    def objective(f):
        loss = np.logaddexp(0, -population @ f.T).mean(0)
        return loss + lam / 2 * (f**2).sum(-1) + f @ b

    f = minimiser(population[rng.integers(3000, size=(runs, n))], lam, b)
    gap = objective(f) - objective(best[None])
    distance = np.linalg.norm(f - best, axis=-1)
    assert gap.mean() <= 2 / (lam * n)
    assert np.quantile(gap, 1 - delta) <= 2 / (lam * n * delta)
    reach = (2 + np.sqrt(2 * np.log(1 / delta))) / (lam * np.sqrt(n))
    assert np.quantile(distance, 1 - delta) <= reach
    assert np.quantile(gap, 1 - delta) <= (0.25 + lam) / 2 * reach**2
    # The expected loss against any reference.
    for reference in (best, 0.5 * best, rng.normal(size=d)):
        r = np.linalg.norm(reference)
        excess = (
            np.logaddexp(0, -population @ f.T).mean(0)
            - np.logaddexp(0, -population @ reference).mean()
        )
        assert np.all(excess <= (lam * r + tilt) ** 2 / (2 * lam) + gap + 1e-9)


def test_records_of_learning_are_monotone_and_match_the_closed_form():
    plain = Learning(reference_norm=3, tolerance=0.1, failure_probability=0.05, curvature=0.25)
    found = float(plain.records(plain.best_strength()))
    assert found == pytest.approx(4 * 9 / (0.05 * 0.1**2), rel=1e-6)  # 4R²/(δτ²) at λ = τ/R²
    tilted = Learning(
        reference_norm=3, tolerance=0.1, failure_probability=0.05, curvature=0.25, tilt=0.005
    )
    expected = 4 / (0.05 * (0.1**2 / 9 - 2 * 0.1 * 0.005 / 3))
    assert float(tilted.records(tilted.best_strength())) == pytest.approx(expected, rel=1e-6)
    hopeless = Learning(
        reference_norm=3, tolerance=0.1, failure_probability=0.05, curvature=0.25, tilt=0.1 / 6
    )
    assert float(hopeless.records(hopeless.best_strength())) == np.inf


@pytest.mark.parametrize(("nodes", "d", "alpha"), [(2, 1, 0.7), (5, 10, 2.0), (12, 3, 1.0)])
def test_the_norm_of_the_mean_noise(nodes, d, alpha):
    # ε by its definition: gamma norm, uniform direction. The bound fails with probability δ at most
    # and is of the right size; the seeded failure rate has a standard error of 0.0015.
    rng = np.random.default_rng(1)
    delta, runs = 0.1, 40_000
    direction = rng.normal(size=(runs, nodes, d))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    noise = direction * rng.gamma(d, 1 / alpha, size=(runs, nodes, 1))
    norms = np.linalg.norm(noise.sum(1), axis=-1) / (nodes * 100)
    result = PrivateRecycledADMMSampleComplexity(
        reference_norm=3,
        tolerance=0.5,
        failure_probability=delta,
        n_nodes=nodes,
        dimension=d,
        loss_weight=100,
        noise_rate=alpha,
    )
    bound = result.noise_norm()
    assert (norms > bound).mean() <= delta
    assert bound <= 2.5 * np.quantile(norms, 1 - delta)
    # The scale mixture has the law of the definition.
    variance = rng.gamma((d + 1) / 2, 2 / alpha**2, size=20_000)
    mixture = np.linalg.norm(rng.normal(size=(20_000, d)) * np.sqrt(variance)[:, None], axis=-1)
    assert stats.kstest(mixture, stats.gamma(d, scale=1 / alpha).cdf).pvalue > 1e-4
