"""Lower bounds on mechanisms of exactly known privacy loss: false alarms stay at their level.

Every case repeats a whole experiment 2,000 times in one batch. A bound at level α = 0.05 may exceed
the truth in at most α + 3·√(α(1-α)/2000) = 6.5 per cent of them; for a bound whose true level is α
a case would fail by chance once in 740 seeds, and the seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import ndtr, ndtri

from dpcalc.auditing.coin_game import coin_game
from dpcalc.auditing.estimators import (
    abstention,
    accuracy,
    clopper_pearson,
    eprocess,
    hockey_stick,
    importance,
    likelihood_ratio,
    one_run,
    one_run_curve,
    renyi,
    rule_choice,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.rules import Rule
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Counts, Observations
from dpcalc.auditing.targets.target import ImportanceSample

ALPHA, S = 0.05, 2000
MOST = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / S)

Draw = Callable[[np.random.Generator, bool, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Known:
    """Log-ratios in either world, the true ε(δ) in each direction, and μ where it is Gaussian."""

    name: str
    draw: Draw
    delta: float
    forward: float
    backward: float
    mu: float | None = None

    @property
    def epsilon(self) -> float:
        return max(self.forward, self.backward)


def _laplace(rng, is_in, shape):
    x = rng.laplace(size=shape) + is_in
    return np.abs(x) - np.abs(x - 1)


def _response(rng, is_in, shape):
    return np.where((rng.random(shape) < 1 / (1 + np.exp(-1))) == is_in, 1.0, -1.0)


def _gauss(rng, is_in, shape):
    return rng.standard_normal(shape) + (0.5 if is_in else -0.5)


def _nothing(rng, is_in, shape):
    return rng.standard_normal(shape)


def _norm5(rng, is_in, shape):
    z = rng.standard_normal((*shape, 5))
    b = z * (rng.standard_gamma(5, shape) / np.linalg.norm(z, axis=-1))[..., None]
    b[..., 0] += is_in
    far = b.copy()
    far[..., 0] -= 1
    return np.linalg.norm(b, axis=-1) - np.linalg.norm(far, axis=-1)


def _atoms(rng, is_in, shape):
    """Randomised response in three runs of ten, nothing in the others."""
    return np.where(rng.random(shape) < 0.3, _response(rng, is_in, shape), 0.0)


def _mixed(rng, is_in, shape):
    """Half of the runs are randomised response, half the Laplace mechanism; which is told."""
    half = rng.random(shape) < 0.5
    return np.where(half, _response(rng, is_in, shape), _laplace(rng, is_in, shape))


RATE, SHIFT = 0.2, 2.0


def _subsampled(rng, is_in, shape):
    x = rng.standard_normal(shape) + (SHIFT * (rng.random(shape) < RATE) if is_in else 0.0)
    return np.logaddexp(np.log1p(-RATE), np.log(RATE) + SHIFT * x - SHIFT**2 / 2)


def _norm5_epsilon(delta: float) -> float:
    """E_P[(1 - e^{ε-L})_+] = δ by quadrature over radius and angle, both at their quantiles."""
    r = stats.gamma.ppf((np.arange(1500) + 0.5) / 1500, 5)[:, None]
    t = 2 * stats.beta.ppf((np.arange(1500) + 0.5) / 1500, 2, 2)[None, :] - 1
    L = np.sqrt(r**2 + 2 * r * t + 1) - r
    return optimize.brentq(lambda e: np.maximum(1 - np.exp(e - L), 0).mean() - delta, 0.0, 0.999)


def _subsampled_epsilon(delta: float, forward: bool) -> float:
    def divergence(eps):
        level = np.exp(eps) if forward else np.exp(-eps)
        if level <= 1 - RATE:
            return -delta
        t = (np.log((level - 1 + RATE) / RATE) + SHIFT**2 / 2) / SHIFT
        q, p = ndtr(-t), (1 - RATE) * ndtr(-t) + RATE * ndtr(SHIFT - t)
        return (p - np.exp(eps) * q if forward else (1 - q) - np.exp(eps) * (1 - p)) - delta

    return optimize.brentq(divergence, 1e-9, 20.0)


def _gaussian(delta):
    eps = float(gaussian_pair.epsilon_of(1.0, delta))
    return Known(f"gaussian {delta:g}", _gauss, delta, eps, eps, 1.0)


CASES = [
    Known("response", _response, 0.0, 1.0, 1.0),
    Known("laplace", _laplace, 0.0, 1.0, 1.0),
    Known("laplace 1e-5", _laplace, 1e-5, 1 + 2 * np.log1p(-1e-5), 1 + 2 * np.log1p(-1e-5)),
    _gaussian(0.1),
    _gaussian(1e-5),
    Known("norm d=5", _norm5, 0.0, 1.0, 1.0),
    Known("norm d=5 .01", _norm5, 0.01, _norm5_epsilon(0.01), _norm5_epsilon(0.01)),
    Known(
        "subsampled",
        _subsampled,
        1e-3,
        _subsampled_epsilon(1e-3, True),
        _subsampled_epsilon(1e-3, False),
    ),
    Known("atoms", _atoms, 0.0, 1.0, 1.0),
    Known("mixed", _mixed, 0.0, 1.0, 1.0),
    Known("nothing", _nothing, 0.0, 0.0, 0.0, 0.0),
    Known("nothing 1e-5", _nothing, 1e-5, 0.0, 0.0, 0.0),
]
BY_NAME = pytest.mark.parametrize("known", CASES, ids=lambda k: k.name)


def observed(known: Known, runs: int, seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    is_in = rng.random((S, runs)) < 0.5
    score = np.where(is_in, known.draw(rng, True, is_in.shape), known.draw(rng, False, is_in.shape))
    return Observations(is_in=is_in, score=score, fair_coins=True, exact=True)


def alarms(bounds, truth: float) -> float:
    return float(np.mean(np.asarray(bounds) > truth + 1e-9))


@BY_NAME
def test_clopper_pearson_with_held_out_threshold(known):
    counts, _ = clopper_pearson.held_out(observed(known, 400, 1), delta=known.delta, alpha=ALPHA)
    found = clopper_pearson.epsilon_lower(counts, delta=known.delta, alpha=ALPHA)
    assert alarms(found, known.epsilon) <= MOST
    if known.mu is not None:
        assert alarms(clopper_pearson.mu_lower(counts, alpha=ALPHA), known.mu) <= MOST


@BY_NAME
def test_accuracy(known):
    counts = observed(known, 500, 2).counts(0.0)
    found = accuracy.epsilon_lower(counts.correct, 500, delta=known.delta, alpha=ALPHA)
    assert alarms(found, known.epsilon) <= MOST
    if known.mu is not None:
        assert alarms(accuracy.mu_lower(counts.correct, 500, alpha=ALPHA), known.mu) <= MOST


@BY_NAME
def test_answers_of_a_rule_that_may_pass_runs_over(known):
    """The rule from 200 runs, the bound from 400 others."""
    seen = observed(known, 600, 14)
    trial, rest = seen.between(0, 200), seen.between(200, 600)
    rule = rule_choice.choose_rule(trial, delta=known.delta, alpha=ALPHA, counted=400)
    given = rule.answers(rest)
    terms = {"delta": known.delta, "alpha": ALPHA}
    found = abstention.epsilon_lower(given.right, given.wrong, given.runs, **terms)
    assert alarms(found, known.epsilon) <= MOST
    epsilon, mu = abstention.joint_lower(given.right, given.wrong, given.runs, **terms)
    assert alarms(epsilon, known.epsilon) <= MOST
    if known.mu is not None:
        assert alarms(mu, known.mu) <= MOST


@pytest.mark.parametrize("tail", [0.0, 1.0, 2.0])
def test_answers_at_a_fixed_margin_and_a_delta_that_matters(tail):
    """δ = .05 of the Gaussian mechanism at δ(ε) exactly: some right answers are owed to δ."""
    delta, runs = 0.05, 400
    truth = float(gaussian_pair.epsilon_of(1.0, delta))
    known = Known("gaussian .05", _gauss, delta, truth, truth, 1.0)
    seen = observed(known, runs, 15)
    rule = Rule(np.full(S, -tail), np.full(S, tail))
    given = rule.answers(seen)
    found = abstention.epsilon_lower(given.right, given.wrong, runs, delta=delta, alpha=ALPHA)
    assert alarms(found, truth) <= MOST


@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.2])
def test_right_answers_that_delta_accounts_for_refute_nothing(delta):
    """A record released with probability δ, nothing otherwise: (0, δ)-DP, and no alarm above α."""
    rng = np.random.default_rng(16)
    runs = 500
    right = rng.binomial(runs, delta, size=S)
    found = abstention.epsilon_lower(right, np.zeros(S), runs, delta=delta, alpha=ALPHA)
    assert alarms(found, 0.0) <= MOST


@pytest.mark.parametrize("name", ["response", "atoms", "mixed", "laplace", "gaussian 0.1"])
def test_recorded_scores_as_a_game_with_coins(name):
    """Fixed numbers of runs of each kind; 1,000 games of 150 against 200 scores."""
    known = next(case for case in CASES if case.name == name)
    rng = np.random.default_rng(17)
    repeated = 1000
    first, second = known.draw(rng, True, (repeated, 150)), known.draw(rng, False, (repeated, 200))
    found = []
    for seed, (one, other) in enumerate(zip(first, second, strict=True)):
        game = coin_game(one, other, pilot_share=0.2, fair_coins=False, seed=seed)
        game, rule = game.oriented(delta=known.delta, alpha=ALPHA, curve=False)
        given = game.answers(rule)
        terms = {"delta": known.delta, "alpha": ALPHA}
        if rule.abstains:
            bound = abstention.epsilon_lower(given.right, given.wrong, given.runs, **terms)
        else:
            bound = accuracy.epsilon_lower(given.right, given.runs, **terms)
        found.append(float(bound))
    assert alarms(found, known.epsilon) <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / repeated)


def test_the_coins_of_a_game_leave_no_trace_in_its_pilot():
    """A rule chosen on what the coins left over would know how many heads there were."""
    first, second = np.arange(150.0), np.arange(1000.0, 1290.0)
    pilots, heads = set(), set()
    for seed in range(40):
        game = coin_game(first, second, pilot_share=0.2, fair_coins=False, seed=seed)
        pilots.add((game.pilot.runs, int(game.pilot.is_in.sum())))
        heads.add(int(game.places.is_in.sum()))
        assert not set(game.pilot.score) & set(game.places.score)
        assert (game.places.is_in == (game.places.score < 500)).all()
    assert len(heads) > 5
    ((runs, with_record),) = pilots
    assert with_record == 30
    assert runs > 60  # scores of the frequent kind beyond all places are of use


def test_the_rectangle_of_a_rule_that_is_turned_round():
    """Randomised response told the wrong way: both rectangles together stay within α."""
    rng = np.random.default_rng(18)
    for epsilon in (0.0, 1.0):
        truth = 1 / (1 + np.exp(epsilon))
        tp, fp = rng.binomial(300, truth, S), rng.binomial(300, 1 - truth, S)
        counts = Counts(
            true_positives=tp, false_negatives=300 - tp, false_positives=fp, true_negatives=300 - fp
        )
        found = clopper_pearson.epsilon_lower(counts, delta=0.0, alpha=ALPHA)
        assert alarms(found, epsilon) <= MOST
        assert alarms(clopper_pearson.mu_lower(counts, alpha=ALPHA), -2 * ndtri(truth)) <= MOST


def test_accuracy_spends_all_of_its_alpha_where_it_is_tight():
    """Randomised response and the Gaussian curve: real false alarms near the nominal five per cent."""
    for known, bound in ((CASES[0], "epsilon"), (CASES[4], "mu")):
        correct = observed(known, 1000, 3).counts(0.0).correct
        found = (
            accuracy.epsilon_lower(correct, 1000, delta=0.0, alpha=ALPHA)
            if bound == "epsilon"
            else accuracy.mu_lower(correct, 1000, alpha=ALPHA)
        )
        assert 0.03 < alarms(found, 1.0) <= MOST


@BY_NAME
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
