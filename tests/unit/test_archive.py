"""Archives: read as they were written, or refused with the reason."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcalc
from dpcalc import archive
from dpcalc.archive import checksum, read_arrays, write_arrays
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.sampling.observations import Observations, joined
from dpcalc.errors import InvalidInput

ARRAYS = {"b": np.arange(6.0).reshape(2, 3).T, "a": np.array([True, False]), "c": np.array(3)}
NEEDED = "expected a file written by dpcalc; got path={path!r} ({reason})"
DAMAGED = "it is damaged, or holds something else"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "some.npz"
    write_arrays(found, {"kind": "test", "n": 3}, ARRAYS)
    return found


def _rewritten(path: Path, save: Callable[..., None] = np.savez, **changes: Any) -> None:
    with np.load(path) as file:
        content = {name: file[name] for name in file.files} | changes
    with path.open("wb") as file:
        save(file, **{name: value for name, value in content.items() if value is not None})


def _reason(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_arrays(path)
    before, after = NEEDED.format(path=str(path), reason="\n").split("\n")
    text = str(caught.value)
    assert text.startswith(before)
    assert text.endswith(after)
    return text[len(before) : len(text) - len(after)]


def test_what_was_written_is_read(path: Path) -> None:
    header, arrays = read_arrays(path)
    versions = {"layout": 2, "dpcalc": dpcalc.__version__, "numpy": np.__version__}
    assert header == {**versions, "kind": "test", "n": 3}
    assert arrays.keys() == ARRAYS.keys()
    for name, values in arrays.items():
        assert values.dtype == ARRAYS[name].dtype
        assert values.tolist() == ARRAYS[name].tolist()


def test_the_checksum_is_over_header_names_types_shapes_and_bytes() -> None:
    text = json.dumps({"a": 1, "b": 2}).encode()
    text += b'["x", "<f8", [2]]' + np.array([1.0, 2.0]).tobytes()
    text += b'["y", "|b1", [1, 1]]' + b"\x01"
    arrays = {"y": np.array([[True]]), "x": np.array([1.0, 2.0], dtype="<f8")}
    assert checksum({"b": 2, "a": 1}, arrays) == hashlib.sha256(text).hexdigest()
    strided = {"x": np.array([1.0, 9.0, 2.0], dtype="<f8")[::2], "y": [[True]]}
    assert checksum({"a": 1, "b": 2}, strided) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"a": np.array([True, True])}, "its checksum does not fit: it is damaged, or was edited"),
        ({"a": None}, "its checksum does not fit: it is damaged, or was edited"),
        ({"more": np.zeros(1)}, "its checksum does not fit: it is damaged, or was edited"),
        ({"header": None}, DAMAGED),
        ({"header": np.array("{}")}, "of layout 2, not None: it was written by another version"),
        ({"header": np.array('{"layout": 3}')}, "of layout 2, not 3: it was written by another version"),
        ({"header": np.array('{"layout": 2}')}, "its checksum does not fit: it is damaged, or was edited"),
        ({"header": np.array("no JSON")}, DAMAGED),
        ({"header": np.array("[1]")}, DAMAGED),
        ({"header": np.array("1")}, DAMAGED),
        ({"a": np.array([{}], dtype=object)}, DAMAGED),
    ],
)  # fmt: skip
def test_another_content_is_refused(path: Path, changes: dict[str, Any], reason: str) -> None:
    _rewritten(path, **changes)
    assert _reason(path) == reason


def test_other_files_are_refused(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[:40], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        assert _reason(path) == DAMAGED
    alone = io.BytesIO()
    np.save(alone, np.zeros(3))
    path.write_bytes(alone.getvalue())
    assert _reason(path) == DAMAGED
    assert _reason(tmp_path / "none.npz") == os.strerror(2)
    assert _reason(tmp_path) == os.strerror(21)


def test_compressed_arrays_are_refused_unread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _rewritten(path, np.savez_compressed)
    monkeypatch.setattr(archive, "checksum", lambda *_: pytest.fail("it was unpacked"))
    assert _reason(path) == DAMAGED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="expected a regular file"):
        read_arrays(tmp_path / "pipe")


def test_observations_are_saved_with_what_is_known_of_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.npz"
    for coins, exact in ((True, False), (False, True)):
        made = Observations(
            is_in=np.array([True, False]), score=np.array([1.0, 2.0]), fair_coins=coins, exact=exact
        )
        made.save(path)
        found = Observations.load(path)
        assert (found.fair_coins, found.exact) == (coins, exact)
        assert found.is_in.tolist() == [True, False]
        assert found.score.tolist() == [1.0, 2.0]
        assert read_arrays(path)[0]["kind"] == "observations"
    write_arrays(path, {"kind": "other"}, ARRAYS)
    with pytest.raises(InvalidInput, match=r"^expected saved observations; got path='.*runs.npz'$"):
        Observations.load(path)


def test_runs_joined_know_what_all_of_them_know() -> None:
    def runs(first: float, *, coins: bool, exact: bool) -> Observations:
        return Observations(
            is_in=np.array([[True, False]]), score=np.array([[first, first + 1]]),
            fair_coins=coins, exact=exact,
        )  # fmt: skip

    both = joined([runs(1.0, coins=True, exact=False), runs(5.0, coins=True, exact=True)])
    assert both.score.tolist() == [[1.0, 2.0, 5.0, 6.0]]
    assert both.is_in.tolist() == [[True, False, True, False]]
    assert (both.fair_coins, both.exact) == (True, False)
    both = joined([runs(1.0, coins=False, exact=True), runs(5.0, coins=True, exact=True)])
    assert (both.fair_coins, both.exact) == (False, True)


def test_scores_of_one_world_are_of_one_repetition() -> None:
    made = Observations(is_in=np.array([True, False, True]), score=np.array([1.0, 2.0, 3.0]))
    assert made.scores_of(True).tolist() == [1.0, 3.0]
    assert made.scores_of(False).tolist() == [2.0]
    twice = Observations(is_in=np.ones((2, 3), bool), score=np.ones((2, 3)))
    with pytest.raises(InvalidInput, match=r"^expected a single repetition; got shape=\(2, 3\)$"):
        twice.scores_of(True)


def test_outcomes_are_told_by_how_often_they_repeat() -> None:
    for runs, alone, seldom in ((20, 1, False), (19, 1, True), (40, 2, False), (40, 3, True)):
        values = np.array([*range(1, alone + 1), *[0] * (runs - alone)], dtype=float)
        assert (Outcomes.of(values) is Outcomes.CONTINUOUS) is seldom
    for rare, kind in ((2, Outcomes.FEW), (1, Outcomes.DISCRETE)):
        assert Outcomes.of(np.repeat([1.0, 2.0], [rare, 100 - rare])) is kind
