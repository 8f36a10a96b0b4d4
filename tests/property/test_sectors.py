"""The bound by multipliers for gradient ADMM against exact laws, and the instance that attains it."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcalc.accounting.iteration import convex_kernels
from dpcalc.accounting.iteration.sector_bounds import cost_after, cost_by_table
from dpcalc.accounting.iteration.sectors import Sectors
from dpcalc.accounting.iteration.worst_run import worst_law
from dpcalc.claims.verdict import Claim, Verdict, judge
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.gradient_admm import Problem, random_problem

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"
INSTANCES = 2_500 if LONG else 8
HALF = Sectors(mpf(0.5), mpf(1), mpf(0), mpf(1), mpf(0), wide=False)


@pytest.mark.parametrize("on_gradient", [False, True])
@pytest.mark.parametrize("square", [False, True])
def test_no_exact_law_exceeds_the_bound(on_gradient: bool, square: bool) -> None:
    """Convex, strongly and weakly convex users, B and g at random, A a multiple of an isometry."""
    rng = np.random.default_rng(3 + 2 * on_gradient + square)
    for _ in range(INSTANCES):
        k, nu = int(rng.integers(2, 8)), 10 ** rng.uniform(-1, 1)
        low = nu * float(rng.choice([0.0, 0.3, -0.1, -1.0]))
        step = float(rng.uniform(0.05, 1.99)) / (nu + max(low, 0.0))
        penalty, curved = 10 ** rng.uniform(-1.5, 1.5), float(rng.choice([0.0, 1.0]))
        draft = random_problem(
            rng, iterations=k, smoothness=nu, strong_convexity=low, g_convexity=curved,
            square=square, step=step, penalty=penalty,
        )  # fmt: skip
        left, _, right = np.linalg.svd(draft.A, full_matrices=False)
        a = 10 ** rng.uniform(-1, 1)
        problem = Problem(a * left @ right, draft.B, draft.G, draft.hessians, step, penalty)
        coupling = float(np.linalg.norm(problem.A.T @ problem.B, 2))
        kept = curved / (curved + penalty * (coupling / a) ** 2) * (1 - 1e-12)
        e = step * penalty * a * a
        sectors = Sectors(
            mpf(e), mpf((1 + e) ** 2 if on_gradient else 1), mpf(1 - step * nu),
            mpf(1 - step * low), mpf(kept), wide=not square,
        )  # fmt: skip
        certified = float(cost_after(sectors, k)) * (1 if on_gradient else step**2)
        changes = np.vstack([rng.normal(size=(3, problem.A.shape[1])), np.linalg.svd(problem.A)[2]])
        changes /= np.linalg.norm(changes, axis=1, keepdims=True)
        exact = max(problem.mu_squared(c, 1.0, on_gradient=on_gradient) for c in changes)
        assert exact <= certified * (1 + 1e-6)  # least squares of ill-conditioned maps


@pytest.mark.parametrize("iterations", [2, 3, 5, 11, 41, 1000])
def test_an_instance_attains_the_bound(iterations: int) -> None:
    jump = 1 / (1 + HALF.pull)
    attained = worst_law(HALF, iterations, jump, mpf(1)).surely_revealed()
    certified = cost_after(HALF, iterations)
    assert 0.998 < attained / certified <= 1
    assert cost_by_table(HALF, iterations) <= certified * mpf(1.01)


def test_three_iterations_by_hand() -> None:
    """g of r = 1 and r = q, f = 0, e = 1/2, in rationals: 20/29 of the local μ² at q = 14/15."""

    def revealed(q: Fraction) -> Fraction:
        e, d, c = (
            Fraction(1, 2),
            (Fraction(1), Fraction(0)),
            (Fraction(1), Fraction(0), Fraction(0)),
        )
        for r in (Fraction(1), q):
            swing = e * (2 * r - 1)
            m = ((1 - swing) / (1 + e), swing / (1 + e), -r, r)
            d = m[0] * d[0] + m[1] * d[1], m[2] * d[0] + m[3] * d[1]
            c = (
                m[0] ** 2 * c[0] + 2 * m[0] * m[1] * c[1] + m[1] ** 2 * c[2] + 1,
                m[0] * m[2] * c[0] + (m[0] * m[3] + m[1] * m[2]) * c[1] + m[1] * m[3] * c[2],
                m[2] ** 2 * c[0] + 2 * m[2] * m[3] * c[1] + m[3] ** 2 * c[2],
            )
        det = c[0] * c[2] - c[1] ** 2
        return (c[2] * d[0] ** 2 - 2 * c[1] * d[0] * d[1] + c[0] * d[1] ** 2) / det

    best = max(revealed(Fraction(k, 1000)) for k in range(1, 1000))
    certified = cost_after(HALF, 3) * (1 + HALF.pull) ** 2
    assert float(best) == pytest.approx(20 / 29, rel=1e-5)
    assert float(best) <= float(certified) == pytest.approx(20 / 29, rel=1e-6)


@pytest.mark.parametrize("wrong", ["half the cost", "a curved g", "contracting steps"])
def test_planted_mistakes_fall_below_an_exact_law(wrong: str) -> None:
    """Every noise counted twice, or a condition that g or f need not satisfy."""
    planted = {
        "half the cost": replace(HALF, cost=HALF.cost / 2),
        "a curved g": replace(HALF, kept=mpf(0.2)),
        "contracting steps": replace(HALF, most=mpf(0.9)),
    }[wrong]
    for iterations in (2, 6) if wrong == "half the cost" else (6, 20):
        exact = worst_law(HALF, iterations, 1 / (1 + HALF.pull), mpf(1)).surely_revealed()
        assert cost_after(planted, iterations) < exact * mpf(0.99)


def test_the_kernel_of_a_wide_matrix_is_a_random_walk() -> None:
    """μ² = 1/k of the local one, exactly."""
    wide = replace(HALF, pull=mpf(3), wide=True)
    for iterations in (2, 7, 40):
        assert float(cost_after(wide, iterations)) == pytest.approx(1 / iterations, rel=1e-7)


def test_long_runs_lose_little_and_never_to_shorter_ones() -> None:
    ideal = [float(cost_after(HALF, k) * (k - 1)) * 2.25 for k in (64, 65, 512, 513, 10**6)]
    assert all(1 <= x < 1.02 for x in ideal)
    ends = [cost_by_table(HALF, k) for k in (50, 64, 65, 512, 513, 5000)]
    assert ends == sorted(ends, reverse=True)


def test_never_above_the_bound_by_kernels_at_the_examples() -> None:
    for e in (0.05, 0.5, 5.0, 50.0):
        kernels = convex_kernels(
            step_size=1, penalty=e, sensitivity=1, min_singular_value=1, square=True
        )
        for k in (2, 5, 17, 100, 3000):
            found = cost_after(replace(HALF, pull=mpf(e)), k)
            assert found <= kernels.mu_squared(1.0, k) * (1 + mpf(1e-6))


def test_g_may_have_a_curvature_of_its_own_in_every_iteration() -> None:
    """Gradient ADMM as it stands, g piecewise quadratic, users' linear terms that steer y.

    Two runs with the same noise differ as the linear law with those curvatures says. Places lie 10⁶
    apart, where doubles are right to 10⁻¹⁰ and noise of 1 never leaves one.
    """
    rng = np.random.default_rng(8)
    eta, beta, curvatures = 0.5, 1.0, [3.0, 0.0, 0.4, 50.0, 0.1]
    places = 1e6 * (1 + np.arange(len(curvatures)))
    bases = 1e9 * np.arange(len(curvatures))  # g' at the places, increasing faster than they do

    def slope(y: float) -> float:
        k = int(np.argmin(abs(places - y)))
        assert abs(places[k] - y) < 1e3
        return float(bases[k] + curvatures[k] * (y - places[k]))

    def best_y(w: float) -> float:
        """g'(y) + βy = -w, B = -1."""
        for base, place, curvature in zip(bases, places, curvatures, strict=True):
            y = place + (-w - base - beta * place) / (curvature + beta)
            if abs(y - place) < 1e3:
                return float(y)
        raise AssertionError("left its place")

    order = rng.permutation(len(curvatures))
    noise = rng.normal(size=len(curvatures) + 1)
    moved = rng.uniform(0, 1, len(curvatures))
    target = [-(bases[k] + beta * places[k]) for k in order]
    runs = []
    terms: list[float] = []
    for first in (0.0, 1.0):
        # The own iteration ends where w suits the first place; the runs' jumps differ by 1.
        lam, x = 0.0, -target[0] / beta + first + noise[0]
        states = [(x, lam)]
        for t in range(len(curvatures)):
            w = lam - beta * x
            y = best_y(w)
            lam_next = w + beta * y
            assert abs(slope(y) + lam_next) < 1e-3
            gradient_free = moved[t] * x + eta * (2 * lam_next - w)
            if not first:
                wanted = (lam_next - target[t + 1]) / beta if t + 1 < len(target) else 0.0
                terms.append(gradient_free - wanted * (1 + eta * beta))
            x, lam = (gradient_free - terms[t]) / (1 + eta * beta) + noise[t + 1], lam_next
            states.append((x, lam))
        runs.append(np.array(states))
    difference = runs[1] - runs[0]
    x, ell, e = 1.0, 0.0, eta * beta
    for t, k in enumerate(order):
        r = curvatures[k] / (curvatures[k] + beta)
        x, ell = (moved[t] * x + e * (2 * r - 1) * (ell - x)) / (1 + e), r * (ell - x)
        assert difference[t + 1] == pytest.approx((x, ell * beta), abs=1e-5)


@pytest.mark.parametrize("key", ["admm-iteration", "admm-iteration-strongly-convex"])
def test_claims_below_what_is_attained_are_refuted_after_many_iterations(key: str) -> None:
    kind = privacy_result(key)
    theorem = kind.from_parameters({**kind.example, "iterations": 10}, "all")
    certified = theorem.certified().guarantee.epsilon(1e-6)
    for factor, verdict in ((0.98, Verdict.REFUTED), (1.0, Verdict.HOLDS), (1.2, Verdict.LOOSE)):
        assert judge(Claim("claim", theorem, factor * certified, 1e-6)).verdict is verdict


def test_steps_that_forget_everything_and_extreme_sizes_have_an_answer() -> None:
    """One curvature and the step that is its inverse: nothing is left in the kernel of a wide A."""
    kind = privacy_result("admm-iteration-strongly-convex")
    given = {**kind.example, "step_size": 2.0 * (1 - 1e-9), "square": False, "iterations": 4}
    theorem = kind.from_parameters(given)
    assert theorem.attained().numbers["mu"] <= theorem.certified().numbers["mu"]
    forgetting = replace(HALF, least=mpf(0), most=mpf(0), wide=True)
    assert 0 <= cost_after(forgetting, 7) < 1
    for pull in ("1e-200", "1e-9", "1e9", "1e200"):
        for wide in (False, True):
            extreme = replace(HALF, pull=mpf(pull), wide=wide)
            assert cost_after(extreme, 9) >= 0


def test_a_step_that_may_double_a_difference_has_an_answer() -> None:
    doubling = replace(HALF, most=mpf(2), least=mpf(-1))
    assert math.isfinite(float(cost_after(doubling, 60)))
