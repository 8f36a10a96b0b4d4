"""Every bound at fixed counts or samples against values computed elsewhere, to 1e-4."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcalc.auditing.estimators import (
    accuracy,
    bayesian,
    clopper_pearson,
    eprocess,
    hockey_stick,
    importance,
    likelihood_ratio,
    one_run,
    one_run_curve,
    renyi,
)
from dpcalc.auditing.estimators.binomial import (
    at_least,
    chance_for_power,
    critical_count,
    lower_limit,
    quantile,
    upper_limit,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Counts, Observations
from dpcalc.auditing.targets.target import ImportanceSample

ALPHA = 0.05


def rectangle(fp: int, n_out: int, fn: int, n_in: int) -> Counts:
    return Counts.of(n_in - fn, fn, fp, n_out - fp)


RECTANGLES = [
    ((5, 500, 250, 500), 2.97758, 2.97755, 1.87976),
    ((0, 500, 0, 500), 4.90559, None, 4.87931),
    ((0, 5000, 4000, 5000), 5.54618, None, 2.29793),
]


@pytest.mark.parametrize(("cells", "pure", "approx", "mu"), RECTANGLES)
def test_clopper_pearson(cells, pure, approx, mu):
    counts = rectangle(*cells)
    assert clopper_pearson.epsilon_lower(counts, delta=0, alpha=ALPHA) == pytest.approx(
        pure, abs=1e-5
    )
    assert clopper_pearson.mu_lower(counts, alpha=ALPHA) == pytest.approx(mu, abs=1e-5)
    if approx:
        found = clopper_pearson.epsilon_lower(counts, delta=1e-5, alpha=ALPHA)
        assert found == pytest.approx(approx, abs=1e-5)


@pytest.mark.parametrize(
    ("cells", "expected"), [((5, 500, 250, 500), 3.2352), ((0, 5000, 4000, 5000), 6.2546)]
)
def test_bayesian_estimate(cells, expected):
    found = bayesian.epsilon_estimate(rectangle(*cells), delta=1e-5, alpha=ALPHA)
    assert found == pytest.approx(expected, abs=1e-4)


def test_renyi_from_error_rates():
    """At order 1.5 the anchor; the bound is the best order's, found on a finer grid here."""
    counts = rectangle(5, 500, 250, 500)
    p, q = 1 - stats.beta.ppf(0.975, 251, 250), stats.beta.ppf(0.975, 6, 495)
    anchor = renyi.coin_divergence(np.array(p), np.array(q), np.array(1.5)) / 1.5
    assert anchor == pytest.approx(1.18081, abs=1e-5)
    orders = np.linspace(1.001, 10, 20_000)
    exact = np.log(p**orders * q ** (1 - orders) + (1 - p) ** orders * (1 - q) ** (1 - orders))
    best = (exact / (orders - 1) / orders).max()
    found = float(renyi.rho_lower(counts, alpha=ALPHA))
    assert best * (1 - 1e-3) < found <= best * (1 + 1e-9)


def test_accuracy():
    mu = accuracy.mu_lower(692, 1000, alpha=ALPHA)
    assert mu == pytest.approx(0.86377, abs=1e-5)
    assert gaussian_pair.epsilon_of(mu, 1e-5) == pytest.approx(3.6975, abs=1e-4)
    p = stats.beta.ppf(ALPHA, 692, 309)
    assert accuracy.epsilon_lower(692, 1000, delta=1e-3, alpha=ALPHA) == pytest.approx(
        np.log((p - 1e-3) / (1 - p)), rel=1e-9
    )


@pytest.mark.parametrize(("n", "expected"), [(1000, 3.173), (10_000, 3.669), (100_000, 4.020)])
def test_hockey_stick_of_quantiles(n, expected):
    """Log-ratios of the Gaussian pair at evenly spaced quantiles."""
    L = 0.5 + stats.norm.ppf((np.arange(n) + 0.5) / n)
    found = float(hockey_stick.chernoff(L, delta=1e-5, alpha=ALPHA))
    assert found == pytest.approx(expected, abs=1e-3)
    # the reported ε is where the defining inequality turns
    mean = np.maximum(1 - np.exp(found - L), 0).mean()
    kl = mean * np.log(mean / 1e-5) + (1 - mean) * np.log((1 - mean) / (1 - 1e-5))
    assert n * kl == pytest.approx(np.log(1 / ALPHA), rel=1e-6)


ONE_RUN = [
    ((1000, 100, 100), (3.49297, 3.46538, 3.20230), 1.2255),
    ((1000, 100, 80), (0.95839, 0.95532, 0.92561), 0.3643),
    ((1000, 1000, 650), (0.50820, 0.50795, None), 0.2601),
]


@pytest.mark.parametrize(("cells", "epsilons", "mu"), ONE_RUN)
def test_one_run(cells, epsilons, mu):
    guesses = Guesses(canaries=cells[0], guessed=cells[1], correct=cells[2])
    for delta, expected in zip((0.0, 1e-5, 1e-4), epsilons, strict=True):
        if expected:
            found = one_run.epsilon_lower(guesses, delta=delta, alpha=ALPHA)
            assert found == pytest.approx(expected, abs=1e-5)
    assert one_run_curve.mu_lower(guesses, alpha=ALPHA) == pytest.approx(mu, abs=1e-4)


def test_one_run_scans_upward_past_no_accepted_point():
    """Below the reported ε every ε is rejected, on a grid five times finer than the scan's."""
    guesses = Guesses(canaries=100_000, guessed=200, correct=190)
    found = one_run.epsilon_lower(guesses, delta=1e-5, alpha=ALPHA)
    below = np.arange(0, found, 0.004)
    assert (one_run.p_value(guesses, below, 1e-5) <= ALPHA).all()
    assert one_run.p_value(guesses, np.array(found + 1e-6), 1e-5) > ALPHA


def test_one_run_curve_of_an_approximate_claim_agrees_with_its_own_bound():
    """At ε = 0 the (0, 0) curve is refuted exactly when chance guessing is too unlikely."""
    for correct in (50, 60, 75):
        guesses = Guesses(canaries=100, guessed=100, correct=correct)
        curve = one_run_curve.approximate_inverse_blow_up(0.0, 0.0)
        refuted = bool(one_run_curve.refutes(guesses, curve, alpha=ALPHA))
        assert not refuted or one_run.p_value(guesses, np.array(0.0), 0.0) <= ALPHA


EPSILONS = [(0.5, 1e-5, 1.993091), (1, 1e-5, 4.377178), (2, 1e-5, 9.997256), (1, 1e-6, 4.886554)]


@pytest.mark.parametrize(("mu", "delta", "epsilon"), EPSILONS)
def test_gaussian_pair(mu, delta, epsilon):
    assert gaussian_pair.epsilon_of(mu, delta) == pytest.approx(epsilon, abs=1e-6)
    assert gaussian_pair.mu_of(epsilon, delta) == pytest.approx(mu, abs=1e-6)
    assert gaussian_pair.delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-5)


def test_binomial_limits_against_scipy_stats():
    k, n = np.arange(0, 51), 50
    np.testing.assert_allclose(
        upper_limit(k[:-1], n, 0.01), stats.beta.ppf(0.99, k[:-1] + 1, n - k[:-1]), rtol=1e-9
    )
    np.testing.assert_allclose(
        lower_limit(k[1:], n, 0.01), stats.beta.ppf(0.01, k[1:], n - k[1:] + 1), rtol=1e-9
    )
    assert upper_limit(n, n, 0.01) == 1
    assert lower_limit(0, n, 0.01) == 0
    np.testing.assert_allclose(at_least(k, n, 0.3), stats.binom.sf(k - 1, n, 0.3), rtol=1e-10)
    assert at_least(51, 50, 0.3) == 0
    assert critical_count(50, 0.3, 0.05) == int(stats.binom.isf(0.05, 50, 0.3)) + 1
    chances = np.array([1e-9, 0.2, 0.97])
    np.testing.assert_array_equal(quantile(0.9, 50, chances), stats.binom.ppf(0.9, 50, chances))
    chance = chance_for_power(30, 50)
    assert stats.binom.sf(29, 50, chance) == pytest.approx(0.8)
    assert chance_for_power(51, 50) == np.inf


def test_thinning_is_the_kth_largest():
    generator = np.random.default_rng(5)
    L = generator.normal(0.5, 1, 4000)
    u = np.random.default_rng(6).random(4000)
    k = next(k for k in range(4001) if stats.binom.sf(k - 1, 4000, 1e-3) <= ALPHA)
    expected = np.sort(L + np.log1p(-u))[::-1][k - 1]
    found = hockey_stick.thinning(L, delta=1e-3, alpha=ALPHA, generator=np.random.default_rng(6))
    assert found == pytest.approx(expected)


def test_a_run_with_infinite_ratio_has_no_finite_epsilon():
    L = np.full(100, np.inf)
    assert hockey_stick.chernoff(L, delta=1e-3, alpha=ALPHA) == np.inf
    assert hockey_stick.chernoff(L[:1], delta=0, alpha=ALPHA) == np.inf


def test_likelihood_ratio_inversion_against_its_definition():
    """The smallest ε that is accepted, on a grid of ε."""
    generator = np.random.default_rng(3)
    is_in = generator.random(300) < 0.5
    score = np.where(is_in, 1.0, -1.0) + generator.normal(size=300) * 1.5
    seen = Observations(is_in=is_in, score=score, fair_coins=True, exact=True)
    found = float(likelihood_ratio.epsilon_lower(seen, delta=1e-3, alpha=0.5))

    def accepted(eps: float) -> bool:
        p = lower_limit((score[is_in] > eps).sum(), is_in.sum(), 0.25)
        q = upper_limit((score[~is_in] > eps).sum(), (~is_in).sum(), 0.25)
        return bool(p - np.exp(eps) * q <= 1e-3)

    assert found > 0
    assert not any(accepted(e) for e in np.linspace(0, found - 1e-9, 2000))
    assert accepted(found + 1e-9)


def test_accuracy_e_process_is_the_mixture_of_products():
    answers = np.random.default_rng(1).random(40) < 0.8
    allowed = 0.6
    products = [np.prod(1 + c / allowed * (answers - allowed)) for c in eprocess.STAKES]
    found = eprocess.log_wealth(answers.sum(), 40, allowed)
    assert np.exp(found) == pytest.approx(np.mean(products))
    lower = float(eprocess.accuracy_lower(answers.sum(), 40, alpha=ALPHA))
    assert np.exp(eprocess.log_wealth(answers.sum(), 40, lower)) == pytest.approx(20, rel=1e-6)


def test_paired_e_process_is_the_mixture_of_products():
    generator = np.random.default_rng(2)
    x, y = generator.random(30) < 0.7, generator.random(30) < 0.1
    scale = np.e + 0.01
    bets = x - np.e * y - 0.01
    products = [np.prod(1 + c / scale * bets) for c in eprocess.STAKES]
    found = eprocess.paired_log_wealth(x, y, epsilon=1.0, delta=0.01)
    assert np.exp(found) == pytest.approx(np.mean(products))


def test_importance_weights_average_to_the_hockey_stick():
    """Mean of wY over both halves is δ(ε), whatever the tilt."""
    generator, mu, n = np.random.default_rng(8), 0.7, 400_000
    for tilt in (0.3, 2.0):
        unit = generator.standard_normal((2, n))
        unit[1] += tilt * mu
        L = mu * unit + mu**2 / 2
        w = 2 / (1 + np.exp(tilt * L - (tilt + tilt**2) * mu**2 / 2))
        for eps in (0.5, 1.5):
            values = w * np.maximum(1 - np.exp(eps - L), 0)
            error = 5 * values.std() / np.sqrt(2 * n)  # five standard errors: 1 in 10⁶
            assert abs(values.mean() - gaussian_pair.delta_of(mu, eps)) < error


def test_importance_sampling_from_few_runs():
    generator, mu, n = np.random.default_rng(4), 1.0, 150
    tilt, aimed = importance.chosen_tilt(mu**2, 1e-5)
    assert aimed == pytest.approx(4.377178, abs=1e-5)

    def drawn(a: float) -> ImportanceSample:
        L = mu * (generator.standard_normal(n) + a * mu) + mu**2 / 2
        return ImportanceSample(log_ratio=L, log_tilt=tilt * L - (tilt + tilt**2) * mu**2 / 2)

    found = importance.epsilon_lower(
        drawn(0.0),
        drawn(tilt),
        delta=1e-5,
        alpha=ALPHA,
        largest=importance.largest_value(tilt, mu**2, aimed),
    )
    assert 0.9 * 4.377178 < found < 4.377178


def test_mean_lower_inverts_its_bets():
    values = np.random.default_rng(7).beta(2, 3, 500)
    found = float(renyi.mean_lower(values, alpha=ALPHA))
    assert 0.9 * values.mean() < found < values.mean()
