"""A Dask cluster of two workers on this machine: started, used, broken and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput, WorkersLost
from dpcalc.execution import Limited, in_order
from dpcalc.execution import cluster as own

distributed: Any = pytest.importorskip("distributed", reason="the extra scale is not installed")

PURE = Claim.of(epsilon=0.8, adjacency="add-remove")
TARGET = """
from dpcalc.auditing import mechanism

def release(data, generator, runs):
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
"""


def local(workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import dask

    # Workers that die are told at once, instead of after three tries of the scheduler's own.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local(2) as cluster:
        yield cluster.scheduler_address


def without_times(text: str) -> str:
    record = json.loads(text)
    for result in record["results"]:
        del result["seconds"]
    return json.dumps(record)


def test_an_audit_on_two_workers_has_the_same_bits(address: str) -> None:
    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        return data + generator.laplace(size=runs)

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="own")
    with own.cluster(address) as executor:
        found = audit(target, PURE, seed=3, runs=4000, executor=executor)
    assert found.record() == audit(target, PURE, seed=3, runs=4000).record()


def test_trainings_and_searches_have_the_same_bits(address: str) -> None:
    from dpcalc.estimators import ADMMClassifier, PrivateSearchCV
    from dpcalc.training.catalogue import method
    from dpcalc.training.data import load, split
    from dpcalc.training.method import Budget
    from dpcalc.training.prepared_run import prepare
    from dpcalc.training.repetition import Repetition, repeated

    chosen = method("dp-admm").from_parameters({"rounds": 3})
    ready = prepare(chosen, split(load("builtin")).records(), budget=Budget(1.0, 1e-6))
    five = Repetition(runs=5, at_once=2, measure_every=1)
    X = np.random.default_rng(1).normal(size=(120, 3)) / 3
    y = X[:, 0] > 0
    search = PrivateSearchCV(
        ADMMClassifier(), {"rounds": [2, 3]}, epsilon=20, expected=3, random_state=7
    )
    with own.cluster(address) as executor:
        assert repeated(ready, 5, repetition=five, executor=executor) == repeated(
            ready, 5, repetition=five
        )
        there = search.fit(X, y, executor=executor).best_estimator_.coef_.tobytes()
    assert there == search.fit(X, y).best_estimator_.coef_.tobytes()


def test_the_command_line_sends_ones_own_module(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "only_here.py").write_text(TARGET, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["audit", "only_here:target", "--claim", "eps=0.8", "--runs", "3000", "--seed", "1"]
    told = []
    for more in ([], ["--scheduler", address]):
        with pytest.raises(SystemExit) as stopped:
            main([*words, "--json", *more])
        told.append((stopped.value.code, without_times(capsys.readouterr().out)))
    sys.modules.pop("only_here", None)
    assert told[0] == told[1]


def test_a_scheduler_that_goes_away_ends_it() -> None:
    def slow(number: int) -> int:
        import time

        time.sleep(0.05)
        return number

    with local(1) as cluster:
        begun = own.cluster(cluster.scheduler_address, patience=5)
        with begun as executor:
            found = in_order(slow, range(10_000), executor, what="run")
            assert next(found) == 0
            cluster.close()
            with pytest.raises(WorkersLost):
                list(found)


def test_a_worker_that_hangs_is_not_waited_for_beyond_the_limit() -> None:
    with (
        local(1) as cluster,
        own.cluster(cluster.scheduler_address) as executor,
        pytest.raises(WorkersLost, match=r"run 1 and 1 more .* cannot be ended from here"),
    ):
        list(in_order(time.sleep, [600, 600], Limited(executor, timeout=1), what="run"))


def test_an_address_where_nobody_answers_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"nobody answered at 'tcp://127\.0\.0\.1:9'"):  # noqa: SIM117
        with own.cluster("tcp://127.0.0.1:9", patience=0.5):
            pass
    with pytest.raises(InvalidInput, match="nobody answered at 'nonsense'"):  # noqa: SIM117
        with own.cluster("nonsense", patience=0.5):
            pass


def test_workers_of_other_versions_are_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = own.versions()
    monkeypatch.setattr("dpcalc.__version__", "0.0.0")
    with pytest.raises(InvalidInput, match=f"dpcalc {here['dpcalc']} instead of 0.0.0"):  # noqa: SIM117
        with own.cluster(address):
            pass


def test_one_of_workers_and_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "dp-admm", "--workers", "2", "--scheduler", "tcp://127.0.0.1:9"])
    assert stopped.value.code == 2
    assert "one of --workers and --scheduler" in capsys.readouterr().err


def test_a_cluster_is_loaded_only_when_asked_for() -> None:
    code = "import sys, dpcalc.cli.audit, dpcalc.execution; print('distributed' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_a_worker_that_dies_is_told_by_name(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with (
        own.cluster(address) as executor,
        pytest.raises(WorkersLost, match="run 1 was lost 3 times"),
    ):
        list(in_order(os._exit, [9], executor, what="run"))
    assert "lost with its worker" in caplog.text


def test_futures_that_nobody_will_finish_are_given_up() -> None:
    """Where the line to whoever gives out the work is gone, pending futures are no hope."""

    class Silent(ThreadPoolExecutor):
        alive = staticmethod(lambda: False)

        def submit(self, *_: object, **__: object) -> Future[bytes]:  # type: ignore[override]
            return Future()

    with pytest.raises(WorkersLost, match="whoever gives out the work is gone"):
        list(in_order(abs, range(3), Silent(1), what="run"))
