"""Certified amplification by iteration against the exact law of random quadratic problems."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.iteration.scalar import ScalarADMM
from dpcalc.claims.verdict import Claim, Verdict, judge
from dpcalc.theorems.base import Scope
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.gradient_admm import Problem, scalar_mu_squared
from tests.oracles.random_instances import (
    ROOM,
    Draw,
    certified_admm,
    convex_admm,
    expanding_admm,
    repeated_admm,
    strongly_convex_admm,
)


@pytest.mark.parametrize(
    ("draw", "count", "closest"),
    [
        (convex_admm, 70, 0.9),
        (strongly_convex_admm, 16, 0.9),
        (repeated_admm, 16, 0.9),
        (expanding_admm, 16, 0.9),
    ],
)
def test_no_exact_law_exceeds_its_bound(draw: Draw, count: int, closest: float) -> None:
    """One use or several, convex losses or not, noise in the state or on the gradient."""
    rng = np.random.default_rng(17)
    shares = [share for share in (draw(rng) for _ in range(count)) if share is not None]
    assert len(shares) > count / 3
    assert closest < max(shares) <= 1 + ROOM[draw]


@pytest.mark.parametrize("on_gradient", [False, True])
def test_convex_bound_is_never_below_many_instances_in_one_dimension(on_gradient: bool) -> None:
    """Curvatures of their own in every iteration, at either end of their range or anywhere."""
    rng = np.random.default_rng(29 + on_gradient)
    settings, each = 20, 2000
    closest = 0.0
    for _ in range(settings):
        k, e = int(rng.integers(2, 14)), 10 ** rng.uniform(-2, 2.5)
        moved = np.where(
            rng.random((each, 1)) < 0.5,
            rng.choice([-1.0, 1.0], (each, k)),
            rng.uniform(-1, 1, (each, k)),
        )
        moved[: each // 4] = rng.uniform(-1, 1, (each // 4, 1))
        moved[: each // 8] = 1.0
        kept = 10 ** rng.uniform(-6, -1e-9, each)
        jump = 1 / (1 + e)
        exact = scalar_mu_squared(
            np.full(each, e), moved, kept, step_sensitivity=jump, noise=jump if on_gradient else 1.0
        )
        theorem = privacy_result("admm-iteration").from_parameters(
            {
                "sensitivity": 1, "step_size": 1, "penalty": e, "sigma": 1, "iterations": k,
                "smoothness": 2, "operator_norm": 1, "min_singular_value": 1, "square": True,
                "noise_in": "gradient" if on_gradient else "state",
            }
        )  # fmt: skip
        certified = float(theorem.certified().numbers["mu"]) ** 2
        # One pair of scaled coordinates: doubles lose less than 1e-6 to the covariance.
        assert exact.max() <= certified * (1 + 1e-6)
        closest = max(closest, exact.max() / certified)
    assert closest > 0.95


def test_without_convexity_instances_stay_below_the_bound() -> None:
    kind = privacy_result("admm-iteration")
    two = kind.from_parameters({**kind.example, "iterations": 2, "weak_convexity": 1.0})
    assert two.violations_of_claim()
    ratio = two.attained().numbers["mu"] / two.certified().numbers["mu"]
    assert 0.9 < ratio <= 1
    many = kind.from_parameters({**kind.example, "iterations": 10**6, "weak_convexity": 1.0})
    assert many.attained().numbers["mu"] <= many.certified().numbers["mu"]


def test_all_users_over_several_passes_average_those_of_one_user() -> None:
    kind = privacy_result("admm-iteration-all-users")
    users, passes = 6, 3
    every = kind.from_parameters({**kind.example, "users": users, "passes": passes}).certified()
    given = {k: v for k, v in kind.example.items() if k not in ("users", "order")}
    one = [
        privacy_result("admm-iteration")
        .from_parameters({**given, "iterations": t, "passes": passes, "pass_length": users})
        .certified()
        for t in range(1, users + 1)
    ]
    assert every.numbers["largest_mu"] == one[0].numbers["mu"]
    for epsilon in (0.0, 0.3, 1.0):
        mean = sum(b.guarantee.delta(epsilon) for b in one) / users
        assert every.guarantee.delta(epsilon) == pytest.approx(mean, rel=1e-12)


def test_the_attained_instance_is_reached_by_the_exact_law() -> None:
    """f = 0, g → 0: the closed form of `attained` agrees with the propagated covariance."""
    kind = privacy_result("admm-iteration")
    for iterations in (2, 3, 4, 7):
        for a in (0.5, 1.0, 3.0):
            problem = Problem(
                np.array([[a]]),
                np.eye(1),
                1e-7 * np.eye(1),
                [np.zeros((1, 1))] * iterations,
                0.4,
                2.0,
            )
            for on_gradient in (False, True):
                theorem = kind.from_parameters(
                    {
                        "sensitivity": 1,
                        "step_size": 0.4,
                        "penalty": 2,
                        "sigma": 1,
                        "iterations": iterations,
                        "smoothness": 1,
                        "operator_norm": a,
                        "min_singular_value": a,
                        "square": True,
                        "noise_in": "gradient" if on_gradient else "state",
                    }
                )
                walk = float(theorem.mu_attained(iterations)) ** 2
                exact = problem.mu_squared(np.ones(1), 1.0, on_gradient=on_gradient)
                assert exact == pytest.approx(walk, rel=1e-3)
                assert theorem.attained().numbers["mu"] ** 2 >= walk * (1 - 1e-12)


def test_scalar_instances_have_the_law_of_the_update_equations() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        passes, gap, tail = (int(rng.integers(1, 5)) for _ in range(3))
        switch = int(rng.integers(0, min(gap, tail)))
        e, kept, early, late = 10 ** rng.uniform(-1, 1), rng.uniform(0.01, 0.99), *rng.random(2)
        found = ScalarADMM(e, kept, 0.3, 0.7).run(
            early, late, switch=switch, passes=passes, gap=gap, tail=tail
        )
        one = [early] * (1 + switch) + [late] * (gap - 1 - switch)
        last = [early] * (1 + switch) + [late] * (tail - 1 - switch)
        moved = np.array([one * (passes - 1) + last])
        # A = 2, B = 3, β = e/(4η), η = 1/2; G from r.
        g = kept / (1 - kept) * 9 * e / 2
        hessians = [np.array([[(1 - m) / 0.5]]) for m in moved[0]]
        problem = Problem(2 * np.eye(1), 3 * np.eye(1), g * np.eye(1), hessians, 0.5, e / 2)
        again = frozenset(gap * j for j in range(1, passes))
        if moved.shape[1] > 1:
            change = np.array([0.3 * (1 + e) / 0.5])
            exact = problem.mu_squared(change, 0.7, on_gradient=False, again=again)
            assert found.mu_squared() == pytest.approx(exact, rel=1e-6)
            columns = scalar_mu_squared(
                np.array([e]), moved, np.array([kept]), step_sensitivity=0.3, noise=0.7, again=again
            )
            assert found.mu_squared() == pytest.approx(float(columns[0]), rel=1e-9)


@pytest.mark.parametrize("key", ["admm-iteration", "admm-iteration-strongly-convex"])
def test_instances_attain_the_bound_at_two_iterations_and_never_exceed_it(key: str) -> None:
    kind = privacy_result(key)
    rng = np.random.default_rng(5)
    two = kind.from_parameters({**kind.example, "iterations": 2})
    assert two.attained().numbers["mu"] >= two.certified().numbers["mu"] * (1 - 1e-9)
    for _ in range(12):
        passes = int(rng.integers(1, 4))
        given = {
            **kind.example,
            "iterations": int(rng.integers(1, 9)),
            "penalty": kind.example["penalty"] * float(rng.uniform(0.7, 1.4)),
            "sigma": 10 ** rng.uniform(-1, 1),
            "square": bool(rng.integers(2)),
            **({"passes": passes, "pass_length": int(rng.integers(1, 7))} if passes > 1 else {}),
        }
        theorem = kind.from_parameters(given)
        if not theorem.violations(Scope.CERTIFIED):
            assert theorem.attained().numbers["mu"] <= theorem.certified().numbers["mu"]


def test_a_claim_below_what_a_strongly_convex_instance_leaks_is_refuted() -> None:
    kind = privacy_result("admm-iteration-strongly-convex")
    theorem = kind.from_parameters({**kind.example, "iterations": 2}, "all")
    certified = theorem.certified().guarantee.epsilon(1e-5)
    for factor, verdict in ((0.999, Verdict.REFUTED), (1.0, Verdict.HOLDS)):
        assert judge(Claim("claim", theorem, factor * certified, 1e-5)).verdict is verdict


def test_charging_state_noise_for_gradient_noise_would_be_caught() -> None:
    """A planted bug: the state bound with σ replaced by ησ is below the exact law."""
    problem = Problem(np.eye(1), np.eye(1), 1e-9 * np.eye(1), [np.zeros((1, 1))] * 4, 1.0, 100.0)
    exact = problem.mu_squared(np.ones(1), 1.0, on_gradient=True)
    assert exact > 10 * certified_admm(problem, 4, smoothness=1.0, noise_in="state")
