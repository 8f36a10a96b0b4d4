"""The certified cost of an update against exact likelihood ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.numerics.rounding import extended
from dpcalc.theorems.objective_perturbation import _update
from dpcalc.theorems.objective_perturbation._update import (
    cost_of_any_loss,
    cost_of_logistic_loss,
)
from tests.oracles.objective import Node, worst_ratio


def _cost(node: Node) -> float:
    a = node.rate * node.weight
    kappa = node.weight / node.stiffness
    return float(cost_of_logistic_loss(extended([a]), extended([kappa]))[0])


def _random_node(rng: np.random.Generator, d: int) -> Node:
    others = rng.normal(size=(int(rng.integers(0, 6)), d))
    others /= np.maximum(1, np.linalg.norm(others, axis=1, keepdims=True))
    return Node(
        others=others,
        weight=float(10 ** rng.uniform(-1.5, 1)),
        stiffness=float(10 ** rng.uniform(-1.5, 1)),
        pull=rng.normal(size=d) * 10 ** rng.uniform(-2, 3),
        rate=float(10 ** rng.uniform(-1.5, 1)),
    )


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_no_likelihood_ratio_exceeds_the_certified_cost(d: int) -> None:
    rng = np.random.default_rng(100 + d)
    for _ in range(15):
        node = _random_node(rng, d)
        assert worst_ratio(node, rng, 400) <= _cost(node) * (1 + 1e-12)


def test_the_bound_is_reached_in_two_dimensions() -> None:
    """The extremal family: other records vanish, f runs to infinity along one axis."""
    node_weight, stiffness, rate = 0.5, 1.0, 1.0
    a, kappa = rate * node_weight, node_weight / stiffness
    far = 1e7
    s = _maximiser(a, kappa)
    z = np.log(1 / s - 1)  # |L'(z)| = s
    u, v = -z / far, 1e-3
    record = np.array([np.cos(u), -np.sin(u)])
    other = np.array([-np.cos(v), -np.sin(v)])
    f = np.array([0.0, far])
    # A neighbour's broadcast makes the noise a long multiple of the first axis, against f's pull.
    length = 1e9
    pull = np.array([length, -stiffness * far])
    node = Node(np.zeros((0, 2)), node_weight, stiffness, pull, rate)
    reached = node.log_ratio(f, record, other)
    assert abs(reached) == pytest.approx(_cost(node), rel=5e-3)


def _maximiser(a: float, kappa: float) -> float:
    grid = np.linspace(0.5, 1 - 1e-9, 200_001)
    return float(grid[np.argmax(a * (1 + grid) + np.log1p(kappa * grid * (1 - grid)))])


def test_logistic_cost_is_the_maximum_over_the_gradient_and_below_the_general_one() -> None:
    rng = np.random.default_rng(3)
    a, kappa = 10 ** rng.uniform(-4, 3, 2000), 10 ** rng.uniform(-4, 3, 2000)
    found = cost_of_logistic_loss(extended(a), extended(kappa))
    s = np.linspace(0, 1, 4001)
    table = a[:, None] * (1 + s) + np.log1p(kappa[:, None] * s * (1 - s))
    assert np.all(found >= table.max(axis=1) * (1 - 1e-15))
    assert np.all(found <= table.max(axis=1) * (1 + 1e-6))
    assert np.all(found <= cost_of_any_loss(extended(a), extended(kappa / 4)) * (1 + 1e-15))
    free = a >= kappa
    assert np.all(found[free] == 2 * extended(a)[free])


class _Displaced:
    """numpy, but what is clipped to [0, 1], as the maximiser is, comes out displaced."""

    def __init__(self, by: float) -> None:
        self._by = by

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def clip(self, values: Any, low: float, high: float) -> Any:
        return np.clip(np.clip(values, low, high) + self._by, low, high)


@pytest.mark.parametrize("by", [-0.1, -1e-3, 1e-3, 0.1])
@pytest.mark.parametrize(("module", "first"), [(_update, 1), (objective_perturbation, 0)])
def test_a_misplaced_maximiser_costs_width_and_never_soundness(
    monkeypatch: pytest.MonkeyPatch, module: Any, first: int, by: float
) -> None:
    """The value at any s plus the slope there is above the maximum of a concave function."""
    rng = np.random.default_rng(4)
    kappa = 10 ** rng.uniform(-3, 3, 200)
    a = kappa * rng.uniform(0.001, 0.999, 200)
    s = np.linspace(0, 1, 4001)
    exact = (a[:, None] * (first + s) + np.log1p(kappa[:, None] * s * (1 - s))).max(axis=1)
    monkeypatch.setattr(module, "np", _Displaced(by))
    if module is _update:
        found = np.asarray(_update.cost_of_logistic_loss(a, kappa))
    else:
        linked = objective_perturbation.linked_loss
        found = np.array([linked(a[i : i + 1], k, tied=True)[0] for i, k in enumerate(kappa)])
    assert np.all(found >= exact * (1 - 1e-12))


def test_dropping_the_jacobian_would_be_caught() -> None:
    """A planted bug: charging the noise densities only is below a ratio that occurs."""
    rng = np.random.default_rng(11)
    node = Node(np.zeros((0, 3)), 5.0, 0.2, np.zeros(3), 0.01)
    assert worst_ratio(node, rng, 2000) > 2 * node.rate * node.weight
