"""Utilities of private methods: what they choose, assume and refuse."""

from __future__ import annotations

import math

import pytest

from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility
from dpcalc.theorems.convergence.recycled_admm_convergence import RecycledADMMConvergence
from tests.unit.convergence_examples import example


def test_noise_of_other_nodes_counts():
    key = "private-recycled-admm-sample-complexity"
    unequal = example(key, noise_rate=[3, 3, 3, 3, 0.2])
    assert unequal.failing_proof() is not None
    assert unequal.certified().value > example(key).certified().value
    assert example(key, noise_rate=0.01).certified().value == math.inf
    with pytest.raises(InvalidInput, match="noise_rate"):
        example(key, noise_rate=[1, 2])


def test_dp_admm_chooses_rounds_for_a_budget():
    given = {"sigma": None, "rounds": None, "n_records": 32561, "gradient_bound": 1}
    free = example("dp-admm-utility", **given, epsilon=1, delta=1e-3)
    best = free.certified()
    for rounds in (1, 100, 10**5, 10**7):
        fixed = free.replace(rounds=rounds)
        assert fixed.certified().value >= best.value
        assert fixed.claimed().value >= free.claimed().value
    for split in (0.1, 0.5, 0.9):
        assert free.replace(split=split).certified().value >= best.value * (1 - 1e-9)
    t, sigma = best.numbers["rounds"], best.numbers["sigma"]
    mu = best.numbers["split"]
    alpha = math.log(1e3) / (1 - mu) + 1
    assert sigma == pytest.approx(math.sqrt(alpha * t / (2 * 32561**2 * mu)))


def test_conditions_of_the_dp_admm_claim():
    for changes, match in (
        ({"step_size": 0.6}, "1/smoothness"),
        ({"proximal_weight": 1}, "proximal_weight"),
        ({"dual_start": "zero"}, "dual-start data"),
        ({"matrix": [[1, 1], [2, 2]], "dimension": 2}, "linearly independent"),
    ):
        with pytest.raises(AssumptionViolated, match=match):
            example("dp-admm-utility", **changes).claimed()
    for changes, match in (
        ({"dimension": None}, "dimension"),
        ({"matrix": [[1, 2]], "dimension": 3}, "columns"),
        ({"sigma": None}, "budget"),
        ({"rounds": None}, "needs rounds"),
        ({"matrix": 0}, "not 0"),
    ):
        with pytest.raises(InvalidInput, match=match):
            example("dp-admm-utility", **changes)


def test_dp_admm_bounds_by_hand():
    instance = DPADMMUtility(
        matrix=2,
        dimension=3,
        penalty=0.5,
        step_size=0.1,
        smoothness=4,
        distance=2,
        sigma=0.3,
        rounds=10,
        proximal_weight=1.5,
    )
    noise = 0.1 * 0.09 * 3
    start = (1.5 - 0.05 * 4) / 0.2 + 0.5 * 4 / 2 + 4 / (2 * 0.5 * 4)
    assert instance.claimed().value == pytest.approx(start * 4 / 10 + noise)
    corrected = 1.5 / 0.2 + 16 / (2 * 0.5 * 4)
    assert instance.certified().value == pytest.approx(corrected * 4 / 10 + noise / 1.5)
    zero = instance.replace(dual_start="zero", multiplier_norm=3.0).certified().value
    assert zero == pytest.approx((1.5 * 4 / 0.2 + 9 / (2 * 0.5)) / 10 + noise / 1.5)
    by_gradient = instance.replace(dual_start="zero", gradient_bound=3.0).certified().value
    assert by_gradient == pytest.approx((1.5 * 4 / 0.2 + (3 / 2) ** 2) / 10 + noise / 1.5)
    noised = instance.replace(dual_start="noised").certified().value
    extra = 3 / 4 * 0.09 / (2 * 0.5) / 10
    assert noised == pytest.approx(instance.certified().value + extra)
    assert instance.replace(dual_start="zero").certified().value == math.inf
    assert instance.replace(step_size=0.9).certified().value == math.inf


def test_dual_averaging_needs_one_network():
    for changes in ({"graph": None}, {"second_singular_value": 0.5}):
        with pytest.raises(InvalidInput, match="exactly one"):
            example("dual-averaging-rate", **changes)
    given = example("dual-averaging-rate", graph=None, second_singular_value=0.9)
    assert given.beta() == 0.9
    assert given.nodes == 1
    more = given.replace(n_nodes=10)
    assert more.nodes == 10
    by_matrix = example(
        "dual-averaging-rate", graph=None, mixing_matrix=[[0.7, 0.3], [0.3, 0.7]], rounds=10
    )
    assert by_matrix.beta() == pytest.approx(0.4)
    assert by_matrix.nodes == 2
    with pytest.raises(InvalidInput, match="n_nodes"):
        example("dual-averaging-rate", n_nodes=3)
    with pytest.raises(InvalidInput, match="below 1"):
        example("dual-averaging-rate", graph=None, mixing_matrix=[[0, 1], [1, 0]])
    with pytest.raises(InvalidInput, match="rounds"):
        example("dual-averaging-rate", rounds=10**9)
    with pytest.raises(InvalidInput, match="weight_power"):
        example("dual-averaging-convergence", weight_power=1e6)


def test_dual_averaging_utility_conditions():
    with pytest.raises(AssumptionViolated, match="epsilon"):
        example("dual-averaging-utility", epsilon=2).claimed()
    with pytest.raises(InvalidInput, match="delta"):
        example("dual-averaging-utility", delta=0)
    assert example("dual-averaging-utility", epsilon=2).certified().value > 0


def test_gradient_admm_chooses_its_step():
    free = example("gradient-admm-utility")
    for step in (1e-3, 0.02, 0.05, 0.3, 1.0):
        fixed = free.replace(step_size=step)
        assert fixed.certified().value >= free.certified().value * (1 - 1e-9)
        assert fixed.claimed().value >= free.claimed().value * (1 - 1e-9)
    unbounded = free.replace(gradient_bound=None)
    assert unbounded.replace(step_size=2.0).certified().value == math.inf
    with pytest.raises(AssumptionViolated, match="second moment"):
        unbounded.claimed()
    with pytest.raises(AssumptionViolated, match="noise-in gradient"):
        free.replace(noise_in="state").claimed()
    for changes, match in (
        ({"gradient_bound": None, "gradient_deviation": None}, "gradient_bound"),
        ({"dimension": None}, "dimension"),
        ({"matrix": [[1, 2]]}, "columns"),
    ):
        with pytest.raises(InvalidInput, match=match):
            example("gradient-admm-utility", **changes)


def test_recycled_admm_follows_its_tables():
    instance = RecycledADMMConvergence(
        graph="complete:3",
        penalty=[[1, 2, 3], [2, 3, 4]],
        proximal_weight=50,
        smoothness=1,
        rounds=2,
    )
    assert instance.attained() is None  # the limit of changing penalties is not known
    with pytest.raises(InvalidInput, match="rows"):
        instance.replace(rounds=3)
