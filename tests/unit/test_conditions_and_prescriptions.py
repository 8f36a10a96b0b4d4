"""Conditions, prescribed noise and free constants of published results, at the limits and in full."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcalc.errors import AssumptionViolated, Infeasible, InvalidInput
from dpcalc.theorems.catalogue import keys, privacy_result, result


def _made(key: str, **changes: Any) -> Any:
    kind = result(key)
    given = {**kind.example, **changes}
    return kind.from_parameters({k: v for k, v in given.items() if v is not None})


@pytest.mark.parametrize("key", keys(privacy=True))
def test_a_budget_that_is_none_is_refused_by_its_name(key: str) -> None:
    made = _made(key)
    for epsilon, delta, name in (
        (0.0, 1e-5, "epsilon"),
        (-1.0, 1e-5, "epsilon"),
        (1.0, 1.0, "delta"),
    ):
        with pytest.raises((InvalidInput, AssumptionViolated)) as caught:
            made.prescribed(epsilon, delta)
        if isinstance(caught.value, InvalidInput):
            assert str(caught.value).startswith(f"{name} needs a ")


def test_dual_averaging_prescribes_up_to_its_limits() -> None:
    """σ = √(12 T ln(1/δ))·L/(qε), for ε <= 1 and δ <= 1/3."""
    made = _made("private-dual-averaging", n_records=100, rounds=7, lipschitz=2.0)
    for epsilon, delta in ((1.0, 1 / 3), (0.5, 1e-5), (1.0, 1e-9)):
        sigma = math.sqrt(12 * 7 * math.log(1 / delta)) * 2 / (100 * epsilon)
        assert made.prescribed(epsilon, delta).sigma == pytest.approx(sigma, rel=1e-12)
    for epsilon, delta, shown in (
        (math.nextafter(1.0, 2), 0.25, "epsilon=1, delta=0.25"),
        (1.0, math.nextafter(1 / 3, 1), "epsilon=1, delta=0.333333"),
        (1.5, 1e-5, "epsilon=1.5, delta=1e-5"),
    ):
        with pytest.raises(Infeasible) as caught:
            made.prescribed(epsilon, delta)
        assert str(caught.value) == (
            f"the paper prescribes noise for epsilon <= 1 and delta <= 1/3 only; got {shown}"
        )
    whole = made.prescribed(1.0, 1 / 3)
    assert whole.claimed().guarantee.epsilon(1 / 3) <= 1
    louder = made.with_noise_level(whole.sigma * (1 - 1e-9))
    assert louder.claimed().guarantee.epsilon(1 / 3) == math.inf


@pytest.mark.parametrize(
    ("sampling", "batch", "size"),
    [("one", None, 1), ("full-batch", None, 100), ("mini-batch", 7, 7), ("random-batch", 9, 9)],
)
def test_how_many_records_a_subgradient_is_the_mean_of(
    sampling: str, batch: int | None, size: int
) -> None:
    made = _made("private-dual-averaging", n_records=100, sampling=sampling, batch_size=batch)
    assert made.size() == size


def test_the_proved_weight_of_an_operator_that_is_no_unit() -> None:
    """η(L + ρ‖A‖²), and the least that the paper allows, ηρ‖A‖² + 1."""
    made = _made("dp-admm-utility", matrix=3.0, penalty=0.5, step_size=0.1, smoothness=2)
    assert float(made.proved_weight()) == pytest.approx(0.1 * (2 + 0.5 * 9), rel=1e-15)
    assert made.least_weight() == pytest.approx(0.1 * 0.5 * 9 + 1, rel=1e-15)
    assert made.weight() == made.least_weight()
    equal = _made("dp-admm-utility", matrix=3.0, penalty=0.5, step_size=0.1, smoothness=10)
    assert equal.weight() >= equal.proved_weight()
    given = _made("dp-admm-utility", matrix=3.0, proximal_weight=20)
    assert given.weight() == 20


@pytest.mark.parametrize("deviation", [None, 0.5])
def test_the_deviation_of_gradients_is_their_bound_unless_it_is_given(
    deviation: float | None,
) -> None:
    """start/T + η(s² + pσ²)/(1 + ηβa²) with s the deviation, or the bound of the gradients."""
    bound = 0.75 if deviation is None else 40.0
    made = _made(
        "gradient-admm-utility", gradient_bound=bound, gradient_deviation=deviation, step_size=0.125,
        rounds=50, noise_in="gradient", matrix=2.0, penalty=40.0,
    )  # fmt: skip
    found = made.certified()
    assert found.method == "smoothness, deviation of gradients, x̄ over rounds 1..T"
    s = 0.75 if deviation is None else deviation
    eta, beta, r, a = 0.125, 40.0, 3.0, 2.0
    start = r**2 / (2 * eta) + (beta * a * r + made.feasibility_weight) ** 2 / (2 * beta)
    noise = eta * (s**2 + 64 * 0.1**2) / (1 + eta * beta * a**2)
    assert found.value == pytest.approx(start / 50 + noise, rel=1e-12)
    formula = next(f for f in made.symbolic() if f.name == "certified.value")
    given = {x: formula.values[str(x)] for x in formula.expression.free_symbols}
    assert float(formula.expression.subs(given)) == pytest.approx(found.value, rel=1e-12)


def test_the_printed_profile_is_solved_for_its_noise_to_the_last_double() -> None:
    kind = privacy_result("gaussian-objective-perturbation-profile")
    made = kind.from_parameters(kind.example)
    for epsilon, delta in ((0.5, 1e-6), (2.0, 1e-3)):
        found = made.prescribed(epsilon, delta)
        sigma = found.noise_level()
        assert found.printed(epsilon) <= delta  # type: ignore[attr-defined]
        quieter = made.with_noise_level(math.nextafter(sigma, 0.0))
        assert quieter.printed(epsilon) > delta  # type: ignore[attr-defined]
    kept = float(made._jacobian())  # type: ignore[attr-defined]
    with pytest.raises(Infeasible) as caught:
        made.prescribed(kept * (1 - 1e-12), 1e-6)
    assert str(caught.value) == (
        f"the paper's bound keeps {kept:.6g} for the Jacobian; got "
        f"epsilon={kept * (1 - 1e-12):g}; try a larger regularization"
    )
