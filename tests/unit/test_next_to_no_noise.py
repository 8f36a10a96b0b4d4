"""Noise that hides next to nothing: an answer at the largest loss, in bounded time and memory."""

from __future__ import annotations

import pytest

from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees.objective_perturbation import moved_noise


@pytest.mark.parametrize("largest", [1e6, 2e6, 1e9])
def test_losses_that_no_memory_holds_the_cells_of_are_bounded_by_the_largest(largest):
    """At 1e9 the cells took all memory there was; a Chernoff bound alone is above the largest loss."""
    found = moved_noise(largest, 4, largest).bracket(1e-6)
    assert largest * (1 - 1e-6) <= found.upper <= largest


def test_a_plan_of_too_many_cells_says_so():
    pair = ExponentialNorm(1e7, 4)
    plan = plan_cells(pair, pair.truncation_interval(1e-280), 1.0)
    with pytest.raises(NumericalFailure, match="cells"):
        plan.edges(2000)
