"""Whatever the parameters: an answer or a clear refusal, never nan, attained <= certified."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.errors import AssumptionViolated, DpcalcError
from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility
from dpcalc.theorems.convergence.dual_averaging_convergence import DualAveragingConvergence
from dpcalc.theorems.convergence.gradient_admm_utility import GradientADMMUtility
from dpcalc.theorems.convergence.m_admm_convergence import MADMMConvergence
from dpcalc.theorems.convergence.m_admm_rate import MADMMRate
from dpcalc.theorems.convergence.private_recycled_admm_sample_complexity import (
    PrivateRecycledADMMSampleComplexity,
)
from dpcalc.theorems.convergence.recycled_admm_convergence import RecycledADMMConvergence

WIDE = st.floats(1e-6, 1e6)
TAME = st.floats(1e-3, 1e3)


def up_to(largest: float) -> st.SearchStrategy[float]:
    """Zero, or a size that units are chosen for."""
    return st.just(0.0) | st.floats(1e-9, largest)


GRAPHS = st.sampled_from(["ring:3", "ring:4", "complete:5", "star:4", "path:3", "complete:2"])


def answers(result):
    """Claimed (or None), certified and attained; all values are numbers."""
    try:
        claimed = result.claimed().value
    except AssumptionViolated:
        claimed = None
    certified, attained = result.certified(), result.attained()
    for rate in (certified, attained):
        if rate is not None:
            assert not math.isnan(rate.value)
    if attained is not None:
        assert attained.value <= certified.value * (1 + 1e-9)
    return claimed, certified.value, attained


@given(GRAPHS, WIDE, st.floats(0.9, 1.5), st.none() | WIDE, st.booleans())
def test_m_admm_convergence(graph, start, factor, step, quadratic):
    result = MADMMConvergence(
        graph=graph, penalty=f"{start!r}:{factor!r}", dual_step=step, quadratic=quadratic
    )
    _, certified, _ = answers(result)
    assert certified in (0.0, math.inf)


@given(GRAPHS, st.lists(TAME, min_size=5, max_size=5), TAME, st.lists(TAME, min_size=5, max_size=5))
def test_m_admm_on_quadratics(graph, penalties, step, curvatures):
    nodes = MADMMConvergence(graph=graph, penalty=1).graph.nodes
    result = MADMMConvergence(
        graph=graph,
        penalty=[penalties[:nodes]],
        dual_step=step,
        curvature=curvatures[:nodes],
    )
    _, certified, _ = answers(result)
    if step < 2 * min(penalties[:nodes]):
        assert certified == 0
    rate = result.certified().numbers.get("contraction")
    assert rate is None or 0 < rate < 1


@given(GRAPHS, WIDE, WIDE, WIDE, st.floats(1, 100))
def test_m_admm_rate(graph, penalty, step, low, condition):
    result = MADMMRate(
        graph=graph,
        penalty=penalty,
        dual_step=step,
        strong_convexity=low,
        smoothness=low * condition,
    )
    _, certified, _ = answers(result)
    assert certified <= 1 or certified == math.inf


@given(GRAPHS, st.lists(WIDE, min_size=5, max_size=5), st.booleans(), up_to(1e6), WIDE)
def test_recycled_admm(graph, penalties, own, gamma, smoothness):
    nodes = MADMMConvergence(graph=graph, penalty=1).graph.nodes
    penalty = [penalties[:nodes]] if own else penalties[0]
    result = RecycledADMMConvergence(
        graph=graph, penalty=penalty, proximal_weight=gamma, smoothness=smoothness
    )
    answers(result)
    if result.graph.bipartite and not own:
        with pytest.raises(AssumptionViolated):  # (i)-(ii) cannot hold on a bipartite network
            result.claimed()


@given(WIDE, TAME, TAME, WIDE, up_to(1e3), st.integers(1, 200), TAME)
def test_dp_admm(a, penalty, step, smoothness, sigma, rounds, distance):
    result = DPADMMUtility(
        matrix=a,
        dimension=3,
        penalty=penalty,
        step_size=step,
        smoothness=smoothness,
        distance=distance,
        sigma=sigma,
        rounds=rounds,
    )
    claimed, certified, _ = answers(result)
    if claimed is not None and smoothness <= 1:
        assert certified <= claimed * (1 + 1e-9)


@given(TAME, TAME, st.none() | TAME, TAME, TAME, up_to(10), st.integers(1, 200), TAME)
def test_gradient_admm(a, penalty, step, smoothness, distance, sigma, rounds, bound):
    result = GradientADMMUtility(
        matrix=a,
        dimension=2,
        penalty=penalty,
        step_size=step,
        smoothness=smoothness,
        distance=distance,
        gradient_bound=bound,
        sigma=sigma,
        rounds=rounds,
    )
    claimed, certified, _ = answers(result)
    assert certified <= claimed * (1 + 1e-9)


@given(GRAPHS, WIDE, WIDE, up_to(1e3), st.integers(1, 300), up_to(3), up_to(50))
def test_dual_averaging(graph, mu, bound, sigma, rounds, power, prox):
    result = DualAveragingConvergence(
        graph=graph,
        strong_convexity=mu,
        subgradient_bound=bound,
        dimension=4,
        sigma=sigma,
        rounds=rounds,
        weight_power=power,
        prox_weight=prox,
        prox_distance=1,
    )
    claimed, certified, _ = answers(result)
    assert 0 < certified <= claimed * (1 + 1e-9)


@given(TAME, TAME, st.floats(1e-12, 0.999), st.integers(2, 50), st.integers(1, 50), WIDE, WIDE)
def test_records(norm, tolerance, delta, nodes, dimension, weight, rate):
    try:
        result = PrivateRecycledADMMSampleComplexity(
            reference_norm=norm,
            tolerance=tolerance,
            failure_probability=delta,
            n_nodes=nodes,
            dimension=dimension,
            loss_weight=weight,
            noise_rate=rate,
            constant=1,
            slack=1,
        )
    except DpcalcError:
        return
    _, certified, _ = answers(result)
    assert certified > 0
    assert result.replace(noise_rate=rate * 2).certified().value <= certified * (1 + 1e-6)
