"""Noisy fixed-point ADMM: one step by another minimiser, the limit without noise, the transcript's law."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.minimise import minimise
from dpcalc.algorithms.problems.records import split
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.theorems import FixedPointADMM as Bound
from dpcalc.vocabulary import Release

EXAMPLE = load("fixed-point-admm").example()


def soft(v: np.ndarray, by: float) -> np.ndarray:
    return np.sign(v) * np.maximum(np.abs(v) - by, 0.0)


def mean_loss(problem, x: np.ndarray) -> float:
    margins = problem.records.labels * (problem.records.features @ x)
    return float(np.logaddexp(0, -margins).mean() + problem.ridge / 2 * x @ x)


def test_one_step_is_the_printed_one_by_another_minimiser() -> None:
    """Nelder-Mead knows function values only; 1e-8 in them leaves 1e-4 in the point."""
    algorithm, start = replace(EXAMPLE, rounds=1, sigma=0.0), np.array([0.7, -0.4, 0.2])
    algorithm = replace(algorithm, initial=start)
    gamma, relaxed, problem = algorithm.prox_step, algorithm.relaxation, algorithm.problem
    x = soft(start, gamma * problem.regulariser.l1)
    v = 2 * x - start

    def height(p: np.ndarray) -> float:
        return mean_loss(problem, p) + ((p - v) ** 2).sum() / (2 * gamma)

    inner = minimize(height, v, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}).x
    found = algorithm.run(0)["z"][0, 0]
    assert found == pytest.approx(start + 2 * relaxed * (inner - x), abs=1e-4)


def test_without_noise_it_ends_at_the_minimiser() -> None:
    algorithm = replace(EXAMPLE, rounds=400, sigma=0.0)
    problem, l1 = algorithm.problem, algorithm.problem.regulariser.l1
    x = algorithm.run(0, release=Release.LAST_ITERATE)["x"][0]

    def height(p: np.ndarray) -> float:
        return mean_loss(problem, p) + l1 * np.abs(p).sum()

    best = height(x)
    rng = np.random.default_rng(3)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(200):
            assert height(x + size * rng.standard_normal(3)) >= best - 1e-12


def test_noise_has_the_relaxed_scale() -> None:
    """The variance of 4,000 draws in three dimensions; six standard errors, one alarm in 5e8."""
    algorithm = replace(EXAMPLE, rounds=1)
    z = algorithm.run(5, runs=4000)["z"][:, 0]
    quiet = replace(algorithm, sigma=0.0).run(5)["z"][0, 0]
    scale = algorithm.relaxation * algorithm.sigma
    share = ((z - quiet) ** 2).mean() / scale**2
    assert abs(share - 1) < 6 * np.sqrt(2 / 12_000)


def test_its_sensitivity_is_that_of_the_bound() -> None:
    problem = EXAMPLE.problem
    slope = problem.loss.derivative_bound * problem.records.row_bound
    bound = Bound(
        sensitivity=2 * slope,
        n_records=problem.count,
        steps=EXAMPLE.rounds,
        prox_step=EXAMPLE.prox_step,
        relaxation=EXAMPLE.relaxation,
        strong_convexity=problem.ridge,
        sigma=EXAMPLE.sigma,
    )
    chain = bound.descent()
    for access in EXAMPLE.data_accesses():
        assert access.sensitivity == pytest.approx(float(chain.step_sensitivity), rel=1e-12)
        assert access.noise.sigma == pytest.approx(float(chain.noise), rel=1e-12)


@pytest.mark.parametrize("wrong", [{"relaxation": 0.0}, {"relaxation": 1.1}, {"prox_step": -1.0}])
def test_wrong_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        replace(EXAMPLE, **wrong)


def test_another_constraint_is_refused() -> None:
    problem = load("dp-admm").example().problem
    with pytest.raises(InvalidInput, match="x - y = 0"):
        replace(EXAMPLE, problem=problem)


def test_options_that_it_does_not_use_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It has no augmented Lagrangian and no chain; a value for either would be without effect."""
    for option in (["--penalty", "5"], ["--fused", "chain"]):
        words = ["run", "fixed-point-admm", "--epsilon", "1", "--delta", "1e-6", "--seed", "1"]
        with pytest.raises(SystemExit) as stopped:
            main([*words, *option])
        assert stopped.value.code == 2
        assert option[0] in capsys.readouterr().err


def test_a_proximal_step_leaves_rows_as_they_are() -> None:
    """Rows times labels, and in single precision; rows in other coordinates were one and a half more."""
    rng, n, d = np.random.default_rng(0), 20_000, 50
    rows = rng.normal(size=(n, d)) / 10
    records = split(rows, np.sign(rows[:, 0]), 1, row_bound=2.0)
    problem = replace(EXAMPLE.problem, records=records, constraint=copies(d))
    q = rng.normal(size=(1, d)) / 10
    replace(problem).x_step(q, 0.25, q)  # what is imported once
    tracemalloc.start()
    try:
        found = problem.x_step(q, 0.25, q)
        assert tracemalloc.get_traced_memory()[1] < 2 * rows.nbytes
    finally:
        tracemalloc.stop()
    slope = problem.gradient(found.points) + 0.25 * (found.points + q)
    np.testing.assert_allclose(slope, 0, atol=1e-14)
    L = np.sqrt(0.25 + problem.ridge)
    whitened, factor = problem._whitened(0.25)
    np.testing.assert_allclose(factor, L * np.eye(d), rtol=1e-15)
    other = minimise(whitened, 0.25 * q / L, 1.0, q * L).points / L
    np.testing.assert_allclose(found.points, other, rtol=1e-12)
