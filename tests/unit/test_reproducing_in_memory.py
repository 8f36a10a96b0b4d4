"""Figures whose runs are carried out in groups that fit into memory."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.draws import RandomPermutation, StandardNormal, UniformIndex
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.noise import Streams, numbers_ahead
from dpcalc.algorithms.problems.records import split
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.numerals import spelt_size
from dpcalc.reproduction import computing, setup
from dpcalc.reproduction.memory import Sizes
from dpcalc.reproduction.setup import ExperimentConfig, trace

pytest.importorskip("networkx", reason="the extra algorithms is not installed")

RUNS = 200
MEMORY = 25e6
COLUMNS = 4


def records(count: int, sizes: list[int]) -> Any:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(count, COLUMNS))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return split(rows, np.where(rng.random(count) < 0.5, 1.0, -1.0), len(sizes), sizes=sizes)


def perturbed(count: int) -> Any:
    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.networks import ring

    problem = ConsensusProblem(
        records=records(count, [count - 20, 10, 10]), network=ring(3), loss=Logistic(), ridge=0.1
    )
    kind: Any = load("penalty-perturbation")
    return kind(problem, rounds=1, penalty=1.0, dual_step=1.0, noise_rate=50.0)


def gradients(count: int) -> Any:
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.constraints import copies
    from dpcalc.algorithms.problems.regularisers import lasso

    problem = CompositeProblem(
        records=records(count, [count]),
        loss=Logistic(),
        regulariser=lasso(1e-3),
        constraint=copies(COLUMNS),
    )
    kind: Any = load("dp-admm")
    return kind(problem, rounds=3, penalty=1.0, step_size=0.5, sigma=0.1)


def state_of(state: Any) -> Any:
    name = "primal" if "primal" in state.memory else "x"
    return state.memory[name].reshape(len(state.memory[name]), -1).sum(axis=1)


def measures(algorithm: Any) -> dict[str, Any]:
    """A look at all records in every round, and one at the state."""

    def loss(state: Any) -> Any:
        primal = state.memory.get("primal")
        problem = algorithm.problem
        return problem.value(state.memory["x"]) if primal is None else problem.average_loss(primal)

    return {"loss": loss, "state": state_of}


def estimate(algorithm: Any, at_once: int, runs: int = RUNS) -> int:
    measured = 2 * (algorithm.rounds + 1)
    return Sizes.of(algorithm, 1, held_out=0, measured=measured).estimate(at_once, runs)


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """First run and number of runs of every group that is carried out."""
    carried_out: list[tuple[int, int]] = []
    of_group = setup._of_group

    def noted(*given: Any) -> Any:
        carried_out.append(given[3])
        return of_group(*given)

    monkeypatch.setattr(setup, "_of_group", noted)
    return carried_out


@pytest.mark.parametrize("made", [perturbed, gradients])
def test_groups_are_the_runs_of_the_batch(made: Any, groups: list[tuple[int, int]]) -> None:
    algorithm = made(300)
    asked = measures(algorithm)
    rounds, whole = trace(ExperimentConfig(), algorithm, asked, runs=5)
    enough = estimate(algorithm, 5, 5)
    _, same = trace(ExperimentConfig(memory=enough), algorithm, asked, runs=5)
    small = estimate(algorithm, 2, 5)
    again, parts = trace(ExperimentConfig(memory=small), algorithm, asked, runs=5)
    assert groups == [(0, 5), (0, 5), (0, 2), (2, 2), (4, 1)]
    np.testing.assert_array_equal(rounds, again)
    for name in asked:
        np.testing.assert_array_equal(whole[name], same[name])
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-6)  # other noise is far off
    for first, runs in groups[2:]:
        last = list(algorithm.steps(algorithm.start(1, runs=runs, first_run=first)))[-1]
        np.testing.assert_array_equal(parts["state"][first : first + runs, -1], state_of(last))


@pytest.mark.parametrize("made", [perturbed, gradients])
def test_runs_take_less_than_the_memory_given(made: Any, groups: list[tuple[int, int]]) -> None:
    """Many records, so that an estimate from states alone takes all runs at once."""
    trace(
        ExperimentConfig(), made(300), measures(made(300)), runs=RUNS
    )  # what is imported or compiled
    groups.clear()
    algorithm = made(20_000)
    tracemalloc.start()
    trace(ExperimentConfig(memory=MEMORY), algorithm, measures(algorithm), runs=RUNS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY
    assert len(groups) > 1
    assert sum(runs for _, runs in groups) == RUNS


def test_all_runs_at_once_take_more_than_groups_do() -> None:
    """That the test above can fail: the same runs without a bound."""
    algorithm = perturbed(20_000)
    tracemalloc.start()
    trace(ExperimentConfig(), algorithm, measures(algorithm), runs=RUNS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak > MEMORY


@pytest.mark.parametrize(
    "kind", [StandardNormal((40,)), UniformIndex((30,), high=(9,) * 30), RandomPermutation((7000,))]
)
@pytest.mark.parametrize("runs", [1, 3, 100, 300])
def test_no_batch_draws_more_ahead_than_is_said(kind: Any, runs: int) -> None:
    found = []
    for first in (0, 1, 5, 7, 99):
        streams = Streams(1, runs, first)
        streams.draw(kind, 0, 0)
        found.append(streams._open[0]._ahead.size)
    assert max(found) <= numbers_ahead(kind, runs)
    assert found[0] * 2 >= numbers_ahead(kind, runs) or runs < 3


def test_the_estimate_grows_with_every_size() -> None:
    few, many = perturbed(300), perturbed(3000)
    assert estimate(many, 1) - estimate(few, 1) >= 8 * 2700  # records of a node more
    assert all(a < b for a, b in pairwise(estimate(few, runs) for runs in (1, 2, 30, 200)))
    beside = Sizes.of(few, 1, held_out=1000, measured=6).estimate(10, 10)
    assert beside - Sizes.of(few, 1, held_out=0, measured=6).estimate(10, 10) >= 10 * 8 * 1000


def test_less_than_a_run_needs_is_refused() -> None:
    algorithm = perturbed(300)
    needed = estimate(algorithm, 1, 5)
    size = spelt_size(needed, at_least=True)
    words = rf"memory for one run of 'penalty-perturbation' on 300 records, {size}; got "
    with pytest.raises(InvalidInput, match=words):
        trace(ExperimentConfig(memory=needed - 1), algorithm, measures(algorithm), runs=5)


def test_the_verb_bounds_figures_and_knows_its_memory_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("sklearn", "matplotlib"):
        pytest.importorskip(module, reason="what reproductions need is not installed")

    def compute(config: ExperimentConfig) -> None:
        trace(config, perturbed(300), {"state": state_of}, runs=3)

    monkeypatch.setattr(computing, "experiment", lambda _: SimpleNamespace(compute=compute))
    begun = ["reproduce", "chan2023-table-1", "--out", str(tmp_path / "figures")]
    begun += ["--checkpoint", str(tmp_path / "kept"), "--memory"]
    with pytest.raises(SystemExit) as stopped:
        main([*begun, "1KB"])
    assert stopped.value.code == 2
    assert "memory for one run of 'penalty-perturbation'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([*begun, "1GB", "--resume"])
    assert stopped.value.code == 2
    assert "memory 1000 instead of 1000000000" in capsys.readouterr().err.replace(".0", "")
