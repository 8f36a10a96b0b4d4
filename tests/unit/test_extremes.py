"""Counts and noise at the ends of what a double holds get an answer, and a sound one."""

from __future__ import annotations

import math

import pytest

from dpcalc.accounting.composition import bracket_epsilon
from dpcalc.accounting.losses import GaussianLoss, LaplaceLoss
from dpcalc.guarantees import GDP, RDP, ApproxDP, PureDP
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.guarantees.mechanisms import exponential_norm, laplace, poisson_subsampled_gaussian


@pytest.mark.parametrize("count", [1029, 1030, 1100, 2000])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-30])
def test_approximate_rounds_that_never_fail_compose_like_pure_ones(
    count: int, delta: float
) -> None:
    """Oracle: the binomial sum in exact arithmetic behind pure rounds; (1, 0)-DP is 1-DP."""
    found = compose((ApproxDP(1.0, 0.0), count)).bracket(delta)
    exact = compose((PureDP(1.0), count)).epsilon(delta)
    assert found.lower <= exact * (1 + 1e-14)
    assert exact <= found.upper <= exact * (1 + 1e-6)


@pytest.mark.parametrize("count", [10**18, 10**20, 10**30])
def test_counts_beyond_the_whole_numbers_of_a_processor_are_composed(count: int) -> None:
    together = compose((PureDP(0.1), count), GDP(0.1))
    alone = compose((PureDP(0.1), count))
    found = together.epsilon(1e-6)
    assert alone.epsilon(1e-6) <= found < math.inf


def test_a_release_without_noise_leaves_nothing_of_a_renyi_guarantee() -> None:
    together = compose(RDP.from_points({2.0: 0.1, 4.0: 0.3}), GDP(math.inf))
    assert together.epsilon(1e-6) == math.inf
    assert together.delta(100.0) == 1.0


def test_a_loss_beyond_all_measure_is_not_integrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took 14 s, with warnings of overflow; warnings are errors here."""

    def evaluated(*_: object) -> None:
        raise AssertionError("nodes were evaluated")

    monkeypatch.setattr("dpcalc.accounting.contour.nodes.Nodes._evaluate", evaluated)
    found = bracket_epsilon([(GaussianLoss(0.4), 3), (LaplaceLoss(1e20, 1e20), 12)], 1e-6)
    assert 1.2e21 * (1 - 1e-9) <= found.upper <= 1.3e21


def test_a_loss_beyond_all_measure_that_is_certain_shifts_the_rest() -> None:
    found = compose((GDP(0.4), 3), (PureDP(99999999999999999999.1), 12)).epsilon(1e-6)
    assert 1.2e21 * (1 - 1e-14) <= found <= 1.2e21 * (1 + 1e-12)


@pytest.mark.few(4, each="dimension")
@pytest.mark.parametrize("dimension", [2, 10, 1001])
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-12, 1e-8, 1e-7, 1e155, 1e300])
def test_noise_in_a_ball_has_an_answer_at_any_scale(scale: float, dimension: int) -> None:
    """Neither memory, nor time, nor a logarithm of zero: at most the sum of pure bounds."""
    law = exponential_norm(scale, dimension, "add-remove")
    found = compose((law, 3)).bracket(1e-6)
    assert found.upper <= 3 / scale * (1 + 1e-9)
    assert found.upper >= 2.9 / scale or scale > 1
    assert law.epsilon(0.0) >= 1 / scale


@pytest.mark.parametrize("epsilon", [1e308, 1e300])
@pytest.mark.few(1)
def test_delta_at_the_largest_doubles_is_answered_without_a_warning(epsilon: float) -> None:
    """Warnings are errors here; an order times such an ε is no double."""
    sampled = poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    for parts in (
        ((sampled, 100),),
        ((sampled, 1),),
        ((laplace(2.0, "add-remove"), 3), (GDP(1), 1)),
    ):
        found = compose(*parts)
        assert compose(*parts).delta(epsilon) <= 5e-324
        deltas = found.deltas((epsilon, 1.0)) if isinstance(found, Composition) else (0.0,)
        assert deltas[0] <= 1e-200
    failing = compose((ApproxDP(1.0, 1e-6), 3), GDP(1.0)).delta_bracket(epsilon)
    assert failing.lower <= 2.999997000001e-6 <= failing.upper
    assert failing.lower >= 2.9999e-6
    assert failing.upper <= 3.0001e-6
