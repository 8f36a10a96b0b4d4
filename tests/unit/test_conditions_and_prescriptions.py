"""Conditions, prescribed noise and free constants of published results, at the limits and in full."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mpf

from dpcalc.errors import AssumptionViolated, Infeasible, InvalidInput
from dpcalc.theorems.catalogue import keys, privacy_result, result
from dpcalc.theorems.convergence._quadratic import quadratic_problem
from dpcalc.theorems.noisy_gradient_descent._sampled import _in_range
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.schedule import Schedule


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
    kept = float(made.jacobian(Digits(made)))  # type: ignore[attr-defined]
    with pytest.raises(Infeasible) as caught:
        made.prescribed(kept * (1 - 1e-12), 1e-6)
    assert str(caught.value) == (
        f"the paper's bound keeps {kept:.6g} for the Jacobian; got "
        f"epsilon={kept * (1 - 1e-12):g}; try a larger regularization"
    )


@pytest.mark.parametrize(
    ("batch", "share"), [(1, 0.0), (100, 0.0), (50, 1.0), (99, 1.0), (10, 0.0)]
)
def test_how_far_chance_takes_the_runs_apart(batch: int, share: float) -> None:
    """q + 3√(q(1-q)·max((1-c)/(1+c), 1/t)), at most all of the largest distance."""
    made = _made("noisy-sgd", n_records=100, batch_size=batch, steps=4)
    for c in (0.2, 1.0):
        q = batch / 100
        exact = q + 3 * math.sqrt(q * (1 - q) * max((1 - c) / (1 + c), 1 / 4))
        assert made._likely_share(c) == pytest.approx(min(exact, 1.0))
        assert share < 1 or made._likely_share(c) == 1.0


def test_a_shift_that_is_averaged_keeps_the_split_chosen_for_its_likely_size() -> None:
    made = _made("noisy-sgd")
    run = made.run()
    chosen = run.best_split()
    likely = made.likely_shift(chosen)
    assert run.distance_share < 1
    assert likely is not None
    assert made.certified().numbers == made.composed(chosen, made.shift_mu(chosen), likely)[1]
    worst = _made("noisy-sgd-constrained")
    run = worst.run()
    assert worst.likely_shift(run.best_split()) is None
    chosen = replace(run, distance_share=1.0).best_split()
    assert worst.certified().numbers == worst.composed(chosen, worst.shift_mu(chosen))[1]


def test_the_printed_composition_is_solved_from_any_noise() -> None:
    made = _made("noisy-sgd-constrained-tradeoff", n_records=200, batch_size=40, steps=30)
    found = made.prescribed(0.5, 1e-4).sigma
    assert made.prescribed(0.5, 1e-4).claimed().guarantee.epsilon(1e-4) == pytest.approx(0.5, 1e-3)
    for start in (found / 100, found * 1e4):  # where ε is vast, and where it is 0
        again = made.replace(sigma=start).prescribed(0.5, 1e-4).sigma
        assert again == pytest.approx(found, rel=1e-4)


def _dp_admm_on_a_line(made: Any, k: float) -> float:
    """f = (L/2)x², g = (k/2)y², x = y asked for, from x₀ and the printed dual; by the equations."""
    eta, rho, gamma, smooth = made.step_size, made.penalty, made.weight(), made.smoothness
    x = made.distance
    u = 0.0 if made.dual_start == "zero" else -smooth * x / rho
    xs, ys = [], []
    for _ in range(made.rounds):
        y = rho * (x + u) / (rho + k)
        x, u = x - eta / gamma * (smooth * x + rho * (x - y + u)), u
        u += x - y
        xs.append(x)
        ys.append(y)
    n = made.rounds
    return float((smooth * (sum(xs) / n) ** 2 + k * (sum(ys) / n) ** 2) / 2)


@pytest.mark.parametrize("start", ["zero", "data"])
@pytest.mark.parametrize("rounds", [1, 3, 40])
def test_what_dp_admm_reaches_is_the_worst_of_five_curvatures(start: str, rounds: int) -> None:
    extra = {"multiplier_norm": 9.0} if start == "zero" else {}
    made = _made("dp-admm-utility", dual_start=start, rounds=rounds, **extra)
    worst = max(_dp_admm_on_a_line(made, made.penalty * k) for k in (0.1, 0.3, 1, 3, 10))
    assert made.attained().value == pytest.approx(worst, rel=1e-8)
    assert made.attained().value < worst


def _gradient_admm_on_a_line(made: Any, k: float) -> float:
    """The same for gradient ADMM; the smaller of the gaps at the two averages, with infeasibility."""
    eta, beta, a = made.step_size, made.penalty, 1.0
    nu = min(made.smoothness, made.gradient_bound / made.distance)
    x, dual = made.distance, 0.0
    xs, ys = [x], []
    for _ in range(made.rounds):
        y = (beta * a * x - dual) / (k + beta)
        dual -= beta * (a * x - y)
        x = (x - eta * nu * x + eta * a * (dual + beta * y)) / (1 + eta * beta * a * a)
        xs.append(x)
        ys.append(y)
        if abs(x) > made.distance:  # where its gradient may be larger than is promised
            return -math.inf
    n = made.rounds
    y_mean = sum(ys) / n
    gaps = [
        nu / 2 * m**2 + k / 2 * y_mean**2 + made.feasibility_weight * abs(a * m - y_mean)
        for m in (sum(xs[:-1]) / n, sum(xs[1:]) / n)
    ]
    return float(min(gaps))


@pytest.mark.parametrize(
    ("step", "rounds", "bound", "penalty"),
    [(0.25, 1, 4.0, 0.5), (0.25, 3, 1.5, 0.5), (0.5, 40, 4.0, 0.5), (3.0, 1, 4.0, 0.5),
     (0.01, 5, 4.0, 0.5), (1.0, 3, 4.0, 0.5), (0.01, 2, 4.0, 5.0)],
)  # fmt: skip
def test_what_gradient_admm_reaches_is_the_worst_of_five_curvatures(
    step: float, rounds: int, bound: float, penalty: float
) -> None:
    """Each of the five is the worst in one of the settings, or not allowed."""
    made = _made(
        "gradient-admm-utility",
        step_size=step,
        rounds=rounds,
        gradient_bound=bound,
        penalty=penalty,
    )
    worst = max(_gradient_admm_on_a_line(made, made.smoothness * k) for k in (0.1, 0.3, 1, 3, 10))
    assert made.attained().value == pytest.approx(worst, rel=1e-8)
    assert made.attained().value < worst
    far = _made("gradient-admm-utility", step_size=50, rounds=1)
    assert far.attained() is None


def test_the_printed_profile_says_what_it_is() -> None:
    made = _made("gaussian-objective-perturbation-profile")
    claim = made.claimed()
    assert (claim.method, claim.guarantee.described) == ("printed profile", "printed profile")
    assert claim.guarantee.delta(1.0) == made.printed(1.0)


def test_problems_without_linear_terms_have_none() -> None:
    found = quadratic_problem(Schedule.of("curvature", 2), None, 3)
    assert found is not None
    assert (found.curvature, found.linear) == ((2.0,) * 3, (0.0,) * 3)
    assert quadratic_problem(None, None, 3) is None
    with pytest.raises(InvalidInput) as caught:
        quadratic_problem(None, Schedule.of("linear", 2), 3)
    assert str(caught.value) == ("linear terms b need curvatures h as well; try --curvature 1")


def test_a_number_for_a_search_is_infinite_only_if_the_value_is() -> None:
    assert [_in_range(x) for x in (mpf(2), mpf("1e139"), mpf("1e200"), mpf("inf"))] == [
        2.0, 1e139, 1e140, math.inf,
    ]  # fmt: skip


@pytest.mark.parametrize("rule", ["uniform", "metropolis"])
def test_the_rule_of_mixing_is_that_of_the_weights(rule: str, tmp_path: Path) -> None:
    """A star with a tail: β is the second singular value of its weights."""
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n0 2\n0 3\n3 4\n4 5\n")
    made = _made("dual-averaging-consensus", graph=f"@{path}", mixing=rule)
    degrees = [3, 1, 1, 2, 2, 1]
    weights = np.zeros((6, 6))
    for i, j in ((0, 1), (0, 2), (0, 3), (3, 4), (4, 5)):
        most = 3 if rule == "uniform" else max(degrees[i], degrees[j])
        weights[i, j] = weights[j, i] = 1 / (1 + most)
    weights += np.diag(1 - weights.sum(axis=1))
    second = np.sort(np.linalg.svd(weights, compute_uv=False))[-2]
    assert made.claimed().numbers["beta"] == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ["claimed.margin"]),
        ({"graph": "path:3"}, []),
        ({"smoothness": [[1, 2, 3]]}, []),
        ({"penalty": [1, 2]}, []),
        ({"penalty": [[1, 2, 3]]}, ["attained.limit"]),
    ],
)
def test_a_margin_is_shown_where_all_nodes_and_rounds_are_alike(
    changes: dict[str, Any], shown: list[str]
) -> None:
    made = _made("recycled-admm-convergence", **changes)
    assert [formula.name for formula in made.symbolic()] == shown
