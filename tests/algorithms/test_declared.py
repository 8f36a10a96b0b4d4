"""Own losses and regularisers: what is declared falsely is refused, what holds is run."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pytest

from dpcalc.algorithms.problems import declared, losses, regularisers
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import split
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.estimators import ADMMClassifier, AveragingClassifier
from dpcalc.training.catalogue import method
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class Square(losses.Loss):
    """√(1 + (1 - m)²) - 1 left of 1: smooth, of slope up to 1 and curvature up to 1."""

    name = "rounded"
    of_margin = True
    bound: float = 1.0
    most: float = 1.0
    least: float = 0.0
    factor: float = 1.0
    bent: float = 1.0
    sign: float = 1.0

    @property
    def derivative_bound(self):
        return self.bound

    @property
    def curvature(self):
        return self.most

    @property
    def least_curvature(self):
        return self.least

    def value(self, m):
        return self.sign * (np.hypot(1, np.maximum(1 - m, 0)) - 1)

    def derivative(self, m):
        u = np.maximum(1 - m, 0)
        return -self.sign * self.factor * u / np.hypot(1, u)

    def second_derivative(self, m):
        u = 1 - m
        return self.sign * self.bent * np.where(u > 0, np.hypot(1, u) ** -3.0, 0)


def test_a_loss_that_keeps_its_word_passes():
    declared.check_loss(Square())


@pytest.mark.parametrize(
    ("false", "needed"),
    [
        ({"bound": 0.99}, "derivative_bound"),
        ({"most": 0.9}, "curvature"),
        ({"least": 1e-3}, "least_curvature"),
        ({"factor": 0.5}, "slope of value"),
        ({"bent": 0.5}, "slope of derivative"),
        ({"sign": -1.0}, "convexity"),
    ],
)
def test_a_false_declaration_is_refused(false, needed):
    with pytest.raises(AssumptionViolated, match=needed):
        declared.check_loss(Square(**false))


class Subtracted(losses.Logistic):
    """The logistic loss with a slope whose digits cancel where it is small: 0 beyond m = 37."""

    name = "subtracted"

    def derivative(self, m):
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-m)) - 1


class Flat(Subtracted):
    """The same with a slope of 0 where it is a millionth."""

    name = "flat"

    def derivative(self, m):
        return np.where(m > 14, 0.0, super().derivative(m))


def test_a_slope_may_lose_the_digits_that_doubles_lose():
    declared.check_loss(Subtracted())
    with pytest.raises(AssumptionViolated, match="a derivative that is the slope of value"):
        declared.check_loss(Flat())


def test_an_unbounded_squared_hinge_cannot_declare_a_slope():
    class SquaredHinge(losses.SmoothedHinge):
        def value(self, m):
            return np.maximum(1 - m, 0) ** 2 / 2

        def derivative(self, m):
            return -np.maximum(1 - m, 0)

        def second_derivative(self, m):
            return (m < 1) * 1.0

    with pytest.raises(AssumptionViolated, match="derivative_bound = 1"):
        declared.check_loss(SquaredHinge())


def test_a_loss_that_overflows_is_refused():
    class Exponential(losses.Logistic):
        def value(self, m):
            return np.exp(-m)

    with pytest.raises(AssumptionViolated, match="finite number"):
        declared.check_loss(Exponential())


SHIPPED = [
    losses.Logistic(),
    losses.Hinge(),
    losses.SmoothedHinge(width=0.3),
    losses.Squared(scale=2),
    losses.Huber(width=0.7),
    losses.Linear(),
]


@pytest.mark.parametrize("loss", SHIPPED, ids=lambda loss: loss.name)
def test_shipped_losses_declare_what_holds(loss):
    class Own(type(loss)):
        """The same, from elsewhere."""

    parameters = {f.name: getattr(loss, f.name) for f in fields(loss)}
    declared.check_loss(Own(**parameters))


class OwnNet(regularisers.ElasticNet):
    """An elastic net that can be told to lie."""

    mu = None
    factor = 1.0
    affine = None

    @property
    def strong_convexity(self):
        return self.l2 if self.mu is None else self.mu

    @property
    def quadratic(self):
        return self.l1 == 0 if self.affine is None else self.affine

    def _minimiser(self, v, weight, ridge):
        return self.factor * super()._minimiser(v, weight, ridge)


class OwnBall(regularisers.Ball):
    """From elsewhere."""


@pytest.mark.parametrize(
    "own", [OwnNet(l1=0.1), OwnNet(l2=0.5), OwnNet(l1=0.1, l2=2.0), OwnBall(radius=2.0, l2=0.1)]
)
def test_shipped_regularisers_declare_what_holds(own):
    for dimension in (1, 5):
        declared.check_regulariser(own, dimension)


@pytest.mark.parametrize(
    ("false", "needed"),
    [
        ({"mu": 0.6}, "strong convexity"),
        ({"factor": 0.9}, "minimiser"),
        ({"affine": True}, "affine"),
    ],
)
def test_a_false_regulariser_is_refused(false, needed):
    own = type("Lying", (OwnNet,), false)(l1=0.1, l2=0.5)
    with pytest.raises(AssumptionViolated, match=needed):
        declared.check_regulariser(own, 4)


def records(nodes):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return split(rows, np.sign(rows[:, 0]), nodes)


@pytest.mark.parametrize("kind", ["consensus", "composite", "averaging"])
def test_every_problem_checks_the_loss(kind):
    def problem(loss):
        if kind == "composite":
            return CompositeProblem(
                records=records(1),
                loss=loss,
                regulariser=regularisers.lasso(0.1),
                constraint=copies(3),
            )
        if kind == "averaging":
            return AveragingProblem(
                records=records(4),
                network=ring(4),
                loss=loss,
                regulariser=regularisers.ridge(0.1),
            )
        return ConsensusProblem(records=records(4), network=ring(4), loss=loss, ridge=0.1)

    problem(Square())
    with pytest.raises(AssumptionViolated, match="derivative_bound"):
        problem(Square(bound=0.5))


def test_problems_check_the_regulariser():
    lying = type("Lying", (OwnNet,), {"mu": 1.0})(l2=0.5)
    with pytest.raises(AssumptionViolated, match="strong convexity"):
        CompositeProblem(
            records=records(1), loss=losses.Logistic(), regulariser=lying, constraint=copies(3)
        )
    with pytest.raises(AssumptionViolated, match="strong convexity"):
        AveragingProblem(
            records=records(4), network=ring(4), loss=losses.Logistic(), regulariser=lying
        )


def test_a_prepared_run_takes_an_own_loss_and_its_noise_follows_the_declared_slope():
    """Twice the loss has twice the slope and so twice the noise."""

    class Twice(losses.Logistic):
        @property
        def derivative_bound(self):
            return 2.0

        @property
        def curvature(self):
            return 0.5

        def value(self, m):
            return 2 * np.logaddexp(0, -m)

        def derivative(self, m):
            return -2 / (1 + np.exp(np.minimum(m, 700)))

        def second_derivative(self, m):
            s = -self.derivative(m) / 2
            return 2 * s * (1 - s)

        def derivatives(self, m, weight, bend):
            return losses.Loss.derivatives(self, m, weight, bend)

    budget = Budget(1.0, 1e-6)
    sigmas = [
        prepare(method("dp-admm").from_parameters({"loss": loss}), records(1), budget=budget)
        for loss in ("logistic", Twice())
    ]
    one, two = (ready.theorem.sigma for ready in sigmas)
    assert two == pytest.approx(2 * one, rel=1e-12)


@pytest.mark.parametrize("kind", [ADMMClassifier, AveragingClassifier])
def test_estimators_take_an_own_loss(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = x[:, 0] > 0
    model = kind(epsilon=50.0, row_bound=4.0, loss=Square(), random_state=1, rounds=30).fit(x, y)
    assert model.score(x, y) > 0.8
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AssumptionViolated, match="derivative_bound"):
        kind(epsilon=50.0, row_bound=4.0, loss=Square(bound=0.5)).fit(x, y)


@pytest.mark.parametrize(
    "made",
    [
        lambda: method("dp-admm").from_parameters({"loss": losses.Logistic}),
        lambda: ADMMClassifier(loss=losses.Logistic).fit(*labelled()),
        lambda: AveragingClassifier(loss=losses.Logistic, epsilon=1e4).fit(*labelled()),
    ],
)
def test_the_class_of_a_loss_is_told_from_a_loss(made):
    with pytest.raises(InvalidInput, match=r"got loss=Logistic; give an instance: Logistic\(\)$"):
        made()


def labelled():
    x = np.random.default_rng(0).normal(size=(40, 2))
    return x, x[:, 0] > 0
