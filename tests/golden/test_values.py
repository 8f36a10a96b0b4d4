"""Golden values, each with its source in values.toml."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
import sympy
from mpmath import mp, mpf

from dpcalc.claims.verdict import surely_attained
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.catalogue import result as result_of
from dpcalc.theorems.iteration.admm_iteration_strongly_convex import admissible_steps

GOLDEN = tomllib.loads(Path(__file__).with_name("values.toml").read_text())


@pytest.mark.parametrize("case", GOLDEN["objective-perturbation"], ids=lambda c: c["theorem"])
def test_objective_perturbation(case: dict[str, Any]) -> None:
    theorem = privacy_result(case["theorem"]).from_parameters(case["parameters"])
    assert theorem.claimed().numbers["beta"] == pytest.approx(case["claimed_beta"], abs=5e-10)
    if "certified_beta" in case:
        assert theorem.certified().numbers["beta"] == pytest.approx(
            case["certified_beta"], abs=5e-10
        )
        general = theorem.replace(loss="general").certified().numbers["beta"]
        assert general == pytest.approx(case["certified_beta_any_loss"], abs=5e-10)


@pytest.mark.parametrize(
    ("claim", "add_remove", "replace_one"),
    list(
        zip(*(GOLDEN["dp-admm"][k] for k in ("claims", "add_remove", "replace_one")), strict=True)
    ),
)
def test_dp_admm(claim: float, add_remove: float, replace_one: float) -> None:
    kind = privacy_result("dp-admm")
    theorem = kind.from_parameters({**kind.example, "dual_start": "zero"}).prescribed(claim, 1e-3)
    assert theorem.claimed().guarantee.epsilon(1e-3) == pytest.approx(claim, rel=1e-12)
    assert theorem.certified().guarantee.epsilon(1e-3) == pytest.approx(add_remove, abs=6e-5)
    replaced = theorem.replace(adjacency="replace-one")
    assert replaced.certified().guarantee.epsilon(1e-3) == pytest.approx(replace_one, abs=6e-4)


@pytest.mark.parametrize(("start", "releases"), [("zero", 25), ("noised", 26)])
@pytest.mark.parametrize(("adjacency", "distance"), [("add-remove", 1), ("replace-one", 2)])
def test_dp_admm_charges_every_release(
    start: str, releases: int, adjacency: str, distance: int
) -> None:
    """T noisy gradients, and one more for a noised start: μ² = (releases)(distance·c/(nσ))²."""
    theorem = privacy_result("dp-admm").from_parameters(
        {
            "n_records": 100,
            "rounds": 25,
            "gradient_bound": 3,
            "sigma": "0.7",
            "adjacency": adjacency,
            "dual_start": start,
        }
    )
    with mp.workdps(40):
        exact = mp.sqrt(releases) * distance * 3 / (100 * mpf("0.7"))
        found = theorem.certified().numbers["mu"]
        assert exact <= found <= exact * (1 + mpf("1e-15"))


@pytest.mark.parametrize(
    ("r", "penalty", "contraction"),
    list(
        zip(*(GOLDEN["strongly-convex"][k] for k in ("r", "penalty", "contraction")), strict=True)
    ),
)
def test_contraction(r: float, penalty: float, contraction: float) -> None:
    kind = privacy_result("admm-iteration-strongly-convex")
    curvature = 2 * r * r
    low, high = admissible_steps(
        penalty=penalty,
        smoothness=curvature,
        strong_convexity=curvature,
        regularizer_strong_convexity=0.2,
        coupling_norm=1,
    )
    theorem = kind.from_parameters(
        {
            **kind.example,
            "step_size": float((low + high) / 2),
            "penalty": penalty,
            "smoothness": curvature,
            "strong_convexity": curvature,
        }
    )
    assert theorem.certified().numbers["contraction"] == pytest.approx(contraction, abs=6e-8)


@pytest.mark.parametrize(
    ("iterations", "mu_squared"),
    list(
        zip(
            GOLDEN["noise-on-gradient"]["iterations"],
            GOLDEN["noise-on-gradient"]["mu_squared"],
            strict=True,
        )
    ),
)
def test_noise_on_the_gradient(iterations: int, mu_squared: float) -> None:
    theorem = privacy_result("admm-iteration").from_parameters(
        {
            "sensitivity": 1,
            "sigma": 1,
            "step_size": 1,
            "penalty": 100,
            "operator_norm": 1,
            "min_singular_value": 1,
            "square": True,
            "smoothness": 1,
            "iterations": iterations,
            "noise_in": "gradient",
        }
    )
    attained = theorem.attained()
    assert attained is not None
    assert attained.numbers["mu"] ** 2 == pytest.approx(mu_squared, abs=5e-4)
    assert theorem.certified().numbers["mu"] ** 2 >= mu_squared - 5e-4


def test_dual_averaging_hides_nothing_at_the_prescribed_noise() -> None:
    kind = privacy_result("private-dual-averaging")
    golden = GOLDEN["dual-averaging"]
    theorem = kind.from_parameters(kind.example).prescribed(1.0, 0.01)
    assert theorem.sigma == pytest.approx(golden["prescribed_sigma"], abs=5e-4)
    attained = theorem.attained()
    assert attained is not None
    assert attained.guarantee.delta(1.0) >= golden["delta_at_one"]
    assert surely_attained(attained.guarantee, 0.01) > 1000


def test_smaller_nodes_are_refuted_from_a_budget_on() -> None:
    kind = privacy_result("private-dual-averaging")
    base = kind.from_parameters(
        {"n_records": 1628, "rounds": 3 * 1628, "lipschitz": 1, "sigma": 1, "sampling": "one"}
    )
    for claim, refuted in ((0.2, False), (0.4, True), (1.0, True)):
        attained = base.prescribed(claim, 0.01).attained()
        assert attained is not None
        assert (surely_attained(attained.guarantee, 0.01) > claim) == refuted


@pytest.mark.parametrize("steps", [10, 100, 1000])
def test_noisy_gradient_descent(steps: int) -> None:
    golden = GOLDEN["noisy-gd"]
    for c, mu in zip(golden["contraction"], golden[f"mu_{steps}"], strict=True):
        theorem = privacy_result("noisy-gd").from_parameters(
            {
                "sensitivity": 1,
                "n_records": 10,
                "sigma": 1,
                "steps": steps,
                "step_size": 1,
                "smoothness": 1,
                "strong_convexity": 1 - c,
            }
        )
        assert theorem.claimed().numbers["mu"] == pytest.approx(mu, rel=1e-13)
        assert theorem.certified().numbers["mu"] == pytest.approx(mu, rel=1e-13)


@pytest.mark.parametrize("k", range(3))
def test_noisy_cyclic_gradient_descent(k: int) -> None:
    golden = GOLDEN["noisy-cgd"]
    for name, curvature in (("mu_weak", 1e-4), ("mu_strong", 2e-4)):
        theorem = privacy_result("noisy-cgd").from_parameters(
            {
                "sensitivity": 2,
                "batch_size": 3,
                "sigma": 1,
                "n_batches": 40,
                "passes": golden["passes"][k],
                "step_size": 1,
                "smoothness": 1,
                "strong_convexity": curvature,
            }
        )
        assert theorem.claimed().numbers["mu"] == pytest.approx(golden[name][k], rel=1e-11)
        assert theorem.certified().numbers["mu"] == pytest.approx(golden[name][k], rel=1e-11)


@pytest.mark.parametrize("k", range(3))
def test_noisy_descent_on_a_bounded_domain(k: int) -> None:
    golden = GOLDEN["noisy-cgd-constrained"]
    for name, batches, step_size, sigma in (
        ("mu_full", 1, 1 / 16, 8),
        ("mu_20_batches", 20, 1 / 64, 3),
    ):
        theorem = privacy_result("noisy-cgd-constrained").from_parameters(
            {
                "diameter": 1,
                "sensitivity": golden["gradient"][k],
                "batch_size": 1,
                "sigma": sigma,
                "n_batches": batches,
                "passes": 1000,
                "step_size": step_size,
                "smoothness": 1,
            }
        )
        assert theorem.claimed().numbers["mu"] == pytest.approx(golden[name][k], rel=1e-13)
        certified = theorem.certified().numbers["mu"]
        assert 0.97 * golden[name][k] < certified <= theorem.claimed().numbers["mu"]


@pytest.mark.parametrize("row", range(6))
def test_tables_on_cyclic_gradient_descent(row: int) -> None:
    golden = GOLDEN["noisy-cgd-figure"]
    expected = golden["rows"][row]
    for passes, mu in zip(golden["passes"], expected["mu"], strict=True):
        theorem = privacy_result("noisy-cgd").from_parameters(
            {
                "sensitivity": 0.2,
                "batch_size": 1,
                "sigma": 1,
                "n_batches": expected["batches"],
                "passes": passes,
                "step_size": 1,
                "smoothness": 1,
                "strong_convexity": 1 - expected["contraction"],
            }
        )
        assert theorem.claimed().numbers["mu"] == pytest.approx(mu, rel=1e-12)
        assert theorem.certified().numbers["mu"] <= mu * (1 + 1e-12)


@pytest.mark.parametrize("row", range(5))
def test_tables_on_cyclic_gradient_descent_on_a_bounded_domain(row: int) -> None:
    golden = GOLDEN["noisy-cgd-constrained-figure"]
    expected = golden["rows"][row]
    for step_size, mu in zip(golden["step_sizes"], expected["mu"], strict=True):
        theorem = privacy_result("noisy-cgd-constrained").from_parameters(
            {
                "diameter": 1,
                "sensitivity": expected["gradient"],
                "batch_size": 1,
                "sigma": 3,
                "n_batches": expected["batches"],
                "passes": 5000,
                "step_size": step_size,
                "smoothness": 1,
            }
        )
        assert theorem.claimed().numbers["mu"] == pytest.approx(mu, rel=1e-12)
        assert theorem.certified().numbers["mu"] <= mu * (1 + 1e-12)


@pytest.mark.parametrize("column", range(4))
def test_what_growing_penalties_leave(column: int) -> None:
    """A lower bound in digits, the same product in symbols; its logarithm is 1e-9 too low."""
    golden = GOLDEN["growing-penalties"]
    start, factor, left = (golden[name][column] for name in ("start", "factor", "left"))
    result = result_of("m-admm-convergence").from_parameters(
        {"graph": "complete:2", "penalty": f"{start}:{factor}"}
    )
    found = result.attained().value
    assert found <= left * (1 + 2**-52)
    assert found == pytest.approx(left, rel=1.1e-9 * -math.log(left) + 1e-15, abs=0)
    (shown,) = result.symbolic()
    (t,) = shown.expression.variables
    with mp.workdps(30):
        factors = sympy.lambdify([t, "eta", "q"], shown.expression.function, "mpmath")
        given = [mpf(shown.values[name]) for name in ("eta", "q")]
        terms = range(math.ceil(40 / math.log(factor)))  # the others change the 13th digit
        product = mp.exp(mp.fsum(mp.log(factors(k, *given)) for k in terms))
    assert float(product) == pytest.approx(left, rel=1e-12, abs=0)
