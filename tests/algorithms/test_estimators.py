"""The estimators pass scikit-learn's own checks and spend what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpcalc.algorithms.problems.builtin import classification, regression
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.estimators import (
    ADMMClassifier,
    ADMMRegressor,
    AveragingClassifier,
    NetworkClassifier,
)
from dpcalc.guarantees.composition import compose

SMALL = (
    NetworkClassifier(rounds=2, delta=0.0),
    ADMMClassifier(rounds=3),
    ADMMRegressor(rounds=3),
    AveragingClassifier(rounds=3),
)


@parametrize_with_checks(list(SMALL))
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


CLASSIFIERS = [
    *(
        NetworkClassifier(method=method, random_state=1)
        for method in ("dual-variable-perturbation", "penalty-perturbation", "private-r-admm")
    ),
    ADMMClassifier(random_state=1),
    ADMMClassifier(accelerated=True, rounds=20, random_state=1),
    AveragingClassifier(random_state=1),
]


def kind_of(model):
    return type(model).__name__


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: repr(m)[:60])
def test_a_classifier_learns_for_its_budget(model):
    """Seeded; generous budget, so that a sign error or noise out of scale shows."""
    records = classification(4000, 4)
    model = model.set_params(epsilon=4.0, delta=1e-5)
    model.fit(records.features, np.where(records.labels > 0, "yes", "no"))
    assert model.budget_ == {"epsilon": 4.0, "delta": 1e-5}
    assert 0.99 * 4 < model.certified_ <= 4
    assert model.claimed_ is None or model.claimed_ > 0
    assert model.adjacency_ == str(model.plan_.adjacency) != ""
    assert model.release_ == model.plan_.release.value
    assert set(model.predict(records.features)) == {"no", "yes"}
    score = model.score(records.features, np.where(records.labels > 0, "yes", "no"))
    assert score > 0.72  # the noiseless optimum has about 0.80
    assert any("data" in text for text in model.promises_)
    assert "set without a look at these records" in model.promises_[-1]


def test_a_regressor_learns_for_its_budget():
    records = regression(4000, 4)
    model = ADMMRegressor(epsilon=4.0, delta=1e-5, label_bound=3.0, random_state=1)
    model.fit(records.features, 10 + records.labels)  # clipped to 3: nothing to learn
    assert model.predict(records.features).mean() == pytest.approx(3, abs=0.4)
    model.fit(records.features, records.labels)
    assert model.score(records.features, records.labels) > 0.7


def test_rows_are_brought_to_a_public_bound():
    """Ten times longer rows with ten times the bound give the same predictions, bit for bit."""
    records = classification(500, 3)
    one = ADMMClassifier(rounds=5, random_state=1).fit(records.features, records.labels)
    ten = ADMMClassifier(rounds=5, random_state=1, row_bound=16.0)
    ten.fit(16 * records.features, records.labels)
    np.testing.assert_allclose(ten.coef_ * 16, one.coef_)
    np.testing.assert_allclose(ten.intercept_, one.intercept_)


def test_without_an_intercept_the_origin_is_undecided():
    records = classification(500, 3)
    model = ADMMClassifier(rounds=5, fit_intercept=False).fit(records.features, records.labels)
    assert model.decision_function(np.zeros((1, 3)))[0] == 0


def test_without_a_seed_two_fits_differ_and_with_one_they_agree():
    records = classification(500, 3)

    def coefficients(seed):
        model = NetworkClassifier(rounds=2, random_state=seed)
        return model.fit(records.features, records.labels).coef_

    assert not np.array_equal(coefficients(None), coefficients(None))
    np.testing.assert_array_equal(coefficients(7), coefficients(7))


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (ADMMClassifier(delta=0.0), InvalidInput),
        (ADMMClassifier(epsilon=-1.0), InvalidInput),
        (NetworkClassifier(method="admm"), InvalidInput),
        (NetworkClassifier(nodes=1), InvalidInput),
        (NetworkClassifier(epsilon=0.01, delta=0.0, penalty=1e-6), Infeasible),
        (ADMMClassifier(random_state="x"), InvalidInput),
        (ADMMClassifier(row_bound=0.0), InvalidInput),
    ],
)
def test_what_cannot_be_done_is_said(model, error):
    records = classification(300, 3)
    with pytest.raises(error):
        model.fit(records.features, records.labels)


@pytest.mark.parametrize(
    ("label", "shown"), [(0.0, "0.0"), (1, "1"), ("no", "'no'"), (True, "True")]
)
def test_a_single_class_is_named_as_it_was_given(label, shown):
    with pytest.raises(InvalidInput, match=rf"got one class, {shown}: with it alone"):
        ADMMClassifier().fit(classification(30, 3).features, np.full(30, label))


def test_a_refusal_names_what_was_given():
    records = classification(300, 3)
    with pytest.raises(InvalidInput, match=r"^row_bound needs a finite number above 0; got row_b"):
        ADMMClassifier(row_bound=0.0).fit(records.features, records.labels)
    words = np.where(records.labels > 0, "yes", "no")
    with pytest.raises(
        InvalidInput, match=r"got labels such as '(yes|no)'; for classes take ADMMC"
    ):
        ADMMRegressor().fit(records.features, words)


def test_the_certified_epsilon_is_that_of_the_calibrated_theorem():
    records = classification(400, 3)
    model = NetworkClassifier(epsilon=0.7, delta=0.0, rounds=3).fit(
        records.features, records.labels
    )
    assert model.plan_.certified().guarantee.epsilon(0.0) == model.certified_ <= 0.7
    assert math.isfinite(model.plan_.noise_level())


def three_classes(records=3000, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.8, 0.0], [-0.4, 0.7], [-0.4, -0.7]])
    codes = rng.integers(0, 3, records)
    return centres[codes] + 0.25 * rng.normal(size=(records, 2)), np.array(["a", "b", "c"])[codes]


@pytest.mark.parametrize(
    "model", [ADMMClassifier(), AveragingClassifier(), NetworkClassifier(rounds=20)], ids=kind_of
)
def test_several_classes_share_one_budget(model):
    """Three fits on the same records: composed they spend the budget, alone each far less."""
    X, y = three_classes()
    model = model.set_params(epsilon=2.0, delta=1e-6, row_bound=1.5, random_state=1).fit(X, y)
    one = model.plan_.certified().guarantee
    assert model.coef_.shape == (3, 2)
    assert model.decision_function(X).shape == (3000, 3)
    assert compose((one, 3)).epsilon(1e-6) == pytest.approx(model.certified_, rel=1e-6)
    assert 1.8 < model.certified_ <= 2.0
    assert one.epsilon(1e-6) < 1.5
    assert model.score(X, y) > 0.9  # the noiseless models have 0.96
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()


def test_pure_budgets_of_several_classes_add_up():
    X, y = three_classes(600)
    model = NetworkClassifier(epsilon=3.0, delta=0.0, row_bound=1.5, random_state=1).fit(X, y)
    assert 3 * model.plan_.certified().guarantee.epsilon(0.0) == pytest.approx(model.certified_)
    assert 2.9 < model.certified_ <= 3.0


def test_models_of_one_fit_share_no_noise():
    """Labels that say nothing: what the models learn is their noise."""
    X, y = np.zeros((90, 2)), np.repeat(["a", "b", "c"], 30)
    model = ADMMClassifier(rounds=5, random_state=1).fit(X, y)
    assert len({tuple(row) for row in np.round(model.coef_, 9)}) == 3


def test_probabilities_are_those_of_the_logistic_model():
    records = classification(500, 3)
    model = ADMMClassifier(rounds=5, random_state=1).fit(records.features, records.labels)
    scores = model.decision_function(records.features)
    found = model.predict_proba(records.features)
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(records.features)), found)
    assert not hasattr(ADMMClassifier(loss="smoothed-hinge"), "predict_proba")
    assert not hasattr(AveragingClassifier(), "predict_proba")
    assert hasattr(AveragingClassifier(loss="logistic"), "predict_proba")


def test_sparse_rows_give_the_model_of_dense_ones():
    from scipy.sparse import csr_array

    records = classification(500, 3)
    X = np.where(np.abs(records.features) > 0.3, records.features, 0.0) * 2
    dense = ADMMClassifier(rounds=5, random_state=1).fit(X, records.labels)
    sparse = ADMMClassifier(rounds=5, random_state=1).fit(csr_array(X), records.labels)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X))
