"""Objective perturbation: what instances attain, add-remove, and many different rounds."""

from __future__ import annotations

from typing import Any

import pytest

from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.theorems.objective_perturbation.recycled_admm import RecycledADMM

SETTING = {k: v for k, v in RecycledADMM.example.items() if k != "dimension"}


def _theorem(**changes: object) -> RecycledADMM:
    return RecycledADMM.from_parameters({**SETTING, **changes})


def test_the_sum_of_the_largest_losses_is_attained_without_delta() -> None:
    attained = _theorem().attained().guarantee.epsilon(0.0)
    certified = _theorem().certified().guarantee.epsilon(0.0)
    assert certified * (1 - 1e-12) <= attained <= certified


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("dimension", [None, 1, 2, 105])
@pytest.mark.few(3)
def test_attained_is_below_certified(dimension: int | None, adjacency: str) -> None:
    theorem = _theorem(dimension=dimension, adjacency=adjacency, rounds=5)
    for delta in (1e-3, 1e-6):
        attained = theorem.attained().guarantee.bracket(delta).lower  # type: ignore[attr-defined]
        assert 0 < attained <= theorem.certified().guarantee.epsilon(delta)


def test_add_remove_costs_one_gradient_and_has_no_printed_formula() -> None:
    added = _theorem(adjacency="add-remove", dimension=105)
    assert added.certified().guarantee.epsilon(0.0) == pytest.approx(10.9375 / 2, rel=1e-12)
    assert added.certified().guarantee.epsilon(1e-6) < 0.5 * _theorem(
        dimension=105
    ).certified().guarantee.epsilon(1e-6)
    with pytest.raises(AssumptionViolated, match="replaced"):
        added.claimed()


def test_many_different_rounds_are_merged_upwards() -> None:
    """A thousand rounds whose rates hardly differ cost a little more than as many of the largest."""
    changes = {"dimension": 50, "rounds": 1000, "penalty": 1}
    each = _theorem(**changes, noise_rate="1:1.000001").certified().guarantee.epsilon(1e-6)
    first = _theorem(**changes).certified().guarantee.epsilon(1e-6)
    assert first <= each <= 1.01 * first


def test_a_dimension_beyond_the_engine_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dimension"):
        _theorem(dimension=10**8)


@pytest.mark.parametrize("dimension", [None, 10])
def test_nodes_that_cost_the_same_are_not_both_left_out(dimension: int | None) -> None:
    """Curvature is free at all three: those with two and three neighbours cost the same a round."""
    nodes: dict[str, Any] = {
        "n_records": 8000,
        "n_nodes": 3,
        "loss_weight": 1750,
        "regularization": 0.22,
        "penalty": 1,
        "rounds": 2,
        "dimension": dimension,
    }
    rates = [[1.0, 1.0, 1.5], [1.0, 1.0, 0.2]]
    together = RecycledADMM(**nodes, degree=[[2, 1, 1]], noise_rate=rates)  # type: ignore[arg-type]
    for node, degree in enumerate((2, 1, 1)):
        own = [[row[node]] for row in rates]
        alone = RecycledADMM(**nodes, degree=degree, noise_rate=own)  # type: ignore[arg-type]
        for delta in (0.0, 1e-6):
            found = together.certified().guarantee.epsilon(delta)
            assert found >= alone.certified().guarantee.epsilon(delta) * (1 - 1e-6)
