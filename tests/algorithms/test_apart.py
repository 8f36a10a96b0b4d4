"""Network algorithms with every node by itself: the bits of the simulation, and no other's records."""

from __future__ import annotations

import errno
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms import catalogue, load
from dpcalc.algorithms.engine.apart import carry_out_apart, node_rounds
from dpcalc.algorithms.engine.networked import NetworkAlgorithm
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput, WorkersLost

KEYS = [key for key in catalogue() if issubclass(load(key), NetworkAlgorithm)]


def example(key: str) -> Any:
    return load(key).example()


def rounds_of_all(algorithm: Any, seed: int | None, runs: int) -> list[list[dict[str, Any]]]:
    """What every node releases, each in a thread that has nothing but its own part."""
    nodes = algorithm.problem.nodes
    links: list[dict[int, Any]] = [{} for _ in range(nodes)]
    for i, j in algorithm.problem.network.edges:
        links[i][j], links[j][i] = multiprocessing.Pipe()

    def node(i: int) -> list[dict[str, Any]]:
        return list(node_rounds(algorithm.alone(i), links[i], seed, runs=runs))

    with ThreadPoolExecutor(nodes) as threads:
        return list(threads.map(node, range(nodes)))


def test_all_methods_of_the_papers_can_be_taken_apart() -> None:
    assert {"private-r-admm", "penalty-perturbation", "private-dual-averaging"} <= set(KEYS)
    assert len(KEYS) >= 12


@pytest.mark.parametrize("key", [*KEYS, "averages"])
def test_nodes_by_themselves_make_the_bits_of_the_simulation(key: str) -> None:
    algorithm = example("private-dual-averaging" if key == "averages" else key)
    if key == "averages":
        algorithm = replace(algorithm, gradients_at=key)
    whole = algorithm.run(3, runs=2)
    told = rounds_of_all(algorithm, 3, 2)
    for name, series in whole.released.items():
        for i, rounds in enumerate(told):
            if "rounds" not in series.axes:
                final = rounds[0].get(name, rounds[-1].get(name))
                assert final.tobytes() == series.values[:, i].tobytes()
                continue
            for t in range(algorithm.rounds):
                assert rounds[t + 1][name].tobytes() == series.values[:, t, i].tobytes()


@pytest.mark.parametrize("key", KEYS)
def test_what_a_node_is_given_depends_on_its_own_records_alone(key: str) -> None:
    algorithm = example(key)
    records = algorithm.problem.records
    rows, labels = -records.features[::-1], records.labels[::-1].copy()
    own = records.slices[1]
    rows[own], labels[own] = records.features[own], records.labels[own]
    others = algorithm.with_records(
        type(records)(features=rows, labels=labels, sizes=records.sizes)
    )
    assert pickle.dumps(others.alone(1)) == pickle.dumps(algorithm.alone(1))
    assert pickle.dumps(others.alone(0)) != pickle.dumps(algorithm.alone(0))


def test_real_runs_draw_keys_of_their_own() -> None:
    found = rounds_of_all(example("private-r-admm"), None, 1)
    again = rounds_of_all(example("private-r-admm"), None, 1)
    assert not np.array_equal(found[0][1]["primal"], again[0][1]["primal"])


def test_a_message_of_another_round_is_refused() -> None:
    algorithm = example("m-admm")
    here, there = multiprocessing.Pipe()
    there.send_bytes((7).to_bytes(8, "little") + bytes(8 * algorithm.problem.dimension))
    links: dict[int, Any] = dict.fromkeys(range(1, algorithm.problem.nodes), here)
    node = node_rounds(algorithm.alone(0), links, 1)
    next(node)
    with pytest.raises(InvalidInput, match=r"a message of round 1 .* of round 7"):
        next(node)


def test_processes_make_a_transcript_that_is_the_simulated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpcalc.training.diagnosis.diagnosis", lambda *_: None)  # slow, and no part
    words = "run r-admm --rounds 3 --nodes 2 --graph path --seed 1"
    for more in ("--out whole.npz --measure-every 0", "--apart --out apart.npz"):
        with pytest.raises(SystemExit) as stopped:
            main([*words.split(), *more.split(), "--json"])
        assert stopped.value.code == 0
    assert Path("whole.npz").read_bytes() == Path("apart.npz").read_bytes()


def test_a_node_that_dies_ends_the_run() -> None:
    def kill(done: int, _: int) -> None:
        if done == 1:
            multiprocessing.active_children()[-1].kill()

    with pytest.raises(WorkersLost, match="nothing is released"):
        carry_out_apart(example("m-admm"), 1, progress=kill)


def test_a_process_that_cannot_be_started_is_what_the_error_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(multiprocessing.get_context("spawn").Process, "start", full)
    with pytest.raises(OSError, match="no more processes"):
        carry_out_apart(example("m-admm"), 1)
    assert not multiprocessing.active_children()


def test_more_edges_than_files_may_be_open_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(multiprocessing, "Pipe", full)
    with pytest.raises(InvalidInput, match=r"Too many open files.*ulimit -n \d+"):
        carry_out_apart(example("m-admm"), 1)


def test_what_makes_no_sense_apart_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    network = "run private-r-admm --epsilon 1 --delta 1e-6 --rounds 2 --apart"
    for words, said in (
        ("run dp-admm --epsilon 1 --delta 1e-6 --apart", "needs a method on a network"),
        (f"{network} --workers 2", "go with a run that is not --apart"),
        (f"{network} --checkpoint kept", "go with a run that is not --apart"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(words.split())
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err
