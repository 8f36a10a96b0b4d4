"""Lower bounds from ratios, bets and guesses: false alarms stay at their level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpcalc.auditing.estimators import (
    eprocess,
    hockey_stick,
    importance,
    likelihood_ratio,
    one_run,
    one_run_curve,
    renyi,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.targets.target import ImportanceSample
from tests.auditing.known_losses import ALPHA, BY_NAME, CASES, MOST, S, alarms, observed


@BY_NAME
@pytest.mark.few(6)
def test_hockey_stick_from_one_world(known):
    rng = np.random.default_rng(4)
    for is_in, truth in ((True, known.forward), (False, known.backward)):
        L = known.draw(rng, is_in, (S, 100)) * (1 if is_in else -1)
        if known.name.startswith("nothing"):
            L = np.zeros_like(L)  # the exact ratio; the case's score is not one
        assert alarms(hockey_stick.chernoff(L, delta=known.delta, alpha=ALPHA), truth) <= MOST
        if known.delta > 0:
            thinned = hockey_stick.thinning(L, delta=known.delta, alpha=ALPHA, generator=rng)
            assert alarms(thinned, truth) <= MOST
            few = L[:, :25]
            assert alarms(hockey_stick.betting(few, delta=known.delta, alpha=ALPHA), truth) <= MOST


def test_thinning_has_the_exact_binomial_level():
    known = CASES[3]
    rng = np.random.default_rng(5)
    L = known.draw(rng, True, (20_000, 400))
    found = hockey_stick.thinning(L, delta=known.delta, alpha=ALPHA, generator=rng)
    k = stats.binom.isf(ALPHA, 400, known.delta) + 1
    level = stats.binom.sf(k - 1, 400, known.delta)
    assert alarms(found, known.forward) == pytest.approx(level, abs=4 * np.sqrt(level / 20_000))


@BY_NAME
@pytest.mark.few(4)
def test_likelihood_ratio_of_both_worlds(known):
    seen = observed(known, 100, 6)
    for direction, truth in ((seen, known.forward), (seen.swapped(), known.backward)):
        found = likelihood_ratio.epsilon_lower(direction, delta=known.delta, alpha=ALPHA)
        assert alarms(found, truth) <= MOST


def test_importance_sampling():
    """Gaussian pair, also with a poor tilt; exactly known ε at two δ."""
    rng = np.random.default_rng(7)
    for delta, tilt in ((1e-5, 4.4), (1e-5, 1.0), (0.1, 0.8)):
        truth = float(gaussian_pair.epsilon_of(1.0, delta))

        def drawn(a, tilt=tilt):
            L = rng.standard_normal((S, 20)) + a + 0.5
            return ImportanceSample(log_ratio=L, log_tilt=tilt * L - (tilt + tilt**2) / 2)

        largest = importance.largest_value(tilt, 1.0, truth)
        found = importance.epsilon_lower(
            drawn(0.0), drawn(tilt), delta=delta, alpha=ALPHA, largest=largest
        )
        assert alarms(found, truth) <= MOST


@BY_NAME
@pytest.mark.few(3)
def test_e_process_at_any_of_many_looks(known):
    seen = observed(known, 800, 8)
    right = np.cumsum((seen.score > 0) == seen.is_in, axis=1)
    looks = np.unique(np.geomspace(5, 800, 50).astype(int))
    clear = np.abs(seen.score) > 0.5  # a rule that passes runs over
    some = np.cumsum(clear & ((seen.score > 0) == seen.is_in), axis=1)[:, looks - 1]
    bad = np.cumsum(clear, axis=1)[:, looks - 1] - some
    wealth = eprocess.answers_log_wealth(some, bad, looks, epsilon=known.epsilon, delta=known.delta)
    assert ((wealth >= np.log(1 / ALPHA)).any(axis=1)).mean() <= ALPHA
    grown = np.exp(known.epsilon)
    allowed = [(grown + known.delta) / (1 + grown)]
    if known.mu is not None:
        allowed.append(float(ndtr(known.mu / 2)))
    for best in allowed:  # the bound exceeds the truth exactly where the truth is rejected
        wealth = eprocess.log_wealth(right[:, looks - 1], looks, best)
        assert ((wealth >= np.log(1 / ALPHA)).any(axis=1)).mean() <= ALPHA


def test_paired_e_process_scans_a_fixed_grid():
    rng = np.random.default_rng(9)
    for known in (CASES[0], CASES[3]):
        p, q = known.draw(rng, True, (S, 150)), known.draw(rng, False, (S, 150))
        found = eprocess.paired_epsilon_lower(
            p, q, delta=known.delta, alpha=ALPHA, grid=np.arange(0.02, 3, 0.02)
        )
        assert alarms(found, known.forward) <= MOST


def _looks_at_the_boundary(streams: int, looks: int, chunk: int = 500) -> float:
    """Share of streams whose e-process ever reaches 1/α when the claim is exactly true."""
    allowed = 1 / (1 + np.exp(-1))
    alarmed = 0
    rng = np.random.default_rng(10)
    for _ in range(0, streams, chunk):
        right = np.zeros(chunk)
        ever = np.zeros(chunk, bool)
        for start in range(0, looks, 500):
            answers = rng.random((chunk, 500)) < allowed
            path = right[:, None] + np.cumsum(answers, axis=1)
            wealth = eprocess.log_wealth(path, start + np.arange(1, 501), allowed)
            ever |= (wealth >= np.log(1 / ALPHA)).any(axis=1)
            right = path[:, -1]
        alarmed += int(ever.sum())
    return alarmed / streams


def test_e_process_looked_at_after_every_run():
    assert _looks_at_the_boundary(1000, 2000) <= ALPHA


@pytest.mark.campaign
def test_e_process_looked_at_twenty_thousand_times():
    assert _looks_at_the_boundary(1000, 20_000) <= ALPHA


@pytest.mark.parametrize(
    ("delta", "mechanism"), [(0.0, "response"), (1e-5, "gaussian"), (0.0, "no")]
)
def test_one_run(delta, mechanism):
    """m = 400 canaries, 60 guesses; bounds are worked out once per number of right guesses."""
    rng = np.random.default_rng(11)
    m, r = 400, 60
    included = rng.random((S, m)) < 0.5
    if mechanism == "response":
        told = np.where(rng.random((S, m)) < 1 / (1 + np.exp(-1)), included, ~included)
        score, truth, mu = told + 1e-6 * rng.random((S, m)), 1.0, None
    else:
        mu = 1.0 if mechanism == "gaussian" else 0.0
        score = rng.standard_normal((S, m)) + mu * included
        truth = float(gaussian_pair.epsilon_of(mu, delta)) if mu else 0.0
    order = np.argsort(score, axis=1)
    sorted_in = np.take_along_axis(included, order, axis=1)
    right = (~sorted_in[:, : r // 2]).sum(axis=1) + sorted_in[:, -(r // 2) :].sum(axis=1)
    lower, curve = {}, {}
    for v in np.unique(right):
        guesses = Guesses(canaries=m, guessed=r, correct=int(v))
        lower[v] = one_run.epsilon_lower(guesses, delta=delta, alpha=ALPHA)
        curve[v] = one_run_curve.mu_lower(guesses, alpha=ALPHA)
    assert alarms([lower[v] for v in right], truth) <= MOST
    if mu is not None:
        assert alarms([curve[v] for v in right], mu) <= MOST
    if mechanism == "response":
        assert alarms([lower[v] for v in right], truth) > 0.005  # and it is tight


def test_renyi_bounds():
    """μ = 1 has ρ = ½; randomised response has at most ε²/2 = ½ too, reached at order 1 only."""
    rng = np.random.default_rng(12)
    for known in (CASES[4], CASES[0]):
        counts = observed(known, 500, 13).counts(0.0)
        assert alarms(renyi.rho_lower(counts, alpha=ALPHA), 0.5) <= MOST
        L = known.draw(rng, True, (S, 12))
        assert alarms(renyi.rho_lower_density(L, cut=3.5, alpha=ALPHA), 0.5) <= MOST
