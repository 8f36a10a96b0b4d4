"""ADMM as a noisy fixed-point iteration: exact laws of random quadratics never exceed the bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.errors import InvalidInput
from dpcalc.theorems import FixedPointADMM
from dpcalc.vocabulary import Release


def _proximal(hessian: np.ndarray, step: float) -> np.ndarray:
    """prox of a quadratic without linear term, as a matrix; a linear term is what a record changes."""
    return np.linalg.inv(np.eye(len(hessian)) + step * hessian)


def _turned(angle: float, low: float, high: float) -> np.ndarray:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ np.diag([low, high]) @ turn.T


def exact_mu(
    theorem: FixedPointADMM, f: np.ndarray, g: np.ndarray, direction: np.ndarray
) -> tuple[float, float]:
    """μ of the last z and of all of them, if f and g have these Hessians in the plane."""
    step, relaxed = theorem.prox_step, theorem.relaxation
    inner, outer, one = _proximal(f, step), _proximal(g, step), np.eye(2)
    # z <- z + 2λ(prox_f(2 prox_g(z) - z) - prox_g(z)) + λξ, written out without reflections
    linear = one + 2 * relaxed * (inner @ (2 * outer - one) - outer)
    jump = 2 * relaxed * inner @ (step * theorem.sensitivity / theorem.n_records * direction)
    gap, covariance, whole = np.zeros(2), np.zeros((2, 2)), 0.0
    for _ in range(theorem.steps):
        gap = linear @ gap + jump
        covariance = linear @ covariance @ linear.T + (relaxed * theorem.sigma) ** 2 * one
        whole += float(jump @ jump) / (relaxed * theorem.sigma) ** 2
    return float(np.sqrt(gap @ np.linalg.solve(covariance, gap))), float(np.sqrt(whole))


@given(
    steps=st.integers(1, 12),
    step=st.floats(0.05, 8),
    relaxed=st.floats(0.05, 1),
    curvatures=st.tuples(st.floats(0.01, 4), st.floats(0.01, 4)),
    other=st.tuples(st.floats(0, 50), st.floats(0, 50)),
    angles=st.tuples(st.floats(0, 3.2), st.floats(0, 3.2), st.floats(0, 3.2)),
)
def test_no_quadratics_exceed_the_certified_bound(
    steps: int,
    step: float,
    relaxed: float,
    curvatures: tuple[float, float],
    other: tuple[float, float],
    angles: tuple[float, float, float],
) -> None:
    low, high = sorted(curvatures)
    theorem = FixedPointADMM(
        sensitivity=1,
        n_records=1,
        steps=steps,
        prox_step=step,
        relaxation=relaxed,
        strong_convexity=low,
        smoothness=high,
        sigma=1,
        release=Release.LAST_ITERATE,
    )
    direction = np.array([np.cos(angles[2]), np.sin(angles[2])])
    last, whole = exact_mu(
        theorem, _turned(angles[0], low, high), _turned(angles[1], *other), direction
    )
    # Some hundred products in two dimensions, well conditioned: far below a part in 10^10.
    slack = 1 + 1e-10
    assert last <= theorem.certified().numbers["mu"] * slack
    transcript = theorem.replace(release=Release.EVERY_ITERATE).certified().numbers["mu"]
    assert max(last, whole) <= transcript * slack


def test_the_smallest_curvature_attains_it_for_small_steps() -> None:
    theorem = FixedPointADMM(
        sensitivity=1,
        n_records=4,
        steps=9,
        prox_step=0.5,
        relaxation=0.75,
        strong_convexity=0.5,
        smoothness=2,
        sigma=0.5,
        release=Release.LAST_ITERATE,
    )
    last, _ = exact_mu(theorem, 0.5 * np.eye(2), np.zeros((2, 2)), np.array([1.0, 0.0]))
    assert last == pytest.approx(theorem.certified().numbers["mu"], rel=1e-12)
    attained = theorem.attained().numbers["mu"]
    assert attained == pytest.approx(last, rel=1e-12)
    assert attained <= theorem.certified().numbers["mu"]


def test_a_step_on_one_users_block_can_expand() -> None:
    """Why blocks are not covered: two users, f₂ = 0, g = 0, λ = 1, user 2 chosen k - 1 times."""
    k, shift, noise = 6, 1.0, 1.0
    copy = np.array([[1.0, 0.0], [1.0, 0.0]])  # consensus puts user 1's value into user 2's block
    assert np.linalg.norm(copy, 2) == pytest.approx(np.sqrt(2))
    gap, covariance = np.array([shift, 0.0]), np.diag([noise**2, 0.0])
    for _ in range(k - 1):
        gap = copy @ gap
        covariance = copy @ covariance @ copy.T + np.diag([0.0, noise**2])
    mean = np.array([0.5, 0.5])
    mu = mean @ gap / np.sqrt(mean @ covariance @ mean)
    assert mu == pytest.approx(2 / np.sqrt(5))  # .894, whatever k is
    assert mu > shift / (noise * np.sqrt(k))


@pytest.mark.parametrize("wrong", [{"relaxation": 1.5}, {"relaxation": 0}, {"smoothness": 0.1}])
def test_wrong_parameters_are_refused(wrong: dict[str, float]) -> None:
    given = {**FixedPointADMM.example, **wrong}
    with pytest.raises(InvalidInput):
        FixedPointADMM.from_parameters(given)
