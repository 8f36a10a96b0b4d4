"""Lower bounds on mechanisms of exactly known privacy loss: false alarms stay at their level.

Every case repeats a whole experiment 2,000 times in one batch. A bound at level α = 0.05 may exceed
the truth in at most α + 3·√(α(1-α)/2000) = 6.5 per cent of them; for a bound whose true level is α
a case would fail by chance once in 740 seeds, and the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from dpcalc.auditing.coin_game import CoinGame, coin_game
from dpcalc.auditing.estimators import (
    abstention,
    accuracy,
    clopper_pearson,
    rule_choice,
)
from dpcalc.auditing.estimators.rule_choice import chosen_rule
from dpcalc.auditing.estimators.rules import Rule
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Counts, Observations
from tests.auditing.known_losses import (
    ALPHA,
    BY_NAME,
    CASES,
    MOST,
    Known,
    S,
    _gauss,
    alarms,
    observed,
)


@BY_NAME
@pytest.mark.few(4)
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
@pytest.mark.few(3)
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
@pytest.mark.few(2)
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
    assert pilots == {(60, 30)}


def test_a_rule_does_not_know_how_many_places_found_no_score(monkeypatch):
    """Their number tells which kind ran out, and so on which side the coins fell."""
    asked = []

    def chosen(pilot, *, counted, **terms):
        asked.append(counted)
        return chosen_rule(pilot, counted=counted, **terms)

    monkeypatch.setattr("dpcalc.auditing.coin_game.chosen_rule", chosen)
    score = np.arange(40.0)
    pilot = Observations(is_in=score > 20, score=score)
    for missing in (0, 3):
        places = Observations(is_in=score[missing:] > 20, score=score[missing:], fair_coins=True)
        game = CoinGame(pilot=pilot, places=places, missing=missing)
        game.oriented(delta=0.0, alpha=ALPHA, curve=False)
    assert asked == [40] * 4


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
