"""Defaults come from public numbers alone, and estimators learn by them."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import split
from dpcalc.cli._meant import LAST_ALONE
from dpcalc.estimators import ADMMClassifier, ADMMRegressor, AveragingClassifier, NetworkClassifier
from dpcalc.theorems.parameters import parameters
from dpcalc.training.catalogue import method, methods
from dpcalc.training.defaults import (
    SHORT,
    accelerated_rounds,
    averaging_rounds,
    looks,
    noise_norm,
    plain_rounds,
    proximal_weight,
    ridge,
    small_ridge,
    too_many_rounds,
)
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import prepare
from dpcalc.vocabulary import Release

CLASSIFIERS = (ADMMClassifier, AveragingClassifier, NetworkClassifier)


def survey(records: int, seed: int):
    """Answers to eight questions, one of five each, as zeros and ones; a quarter are +1."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).normal(0, 1.2, (8, 5))
    answers = rng.integers(0, 5, (records, 8))
    X = np.zeros((records, 8, 5))
    np.put_along_axis(X, answers[:, :, None], 1.0, axis=2)
    score = np.einsum("nqa,qa->n", X, truth) - truth.mean() * 8
    y = np.where(score + rng.logistic(size=records) > 2.2, "yes", "no")
    return X.reshape(records, 40), y


def inputs(model, X, y):
    codes = np.where(np.asarray(y) == y[0], 1.0, -1.0)
    return model._planned(X, codes).method.inputs()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_defaults_do_not_depend_on_the_records(kind):
    """Records of another scale, of other labels: the same settings; of another number: others."""
    X, y = survey(2000, 1)
    model = kind(delta=1e-6, row_bound=8**0.5)
    other = np.where(np.arange(2000) < 3, "yes", "no")
    assert inputs(model, X, y) == inputs(model, 1e-3 * X[::-1], other)
    assert inputs(model, X, y) != inputs(model, X[:1000], y[:1000])
    assert inputs(model, X, y) != inputs(kind(epsilon=2.0, row_bound=8**0.5), X, y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_it_beats_the_majority_at_a_small_budget(kind):
    """ε = .5, 20,000 records; seeded. The majority is right for 75.9 % of those held out."""
    (X, y), (X_test, y_test) = survey(20_000, 1), survey(20_000, 2)
    model = kind(epsilon=0.5, delta=1e-6, row_bound=8**0.5, random_state=3).fit(X, y)
    assert model.certified_ <= 0.5
    assert model.score(X_test, y_test) > (y_test == "no").mean() + 0.02


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_large_budget_costs_next_to_nothing(kind):
    from sklearn.linear_model import LogisticRegression

    (X, y), (X_test, y_test) = survey(3000, 1), survey(20_000, 2)
    best = LogisticRegression(C=1e4, max_iter=2000).fit(X, y).score(X_test, y_test)
    model = kind(epsilon=1e4, delta=1e-6, row_bound=8**0.5, random_state=3).fit(X, y)
    assert model.score(X_test, y_test) > best - 0.005


def chosen(epsilon, **given):
    """What dual averaging takes for 20,000 records of 40 columns and a constant."""
    model = AveragingClassifier(**given)
    return model._method(20_000, 41, Budget(epsilon, 1e-6)).inputs()


def test_gradients_are_taken_at_means_where_rounds_would_not_suffice():
    """By the budget and the network; what is asked for is had."""
    plain = chosen(1e4, gradients_at="iterates")
    for given in ({}, {"nodes": 3}, {"nodes": 10, "graph": "complete"}):
        found = chosen(1e4, **given)
        assert found["gradients_at"] == "averages"
        assert 400 < found["rounds"] < plain["rounds"] / 2 == 8000
        assert found["proximal"] == pytest.approx(2.0, rel=2e-3)
    for epsilon, given in (
        (1.0, {}),
        (1e4, {"nodes": 5}),
        (1e4, {"nodes": 3, "graph": "star"}),
        (1e4, {"sampling": "one"}),
    ):
        assert chosen(epsilon, **given)["gradients_at"] == "iterates"
    assert chosen(1.0, gradients_at="averages")["gradients_at"] == "averages"


def test_a_fit_says_which_conditions_of_gradients_at_means_are_not_met():
    X, y = survey(300, 1)
    settings = {"epsilon": 1.0, "delta": 1e-6, "row_bound": 3.0, "rounds": 5, "random_state": 1}
    model = AveragingClassifier(**settings).fit(X, y)
    assert model.notes_ == []
    model.set_params(gradients_at="averages", loss="logistic").fit(X, y)
    assert model.notes_ == []
    (note,) = model.set_params(nodes=4).fit(X, y).notes_
    assert note.startswith(
        "gradients_at=averages: some nodes do not hear each other. That averages"
    )


@pytest.mark.parametrize(
    ("loss", "least"), [("hinge", 2.0), ("smoothed-hinge", 2.0), ("logistic", 0.5)]
)
def test_gradients_at_means_have_steps_that_the_loss_allows(loss, least):
    """At most half of the inverse curvature, of a kink's too; more noise asks for less."""
    assert chosen(1e6, loss=loss, rounds=100)["proximal"] == least
    assert chosen(0.1, loss=loss, gradients_at="averages")["proximal"] > 2 * least


def test_columns_of_unlike_scales_are_learnt_at_a_large_budget():
    """Scales from 1 to .02: as many plain rounds lose more than twice as much (2.7 to 35 times)."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1, 0.02, 20)
    truth = 0.7 * np.random.default_rng(1).normal(size=20) / scales
    X = rng.normal(size=(6000, 20)) * scales
    y = X @ truth + rng.logistic(size=6000) > 0.8
    model = AveragingClassifier(
        epsilon=1e4, delta=1e-6, row_bound=1.3 * (scales @ scales) ** 0.5, random_state=1
    ).fit(X[:2000], y[:2000])
    best = (((X[2000:] @ truth) > 0.8) == y[2000:]).mean()
    lost = best - model.score(X[2000:], y[2000:])
    model.set_params(gradients_at="iterates", rounds=model.n_iter_).fit(X[:2000], y[:2000])
    assert lost < (best - model.score(X[2000:], y[2000:])) / 2


def test_a_regressor_needs_no_settings():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 5))
    y = X @ [0.3, -0.2, 0.1, 0, 0.25] + 0.1 + rng.normal(0, 0.05, 20_000)
    model = ADMMRegressor(epsilon=1.0, delta=1e-6, row_bound=5**0.5, random_state=1).fit(X, y)
    assert model.score(X, y) > 0.9


def test_looks_of_nodes_by_hand():
    """μ = 1 is ε = 4.37718 at δ = 1e-5: Nμ²/16 looks, which are 10 at most."""
    assert [looks(n, 999, 4.377178, 1e-5) for n in (2, 31, 33, 47, 49, 999)] == [1, 1, 2, 2, 3, 10]
    assert [looks(36, 9, e, 0.0) for e in (0.1, 3.99, 4.01, 6.01, 1e9)] == [1, 1, 2, 3, 10]
    assert looks(2, 10**6, 0.1, 0.0) == 1
    assert looks(36, 9, 6.01, 1e-9) == looks(36, 9, 6.01, 0.0) == 3  # a pure budget's noise is less


@pytest.mark.parametrize(
    ("key", "rounds"),
    [("dual-variable-perturbation", 1), ("penalty-perturbation", 1), ("private-r-admm", 2),
     ("private-mr-admm", 2), ("gaussian-mr-admm", 2)],
)  # fmt: skip
def test_nodes_look_once_at_a_small_budget_and_more_often_at_a_large_one(key, rounds):
    records = classification(300, 2)
    dealt = split(records.features, records.labels, 5)
    known = method(key).from_parameters({"penalty": 0.1})
    for epsilon, expected in ((1.0, rounds), (1e4, 10 * rounds)):
        found = known.resolved(dealt, ring(5), Budget(epsilon, 1e-6))
        assert (found.rounds, found.uses_every_round) == (expected, expected > 2)
    assert known.resolved(dealt, ring(5), None).rounds == 10 * rounds
    assert known.replace(rounds=3).resolved(dealt, ring(5), Budget(1.0, 1e-6)).rounds == 3


@pytest.mark.parametrize("key", ["penalty-perturbation", "gaussian-mr-admm"])
def test_the_model_of_a_network_is_the_mean_of_the_later_half_of_what_is_released(key):
    """Of five rounds the last three; every one of them is certified."""
    records = classification(300, 2)
    dealt = split(records.features, records.labels, 3)
    given = {"rounds": 5, "penalty": 0.1}
    models = {}
    for output in ("mean", "last"):
        chosen = method(key).from_parameters(given | {"output": output})
        ready = prepare(chosen, dealt, network=ring(3), budget=Budget(9.0, 1e-6))
        assert ready.theorem.release == Release.EVERY_ITERATE
        whole = ready.run(1, runs=2, full_release=True)
        models[output] = ready.method.weights(ready.run(1, runs=2))
        np.testing.assert_array_equal(models[output], ready.method.weights(whole))
    primal = whole["primal"]
    np.testing.assert_allclose(models["mean"], primal[:, 2:].mean(axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(models["last"], primal[:, -1].mean(axis=1), rtol=1e-12)


def test_methods_without_a_mean_are_those_that_release_the_last_iterate_alone():
    records = classification(60, 2)
    alone = set()
    for key in methods():
        kind = method(key)
        nodes = 3 if kind.distributed else 1
        network = ring(3) if kind.distributed else None
        dealt = split(records.features, records.labels, nodes)
        given = {"penalty": 0.1} if "penalty" in parameters(kind) else {}
        chosen = kind.from_parameters(given).resolved(dealt, network, Budget(1.0, 1e-6))
        theorem = chosen.theorem(dealt, network)
        if theorem is not None and theorem.release == Release.LAST_ITERATE:
            alone.add(key)
            assert not chosen.uses_every_round
            assert "output" not in chosen.inputs()
    assert alone == set(LAST_ALONE)


def test_noise_and_rounds_by_hand():
    """μ = 1 is ε = 4.37718 at δ = 1e-5 (Dong, Roth and Su 2022, by the Gaussian profile)."""
    assert noise_norm(1000, 25, 4.377178, 1e-5) == pytest.approx(0.01, rel=1e-4)
    assert noise_norm(1000, 25, 0.5, 0.0) == pytest.approx(0.1)
    assert noise_norm(1000, 2, 1.0, 1e-6, pure=True) == pytest.approx(0.004)
    assert plain_rounds(0.1, step=4.0) == 250
    assert accelerated_rounds(0.02, step=4.0) == 50
    assert (accelerated_rounds(1e9), accelerated_rounds(1e-9)) == (5, 1600)
    assert (averaging_rounds(1.0), averaging_rounds(2e-3), averaging_rounds(1e-9)) == (
        400,
        1000,
        16_000,
    )
    assert averaging_rounds(2e-4, 1.0) == 1000
    assert averaging_rounds(2e-4, 0.25) == 500
    assert (too_many_rounds(1.2e-4), too_many_rounds(1.3e-4)) == (True, False)
    assert ridge(0.1) == pytest.approx(1e-3)
    assert proximal_weight(0.1, 100) == pytest.approx(10.0)
    assert proximal_weight(1e-9, 64) == 2.0
    assert proximal_weight(1e-9, 64, 0.25) == 0.5
    assert proximal_weight(0.1, 100, 0.25) == pytest.approx(10.0)


def test_accelerated_steps_for_numbers_to_predict_are_as_short_as_their_loss_is_curved():
    """Steps of 4, right for classes, overshoot: the error was that of a constant answer."""
    rng = np.random.default_rng(11)
    chosen = np.eye(6)[rng.integers(0, 6, 3000)]
    X = np.hstack([rng.random((3000, 3)), chosen, np.ones((3000, 1))])
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = X @ np.r_[0.3, -0.3, 0.5, rng.normal(size=6) / 3, 0]
    records = split(X, y)
    budget = Budget(3.0, 1e-6)

    def ready(**given):
        return prepare(
            method("dp-acc-admm").from_parameters({"loss": "huber", **given}),
            records,
            budget=budget,
        )

    def error(found):
        model = found.method.weights(found.run(1, runs=5))
        return np.sqrt(np.mean((X @ model.T - y[:, None]) ** 2))

    found = ready()
    assert found.method.step_size == 1
    noise = noise_norm(3000, 10, 3.0, 1e-6)
    assert found.method.rounds == accelerated_rounds(noise, 1.0, 2 * SHORT)
    assert found.method.l2 == small_ridge(noise)
    assert error(found) < 0.3 * np.std(y) < 0.5 * error(ready(rounds=30, step_size=4.0, l2=1e-3))
    fixed = ready(rounds=7, step_size=0.5, l2=0.0).method
    assert (fixed.rounds, fixed.step_size, fixed.l2) == (7, 0.5, 0.0)
    without = method("dp-acc-admm").from_parameters({"loss": "huber"}).resolved(records, None, None)
    assert (without.rounds, without.step_size, without.l2) == (100, 1.0, 1e-3)


@pytest.mark.parametrize("loss", ["logistic", "smoothed-hinge"])
def test_accelerated_settings_for_classes_are_the_same_for_all_records(loss):
    asked = method("dp-acc-admm").from_parameters({"loss": loss})
    for budget in (None, Budget(3.0, 1e-6)):
        found = asked.resolved(classification(50, 4), None, budget)
        assert (found.rounds, found.step_size, found.l2) == (30, 4.0, 1e-3)
