"""Messages of running systems, kept and gathered into transcripts that an audit takes."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
from pathlib import Path
from types import SimpleNamespace as Plain
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, Outcome
from dpcalc.auditing.transcripts import audit_transcripts
from dpcalc.errors import InvalidInput
from dpcalc.recorders import MessageRecorder, gathered, recorded_run
from dpcalc.recorders.decentralizepy import record_sharing
from dpcalc.recorders.flower import RecordReplies
from dpcalc.vocabulary import Release


def _node(recorder: MessageRecorder, node: int) -> None:
    for round_ in (1, 2):
        recorder.record(round_, node, {"model": np.array([node, round_], dtype=np.float32)})


def test_messages_of_processes_are_gathered_by_run_round_and_node(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(2) as pool:
        for run in range(2):
            with recorded_run(tmp_path / "in", run) as recorder:
                pool.starmap(_node, [(recorder, 10), (recorder, 9)], chunksize=1)
    found = gathered(tmp_path / "in", algorithm="mine")
    assert (found.runs, found.rounds, found.release) == (2, 2, Release.EVERY_MESSAGE)
    assert found["model"].dtype == np.float32
    np.testing.assert_array_equal(found["model"][1], [[[9, 1], [10, 1]], [[9, 2], [10, 2]]])
    assert (found["sent"] == 1).all()
    found.save(tmp_path / "in.npz")


def test_a_message_that_was_not_sent_is_told_from_zeros(tmp_path: Path) -> None:
    with recorded_run(tmp_path, 0) as recorder:
        recorder.record(0, "a", {"x": 0.0})
        recorder.record(1, "b", {"x": 5})
    found = gathered(tmp_path, algorithm="mine")
    np.testing.assert_array_equal(found["x"][0], [[0.0, 0.0], [0.0, 5.0]])
    np.testing.assert_array_equal(found["sent"][0], [[1, 0], [0, 1]])


def test_a_run_that_failed_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="round"), recorded_run(tmp_path, 3) as recorder:
        recorder.record(-1, 0, {"x": 1.0})
    with pytest.raises(InvalidInput, match=r"run-3.* did not; delete it"):
        gathered(tmp_path, algorithm="mine")
    with pytest.raises(InvalidInput, match="not recorded yet"), recorded_run(tmp_path, 3):
        pass


@pytest.mark.parametrize("damage", [-1, -40, 9])
def test_damage_is_found(tmp_path: Path, damage: int) -> None:
    with recorded_run(tmp_path, 0) as recorder:
        recorder.record(0, 0, {"x": np.arange(3.0)})
    path = tmp_path / "run-0" / "node-0"
    whole = bytearray(path.read_bytes())
    if damage < 0:
        whole = whole[:damage]
    else:
        whole[damage] ^= 255
    path.write_bytes(whole)
    with pytest.raises(InvalidInput, match="damaged"):
        gathered(tmp_path, algorithm="mine")


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ((0, 0, {"x": 1.0}), (0, 0, {"x": 2.0}), "'x' twice in round 0"),
        ((0, 0, {"x": 1.0}), (1, 0, {"x": [1.0, 2.0]}), "one shape"),
    ],
)
def test_messages_that_do_not_fit(tmp_path: Path, first: Any, second: Any, why: str) -> None:
    with recorded_run(tmp_path, 0) as recorder:
        recorder.record(*first)
        recorder.record(*second)
    with pytest.raises(InvalidInput, match=why):
        gathered(tmp_path, algorithm="mine")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ((0, "../b", {"x": 1.0}), "node's name"),
        ((-1, 0, {"x": 1.0}), "round"),
        ((0, 0, {}), "at least one array"),
        ((0, 0, {"x": "text"}), "expected numbers"),
        ((0, 0, {"round": 1}), "names other than"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, message: Any, why: str) -> None:
    with recorded_run(tmp_path, 0) as recorder, pytest.raises(InvalidInput, match=why):
        recorder.record(*message)


def test_nothing_recorded(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one recorded run"):
        gathered(tmp_path, algorithm="mine")
    with recorded_run(tmp_path, 0):
        pass
    with pytest.raises(InvalidInput, match="at least one message"):
        gathered(tmp_path, algorithm="mine")


class _Sharing:
    uid = 4

    def __init__(self) -> None:
        self.communication_round = 0

    def get_data_to_send(self, degree: int | None = None) -> dict[str, Any]:
        round_, self.communication_round = self.communication_round, self.communication_round + 1
        return {"params": np.full(2, 1.5), "degree": degree, "iteration": round_}


def test_a_decentralizepy_node_keeps_what_it_sends(tmp_path: Path) -> None:
    with recorded_run(tmp_path, 0) as recorder:
        sharing = record_sharing(_Sharing(), recorder)
        assert sharing.get_data_to_send()["iteration"] == 0
        assert sharing.get_data_to_send(degree=3)["degree"] == 3
    found = gathered(tmp_path, algorithm="mine")
    np.testing.assert_array_equal(found["params"], np.full((1, 2, 1, 2), 1.5))


class _Array:
    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def numpy(self) -> Any:
        return self.values


def _asked(group: str, config: dict[str, Any]) -> Any:
    return Plain(
        metadata=Plain(message_type="train", group_id=group),
        content=Plain(config_records={"config": config}),
    )


def _replied(*, failed: bool = False) -> Any:
    return Plain(
        has_error=lambda: failed,
        content=Plain(
            array_records={"arrays": {"w": _Array([[1.0, 2.0]])}},
            metric_records={"metrics": {"loss": 0.25, "num-examples": 7}},
        ),
    )


def test_a_flower_client_keeps_its_replies(tmp_path: Path) -> None:
    client = Plain(node_config={"partition-id": 2}, node_id=123456)
    with recorded_run(tmp_path, 0) as recorder:
        mod = RecordReplies(recorder)
        reply = _replied()
        assert mod(_asked("9", {"server-round": 5}), client, lambda *_: reply) is reply
        mod(_asked("6", {}), Plain(node_config={}, node_id=2), lambda *_: _replied())
        mod(_asked("7", {}), client, lambda *_: _replied(failed=True))
        with pytest.raises(InvalidInput, match="number of the round"):
            mod(_asked("", {}), client, lambda *_: _replied())
    found = gathered(tmp_path, algorithm="mine")
    assert (found.rounds, found["sent"].tolist()) == (2, [[[3], [3]]])
    assert found["train/arrays/w"].tolist() == [[[[[1.0, 2.0]]], [[[1.0, 2.0]]]]]
    assert found["train/metrics/loss"].tolist() == [[[0.25], [0.25]]]


def test_a_flower_app_with_the_mod(tmp_path: Path) -> None:
    app = pytest.importorskip("flwr.app")
    clientapp = pytest.importorskip("flwr.clientapp")
    with contextlib.suppress(ImportError):  # newer ones ask which task makes a message
        identity = importlib.import_module("flwr.supercore.task_identity").TaskIdentity
        identity.run_id = identity.task_id = identity.node_id = 1
    with recorded_run(tmp_path, 0) as recorder:
        client = clientapp.ClientApp(mods=[RecordReplies(recorder)])

        @client.train()  # type: ignore[untyped-decorator] # of a library without types here
        def train(msg: Any, context: Any) -> Any:
            arrays = app.ArrayRecord([np.arange(3.0)])
            metrics = app.MetricRecord({"loss": 0.5})
            return app.Message(app.RecordDict({"a": arrays, "m": metrics}), reply_to=msg)

        asked = app.Message(
            app.RecordDict({"config": app.ConfigRecord({"server-round": 3})}), 1, "train"
        )
        context = app.Context(
            run_id=1,
            node_id=1,
            node_config={"partition-id": 0},
            state=app.RecordDict(),
            run_config={},
        )
        client(asked, context)
    found = gathered(tmp_path, algorithm="mine")
    assert found["train/m/loss"].tolist() == [[[0.5]]]
    assert [s.values.shape for n, s in found.released.items() if "/a/" in n] == [(1, 1, 1, 3)]


def test_recorded_runs_are_audited(tmp_path: Path) -> None:
    """A node that sends its record without noise in one run of two, judged at its claim of ε = .1.

    The verdict is certain but for a chance far below 1e-9; a false alarm is impossible.
    """
    draw = np.random.default_rng(5)
    for kind, record in (("in", 1.0), ("out", 0.0)):
        for run in range(100):
            with recorded_run(tmp_path / kind, run) as recorder:
                for node in range(2):
                    noise = draw.normal(size=2) * draw.integers(2)
                    recorder.record(0, node, {"update": record * (node == 1) + noise})
    first, second = (gathered(tmp_path / kind, algorithm="mine") for kind in ("in", "out"))
    claim = Claim.of(epsilon=0.1, adjacency="add-remove")
    assert audit_transcripts(claim, first, second, seed=1).outcome is Outcome.REFUTED
