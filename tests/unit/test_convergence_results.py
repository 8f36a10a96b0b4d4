"""Every convergence result: its example, its claim's conditions, its free constants, its findings."""

from __future__ import annotations

import math

import pytest

from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.report.rates import comparison
from dpcalc.theorems.catalogue import family, keys, result, results
from dpcalc.theorems.convergence._base import ConvergenceResult
from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility
from dpcalc.theorems.convergence.m_admm_convergence import MADMMConvergence
from dpcalc.theorems.convergence.m_admm_rate import MADMMRate
from dpcalc.theorems.convergence.recycled_admm_convergence import RecycledADMMConvergence

KEYS = keys(privacy=False)


def example(key, **changes):
    kind = result(key)
    given = {k: v for k, v in {**kind.example, **changes}.items() if v is not None}
    return kind.from_parameters(given)


def test_all_results_of_the_family_are_here():
    assert KEYS == [
        "dp-admm-utility",
        "dual-averaging-consensus",
        "dual-averaging-convergence",
        "dual-averaging-rate",
        "dual-averaging-utility",
        "gradient-admm-utility",
        "m-admm-convergence",
        "m-admm-rate",
        "private-recycled-admm-sample-complexity",
        "recycled-admm-convergence",
        "recycled-admm-sample-complexity",
    ]
    assert {family(key) for key in KEYS} == {"convergence"}
    assert sum(issubclass(kind, ConvergenceResult) for kind in results()) == len(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_examples_have_a_claim_and_a_certificate(key):
    instance = example(key)
    claimed, certified, attained = instance.claimed(), instance.certified(), instance.attained()
    assert claimed.value >= 0
    assert certified.value >= 0
    if attained is not None:
        assert attained.value <= certified.value
    assert certified.method
    assert claimed.method
    assert instance.quantity
    assert instance.replace() == instance
    for name, value in instance.inputs().items():
        assert isinstance(value, bool | int | float | str | None), name


@pytest.mark.parametrize("key", KEYS)
def test_promises_can_be_attested(key):
    promises = [a.key for a in result(key).assumptions if a.promised]
    instance = result(key).from_parameters(result(key).example, attest=promises)
    assert not [a for a in instance.assumptions if a.promised and a.key not in instance.attest]
    with pytest.raises(InvalidInput, match="attestation"):
        result(key).from_parameters(result(key).example, attest=["no-such-promise"])


def test_numbers_of_the_triangle():
    # The largest δ of (21)-(22) and of (23), both with the best μ.
    instance = example("m-admm-rate")
    assert instance.claimed().numbers["delta"] == pytest.approx(0.249, abs=5e-4)
    numbers = instance.certified().numbers
    assert numbers["delta_printed_conditions"] == pytest.approx(0.00353, abs=5e-6)
    assert numbers["delta"] == pytest.approx(0.005, rel=1e-4)
    assert comparison(instance)["verdict"] == "REFUTED"
    # The same by hand: at the vector 1 only the matrix of the proof vanishes.
    mu = numbers["split"]
    by_hand = 0.02 / ((mu**2 * 1e-4) / (1.5 * (mu - 1)) + 4)
    assert numbers["delta"] == pytest.approx(min(by_hand, 1.5 / (4 * mu**2)), rel=1e-9)


def test_free_constants_of_the_rate_can_be_fixed():
    best = example("m-admm-rate").certified().numbers["delta"]
    for split in (1.01, 1.5, 2.0, 10.0, 1e6):
        fixed = example("m-admm-rate", split=split).certified()
        assert fixed.numbers["split"] == split
        assert fixed.numbers["delta"] <= best * (1 + 1e-9)
    with pytest.raises(InvalidInput, match="above 1"):
        example("m-admm-rate", split=1)


def test_no_rate_for_own_penalties():
    instance = example("m-admm-rate", penalty=[[1, 2, 4]])
    assert instance.certified().value == math.inf
    assert instance.claimed().value < 1
    assert instance.attained() is None
    record = comparison(instance)
    assert record["verdict"] == "UNSUPPORTED"
    assert record["reason"].startswith("the published proof fails, nothing decides the claim")


def test_rounds_with_growing_penalties_multiply_with_their_ratio():
    one = example("m-admm-rate", penalty=2).certified().numbers["delta"]
    grown = MADMMRate(
        graph="complete:3",
        penalty=[[1], [2]],
        dual_step=0.5,
        strong_convexity=0.01,
        smoothness=0.01,
        rounds=2,
    )
    first = example("m-admm-rate").certified().numbers["delta"]
    total = grown.certified().numbers["total"]
    assert total == pytest.approx(2 / ((1 + first) * (1 + one)), rel=1e-9)
    assert grown.certified().numbers["delta"] == pytest.approx(min(first, one))


def test_conditions_of_the_rate_claim():
    with pytest.raises(AssumptionViolated, match="must not decrease"):
        example("m-admm-rate", penalty="1:0.9", rounds=3).claimed()
    with pytest.raises(AssumptionViolated, match="at most the first penalty"):
        example("m-admm-rate", dual_step=2).claimed()
    assert comparison(example("m-admm-rate", dual_step=1.0))["verdict"] == "UNSUPPORTED"
    with pytest.raises(InvalidInput, match="at most smoothness"):
        example("m-admm-rate", strong_convexity=1)


@pytest.mark.parametrize(
    ("changes", "value", "method"),
    [
        ({"penalty": 1}, 0.0, "common penalties"),
        ({"penalty": 1, "dual_step": 1.99}, 0.0, "common penalties"),
        ({"penalty": 1, "dual_step": 2}, math.inf, "twice a penalty"),
        ({"penalty": 1, "dual_step": 2.05, "curvature": 1}, 0.0, "definite matrix"),
        ({"penalty": "1:1.001", "dual_step": 0.5}, math.inf, "summable"),
        ({"penalty": "1:0.9", "dual_step": 0.5}, math.inf, "fall to zero"),
        ({"penalty": [[1, 2]]}, math.inf, "differ between nodes"),
        ({"penalty": [[1, 2]], "quadratic": True}, 0.0, "eigenvalues"),
        ({"penalty": [[1, 2]], "curvature": 1}, 0.0, "eigenvalues"),
        ({"penalty": [[1, 2], [3, 3]]}, 0.0, "common penalties"),
        ({"penalty": 1, "dual_step": [0.5, 1]}, math.inf, "another one"),
    ],
)
def test_where_m_admm_is_certified(changes, value, method):
    instance = MADMMConvergence(**{"graph": "complete:2", "dual_step": 0.5, **changes})
    certified = instance.certified()
    assert certified.value == value
    assert method in certified.method
    attained = instance.attained()
    assert attained is None or attained.value <= certified.value


def test_what_became_of_the_m_admm_claim():
    def verdict(**changes):
        instance = MADMMConvergence(**{"graph": "complete:3", "dual_step": 0.5, **changes})
        return comparison(instance)["verdict"]

    assert verdict(penalty="0.5:1.2") == "REFUTED"
    assert verdict(penalty=1, dual_step=[0.5, 1, 1]) == "REFUTED"
    assert verdict(penalty=[[1, 2, 3]]) == "UNSUPPORTED"
    assert verdict(penalty=[[1, 2, 3]], quadratic=True) == "HOLDS"
    assert verdict(penalty=1) == "HOLDS"


def test_conditions_of_the_m_admm_claim():
    with pytest.raises(AssumptionViolated, match="must not decrease"):
        MADMMConvergence(graph="ring:3", penalty=[[2], [1]]).claimed()
    with pytest.raises(AssumptionViolated, match="dual_step"):
        MADMMConvergence(graph="ring:3", penalty=1, dual_step=2).claimed()
    assert MADMMConvergence(graph="ring:3", penalty=3).steps() == (3, 3, 3)
    with pytest.raises(InvalidInput, match="curvatures"):
        MADMMConvergence(graph="ring:3", penalty=1, linear=1)


@pytest.mark.parametrize(
    ("changes", "value", "verdict"),
    [
        ({}, 0.0, "HOLDS"),
        ({"graph": "path:3"}, math.inf, None),
        ({"graph": "path:3", "proximal_weight": 0}, 0.0, None),
        ({"graph": "path:3", "curvature": 1}, 0.0, None),
        ({"penalty": [[1, 2, 4]]}, math.inf, "REFUTED"),
        ({"penalty": "1:1.1", "rounds": 3}, math.inf, "REFUTED"),
        ({"penalty": [[1, 2, 1], [1, 1, 1]]}, math.inf, None),
        ({"penalty": [[1], [2]]}, 0.0, "HOLDS"),
    ],
)
def test_where_recycled_admm_is_certified(changes, value, verdict):
    instance = example("recycled-admm-convergence", **changes)
    assert instance.certified().value == value
    assert comparison(instance)["verdict"] == verdict


def test_constants_of_recycled_admm_can_be_fixed():
    # L = μ = 2 are the conditions (iii)-(iv) of the paper.
    fixed = example("recycled-admm-convergence", coupling=2, split=2).claimed().numbers
    assert (fixed["coupling"], fixed["split"]) == (2, 2)
    assert fixed["margin"] == pytest.approx(8 / 9, rel=1e-6)
    with pytest.raises(AssumptionViolated, match="proximal-weight"):
        example("recycled-admm-convergence", proximal_weight=0).claimed()
    with pytest.raises(AssumptionViolated, match="larger proximal-weight"):
        example("recycled-admm-convergence", coupling=1e-6, split=2).claimed()


def test_the_paper_is_asked_for_its_constants():
    with pytest.raises(AssumptionViolated, match="--constant"):
        example("recycled-admm-sample-complexity", constant=None).claimed()
    with pytest.raises(AssumptionViolated, match="--slack"):
        example("private-recycled-admm-sample-complexity", slack=None).claimed()
    with pytest.raises(AssumptionViolated, match="noise alone"):
        example("private-recycled-admm-sample-complexity", noise_rate=0.1).claimed()
    with pytest.raises(InvalidInput, match="optimization_gap"):
        example("recycled-admm-sample-complexity", optimization_gap=0.2)


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
