"""Every convergence result: its example, its claim's conditions, its free constants, its findings."""

from __future__ import annotations

import math

import pytest

from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.report.rates import comparison
from dpcalc.theorems.catalogue import family, keys, result, results
from dpcalc.theorems.convergence._base import ConvergenceResult
from dpcalc.theorems.convergence.m_admm_convergence import MADMMConvergence
from dpcalc.theorems.convergence.m_admm_rate import MADMMRate
from tests.unit.convergence_examples import example

KEYS = keys(privacy=False)


def test_all_results_of_the_family_are_here():
    assert {*KEYS} >= {
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
    }
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
