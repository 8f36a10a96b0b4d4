"""Seven workers, and little for them to do: the same bytes as alone, whatever verb asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing.sampling import runner
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.estimators import ADMMClassifier, PrivateSearchCV
from dpcalc.execution import Processes
from dpcalc.store import open_store
from dpcalc.training.catalogue import method
from dpcalc.training.data import load, split
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import PreparedRun, prepare
from dpcalc.training.repetition import Repetition, repeated

RUN = "run dp-admm --epsilon 1 --delta 1e-6 --rounds 3 --runs 9 --runs-at-once 2 --seed 4 --json"
GRID = """
theorem = "dp-admm"
delta = 1e-6
[parameters]
n_records = 100
gradient_bound = 1
dual_start = "zero"
rounds = [1, 2, 3]
sigma = [0.1, 0.2, 0.3]
"""
CLAIMS = """
[[claim]]
name = "mine"
theorem = "dp-admm"
epsilon = 1
delta = 1e-5
attest = "all"
parameters = { n_records = 100, rounds = 2, gradient_bound = 1, dual_start = "zero" }
"""


@pytest.fixture(scope="module")
def seven() -> Iterator[Processes]:
    with Processes(7) as executor:
        yield executor


@pytest.fixture
def shared(seven: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One set of seven processes for every command."""

    class Kept:
        def __init__(self, workers: int, timeout: float | None = None) -> None:
            assert (workers, timeout) == (7, None)

        def __enter__(self) -> Processes:
            return seven

        def __exit__(self, *_: object) -> None:
            """The fixture ends them."""

    monkeypatch.setattr("dpcalc.execution.Processes", Kept)


def told(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, times left out."""
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code in (0, 1, 3)

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k != "seconds"}
        return [timeless(v) for v in value] if isinstance(value, list) else value

    return json.dumps(timeless(json.loads(capsys.readouterr().out)))


@pytest.mark.parametrize(
    "words",
    [
        RUN,
        "audit dp-admm --case zero-start --runs 60 --seed 1 --no-controls --json",
        "verify claims.toml --audit --runs 60 --json",
        "sweep grid.toml --json",
    ],
    ids=lambda words: words.split()[0],
)
def test_seven_processes_print_what_one_prints(
    words: str,
    shared: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(GRID, encoding="utf-8")
    Path("claims.toml").write_text(CLAIMS, encoding="utf-8")
    assert told(f"{words} --workers 7", capsys) == told(words, capsys)


@cache
def planned() -> PreparedRun:
    kind = method("private-r-admm")
    chosen = kind.from_parameters({"rounds": 3})
    from dpcalc.training.graph import network

    ring = network("ring", 3, 0)
    return prepare(
        chosen, split(load("builtin")).records(3), network=ring, budget=Budget(1.0, 1e-6)
    )


TEN = Repetition(runs=10, at_once=3, full_release=True, measure_every=1)


@pytest.mark.parametrize("workers", ["seven", "threads"])
def test_runs_on_any_executor_are_the_runs_made_here(workers: str, seven: Processes) -> None:
    alone = repeated(planned(), 5, repetition=TEN)
    assert alone.runs == 10
    with ThreadPoolExecutor(7) as threads:
        executor: Executor = seven if workers == "seven" else threads
        assert repeated(planned(), 5, repetition=TEN, executor=executor) == alone


def test_groups_are_runs_of_the_same_seed() -> None:
    """The same runs, up to what linear algebra makes of a batch of another size."""
    whole = repeated(planned(), 5, repetition=Repetition(runs=10, full_release=True))
    parts = repeated(planned(), 5, repetition=TEN)
    np.testing.assert_allclose(parts["primal"], whole["primal"], rtol=1e-9, atol=1e-12)


def test_a_real_run_takes_a_key_for_every_group(seven: Processes) -> None:
    found = repeated(planned(), repetition=TEN, executor=seven)
    assert not found.experiment
    assert len({run.tobytes() for run in found["primal"]}) == 10


def test_finished_groups_are_kept_and_their_keys_are_not(tmp_path: Path) -> None:
    path, ready = tmp_path / "kept", planned()
    alone = repeated(ready, 5, repetition=TEN)

    def stop(done: int) -> None:
        if done == 5:  # the second of three rounds of the second group
            raise KeyboardInterrupt

    with open_store(path, {}) as file, pytest.raises(KeyboardInterrupt):
        repeated(ready, 5, repetition=TEN, store=file.section("runs"), progress=stop)
    seen: list[int] = []
    with open_store(path, {}) as file:
        store = file.section("runs")
        assert repeated(ready, 5, repetition=TEN, store=store, progress=seen.append) == alone
        assert not [name for name in file.names() if name.endswith("/state")]
        assert seen[:3] == [3, 6, 6]  # of the second group, the third round alone is made
        with pytest.raises(InvalidInput, match="at once 3 instead of 4"):
            repeated(ready, 5, repetition=Repetition(runs=10, at_once=4), store=store)


def test_attacks_on_claims_go_on_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("claims.toml").write_text(CLAIMS, encoding="utf-8")
    words = "verify claims.toml --audit --runs 60 --json"
    alone = told(words, capsys)
    assert told(f"{words} --checkpoint kept", capsys) == alone
    Path("moved.toml").write_text(CLAIMS, encoding="utf-8")  # the same claims, by another path
    made, again = runner.made, []

    def spy(*given: Any) -> Any:
        again.append(given[-1])
        return made(*given)

    monkeypatch.setattr(runner, "made", spy)
    moved = "verify moved.toml --audit --runs 60 --json --checkpoint kept --resume"
    assert told(moved, capsys) == alone
    assert all(piece.look for piece in again)  # what is looked at is made every time
    Path("moved.toml").write_text(CLAIMS.replace("rounds = 2", "rounds = 3"), encoding="utf-8")
    for other, said in (
        ("verify moved.toml --audit --runs 60 --checkpoint kept", "digest of the claims"),
        ("verify claims.toml --audit --runs 70 --checkpoint kept", "runs 60 instead of 70"),
        ("verify claims.toml --checkpoint kept", "--checkpoint and --resume go with --audit"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(other.split())
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err


def test_a_search_on_seven_workers_finds_the_same_model(seven: Processes) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) / 3
    y = np.where(X[:, 0] > 0, 1, 0)
    grid = {"rounds": [2, 3]}
    found = [
        PrivateSearchCV(ADMMClassifier(), grid, epsilon=20, expected=4, random_state=7).fit(
            X, y, executor=executor
        )
        for executor in (None, seven)
    ]
    here, there = found
    assert here.best_score_ == there.best_score_
    assert here.best_params_ == there.best_params_
    assert here.best_estimator_.coef_.tobytes() == there.best_estimator_.coef_.tobytes()


def test_workers_without_groups_to_share_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*RUN.replace("--runs-at-once 2", "").split(), "--workers", "2"])
    assert stopped.value.code == 2
    assert "--runs 8 --runs-at-once 2" in capsys.readouterr().err
