"""Many fits, one budget: what is spent adds up, stops when it is gone, and is told afterwards."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_matrix
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.calibration import smallest_noise
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.estimators import (
    ADMMClassifier,
    NetworkClassifier,
    PrivateSearchCV,
    SharedAccountant,
)
from dpcalc.estimators.search import _runs, largest_mu
from dpcalc.guarantees import GDP, PureDP
from dpcalc.guarantees.selection import RandomSelection, stop_for
from dpcalc.training import prepared_run

RECORDS = classification(600, 3)
X, Y = RECORDS.features, RECORDS.labels
FOLDS = KFold(3)


def model(budget, **settings):
    given = {"epsilon": 0.5, "delta": 1e-6, "rounds": 3, "random_state": 1} | settings
    return ADMMClassifier(accountant=budget, **given)


def mu_of(fitted):
    return fitted.plan_.certified().guarantee.mu


def test_a_grid_search_spends_all_of_its_fits():
    """Three values, three folds, one refit: ten fits. μ adds up in squares, by hand."""
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    search = GridSearchCV(model(budget), {"l2": [0.0, 1e-3, 1e-2]}, cv=FOLDS).fit(X, Y)
    best = search.best_estimator_
    assert budget.releases == 10
    assert best.budget_ == {"epsilon": 0.5, "delta": 1e-6}
    assert best.certified_ == budget.epsilon_spent() > 0.5
    assert best.certified_ == pytest.approx(GDP(10**0.5 * mu_of(best)).epsilon(1e-6), rel=1e-3)
    assert any("folds by position" in text for text in best.promises_)


def test_folds_and_repetitions_look_for_their_noise_once(monkeypatch):
    """Another budget, number of records or of rounds has another noise; what is kept is the noise found."""
    asked = []

    def counted(*given):
        asked.append(given)
        return smallest_noise(*given)

    monkeypatch.setattr(prepared_run, "smallest_noise", counted)
    prepared_run._smallest.cache_clear()
    for _ in range(2):
        cross_val_score(model(None), X, Y, cv=FOLDS)
    assert len(asked) == 1
    changes = ({"epsilon": 0.6}, {"delta": 1e-5}, {"rounds": 4}, {"row_bound": 0.5}, {})
    noises = [model(None, **change).fit(X, Y).plan_.sigma for change in changes]
    assert len({*noises}) == 4  # rows are divided by their bound
    assert len(asked) == 1 + 4
    prepared_run._smallest.cache_clear()
    assert model(None).fit(X, Y).plan_.sigma == noises[-1]


def test_folds_that_name_their_records_compose_in_parallel():
    """A record is in two folds of three and in the refit: seven fits of ten."""
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    search = GridSearchCV(model(budget), {"l2": [0.0, 1e-3, 1e-2]}, cv=FOLDS)
    search.fit(X, Y, records=np.arange(len(Y)))
    mu = mu_of(search.best_estimator_)
    assert budget.releases == 10
    assert budget.epsilon_spent() == pytest.approx(GDP(7**0.5 * mu).epsilon(1e-6), rel=1e-3)


def test_disjoint_records_cost_what_the_dearest_costs():
    """By brute force over the records, with the charges that hold no names on top."""
    rng = np.random.default_rng(0)
    budget, squares = SharedAccountant(epsilon=50.0, delta=1e-6), np.zeros(9)
    for mu in (0.5, 0.7, 0.2, 0.4, 0.3):
        seen = rng.choice(9, size=4, replace=False)
        budget.charge(GDP(mu), seen)
        squares[seen] += mu**2
    budget.charge(GDP(0.6))
    expected = GDP((squares.max() + 0.36) ** 0.5).epsilon(1e-6)
    assert budget.epsilon_spent() == pytest.approx(expected, rel=1e-12)


def test_it_stops_when_the_budget_is_gone():
    budget = SharedAccountant(epsilon=0.8, delta=1e-6)
    one = model(budget)
    one.fit(X, Y)
    spent = budget.epsilon_spent()
    clone(one).fit(X, Y)
    with pytest.raises(Infeasible, match="after 2 releases"):
        clone(one).fit(X, Y)
    assert budget.releases == 2
    assert spent < budget.epsilon_spent() <= 0.8
    refused = clone(one)
    with pytest.raises(Infeasible):
        refused.fit(X, Y)
    assert not hasattr(refused, "coef_")
    assert not hasattr(refused, "certified_")


def test_cross_validation_is_charged_to_what_the_clones_share():
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    cross_val_score(model(budget), X, Y, cv=KFold(4))
    assert budget.releases == 4
    for twin in (clone(model(budget)), copy.deepcopy(model(budget))):
        assert twin.accountant is budget
    with pytest.raises(InvalidInput, match="n_jobs=1"):
        pickle.dumps(model(budget))


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_search_beyond_the_budget_stops_only_if_told_to_raise():
    """As the page on running says of ``error_score``."""
    asked = {"epsilon": [0.3, 2.0]}

    def search(**how):
        budget = SharedAccountant(epsilon=1.0, delta=1e-6)
        return GridSearchCV(model(budget), asked, cv=KFold(2), refit=False, **how)

    with pytest.warns(FitFailedWarning, match="Infeasible"):
        found = search().fit(X, Y)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [False, True]
    with pytest.raises(Infeasible):
        search(error_score="raise").fit(X, Y)


@pytest.mark.parametrize(
    "records", [[0, 0, 1], [0.5, 1.5, 2.0], np.zeros((3, 1), int), ["a", "b", "c"]]
)
def test_records_are_different_whole_numbers(records):
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="records needs"):
        budget.charge(GDP(0.1), records)
    with pytest.raises(InvalidInput, match="records needs"):
        model(budget).fit(X, Y, records=records)
    assert budget.releases == 0


def test_guarantees_of_other_neighbours_are_refused():
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    budget.charge(PureDP(0.1).under("replace-one"))
    with pytest.raises(InvalidInput):
        budget.charge(PureDP(0.1).under("add-remove"))
    assert budget.releases == 1
    with pytest.raises(InvalidInput, match="SharedAccountant"):
        model(3.0).fit(X, Y)


def test_a_private_search_spends_its_budget_once_and_tells_nothing_else():
    budget = SharedAccountant(epsilon=3.0, delta=1e-6)
    search = PrivateSearchCV(
        ADMMClassifier(rounds=3),
        {"step_size": [4.0, 1e-6], "l2": [0.0, 1e-3]},
        epsilon=2.0,
        delta=1e-6,
        accountant=budget,
        random_state=3,
    ).fit(X, Y)
    assert budget.releases == 1
    assert 1.99 < search.certified_ <= 2.0
    assert search.best_estimator_.certified_ < 2.0
    assert set(search.best_params_) == {"step_size", "l2"}
    assert search.predict(X).shape == Y.shape
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    assert search.private_release_ is False
    told = {name for name in vars(search) if name.endswith("_")}
    assert told == {
        "best_estimator_", "best_params_", "best_score_", "budget_", "adjacency_", "classes_",
        "guarantee_", "n_features_in_", "private_release_", "promises_",
    }  # fmt: skip


def test_a_private_search_finds_the_better_candidate():
    """Of steps that learn and steps that do not; 40 searches' worth of trials, seeded."""
    found = [
        PrivateSearchCV(
            ADMMClassifier(rounds=5), {"step_size": [4.0, 1e-9]}, epsilon=8.0, expected=6.0, random_state=s
        ).fit(X, Y).best_params_["step_size"]
        for s in range(8)
    ]  # fmt: skip
    assert found.count(4.0) >= 6  # one trial alone, the wrong one, has probability 0.18


@pytest.mark.parametrize(
    "settings",
    [
        {"candidates": {}},
        {"candidates": {"l2": []}},
        {"candidates": {"epsilon": [1.0, 9.0]}},
        {"expected": 1.0},
        {"held_out": 0.0},
        {"delta": 0.0},
        {"law": "poisson"},
        {"estimator": NetworkClassifier(rounds=1), "candidates": {"ridge": [0.1]}},
    ],
)
def test_what_a_private_search_cannot_do_is_said(settings):
    given = {"estimator": ADMMClassifier(rounds=2), "candidates": {"l2": [0.0, 1e-3]}} | settings
    with pytest.raises(InvalidInput):
        PrivateSearchCV(**given, random_state=1).fit(X, Y)


def test_a_search_is_charged_to_its_own_accountant_alone():
    """One at its estimator would be left out in silence."""
    budget = SharedAccountant(epsilon=3.0, delta=1e-6)
    given = {"candidates": {"l2": [0.0, 1e-3]}, "random_state": 1}
    with pytest.raises(InvalidInput, match="expected the accountant that pays at the search"):
        PrivateSearchCV(model(budget), **given).fit(X, Y)
    assert budget.releases == 0
    other = SharedAccountant(epsilon=3.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="expected the accountant that pays at the search"):
        PrivateSearchCV(model(budget), **given, accountant=other).fit(X, Y)
    PrivateSearchCV(model(budget), **given, accountant=budget).fit(X, Y)
    assert (budget.releases, other.releases) == (1, 0)


def test_a_search_says_which_estimators_it_takes():
    given = {"candidates": {"l2": [0.0, 1e-3]}, "random_state": 1}
    with pytest.raises(InvalidInput, match=r"private classifier of this package.*got Pipeline"):
        PrivateSearchCV(make_pipeline(StandardScaler(), ADMMClassifier()), **given).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"NetworkClassifier, whose guarantee is \w+$"):
        PrivateSearchCV(NetworkClassifier(nodes=2), {"rounds": [2]}, random_state=1).fit(X, Y)
    with pytest.raises(Infeasible, match="leaves each trial an epsilon above 0; got epsilon=1e-09"):
        PrivateSearchCV(ADMMClassifier(), epsilon=1e-9, expected=2.0, **given).fit(X, Y)


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
def test_the_number_of_trials_follows_its_law(law):
    """Inversion of the exact distribution function: no draw is a matter of chance."""
    stop = stop_for(5.0, law)
    k = np.arange(1, 200)
    p = (
        (1 - stop) ** k / (k * -np.log(stop))
        if law == "logarithmic"
        else stop * (1 - stop) ** (k - 1)
    )
    upto = np.cumsum(p)
    for number in (1, 2, 3, 10, 40):
        assert _runs(stop, law, float(upto[number - 1] - 1e-9)) == number
        assert _runs(stop, law, float(upto[number - 1] + 1e-9)) == number + 1
    draws = random.Random(0)
    assert np.mean([_runs(stop, law, draws.random()) for _ in range(4000)]) == pytest.approx(
        5, rel=0.1
    )


def test_the_noise_of_a_trial_fits_the_whole_search():
    stop = stop_for(10.0)
    mu = largest_mu(1.0, 1e-6, stop, "logarithmic")
    assert RandomSelection(GDP(mu), stop).epsilon(1e-6) <= 1.0
    assert RandomSelection(GDP(1.001 * mu), stop).epsilon(1e-6) > 1.0
    with pytest.raises(Infeasible):
        largest_mu(1e-12, 1e-6, stop, "logarithmic")


def test_an_accountant_that_is_exchanged_after_a_fit_does_not_change_what_was_spent():
    """It would say 0, or forget the fits before the last, where it were asked of the parameter."""
    alone = model(None).fit(X, Y)
    spent = alone.certified_
    assert alone.set_params(accountant=SharedAccountant(4.0, 1e-6)).certified_ == spent > 0
    budget = SharedAccountant(epsilon=4.0, delta=1e-6)
    twice = model(budget).fit(X, Y).fit(X, Y)
    total = budget.epsilon_spent()
    assert twice.certified_ == total > spent
    assert twice.set_params(accountant=None).certified_ == total
    assert pickle.loads(pickle.dumps(twice)).certified_ == total  # noqa: S301 - our own
    model(budget).fit(X, Y)
    assert twice.certified_ == budget.epsilon_spent() > total


def test_the_best_model_of_a_search_says_what_the_search_cost():
    """A trial costs less: its own numbers hold for nobody who sees which of all trials was best."""
    search = PrivateSearchCV(model(None), {"l2": [0.0, 1e-3]}, expected=2, random_state=0).fit(X, Y)
    best = search.best_estimator_
    assert best.certified_ == search.certified_ == search.guarantee_.epsilon(1e-6)
    assert best.guarantee_ == search.guarantee_
    assert best.budget_ == {"epsilon": 1.0, "delta": 1e-6}
    charged = SharedAccountant(4.0, 1e-6)
    search.set_params(accountant=charged)
    assert search.certified_ == best.certified_ > 0
    search.fit(X, Y)
    assert search.certified_ == search.best_estimator_.certified_ == charged.epsilon_spent()


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_budget_in_shorter_floats_is_kept_in_doubles(kind):
    """1.0005 is no more than a float16's 1 where they are compared as such."""
    assert model(None, epsilon=kind(1)).fit(X, Y).certified_ <= 1


def test_a_search_takes_the_rows_and_seeds_that_an_estimator_takes():
    seeds = [np.random.RandomState(1), np.random.RandomState(1), np.random.default_rng(1)]
    kinds = [coo_matrix, csc_matrix, coo_matrix]
    scores = [
        PrivateSearchCV(model(None), {"l2": [0.0]}, expected=2, random_state=seed)
        .fit(kind(X), Y)
        .best_score_
        for seed, kind in zip(seeds, kinds, strict=True)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"step_size": 0}, "step_size needs"), ({"fit_intercept": "no"}, "fit_intercept needs")],
)
def test_a_parameter_that_says_nothing_is_refused_by_name(given, said):
    with pytest.raises(InvalidInput, match=said):
        model(None, **given).fit(X, Y)
