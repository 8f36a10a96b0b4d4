"""A trail: every line sealed with all before it, one holder, nothing lost and nothing half."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.trail import open_trail

LINES = ({"a": 1, "b": "é"}, {"a": 2}, {"a": [0.1, None]})

FULL_FOR_A_WHILE = """
import json, resource, signal, sys
from dpcalc.errors import OutputFailed
from dpcalc.trail import open_trail

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
written = []
with open_trail(sys.argv[1]) as (trail, _):
    for number in range(60):
        limit = 1000 if 5 <= number < 50 else most
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        try:
            trail.append({"a": number})
            written.append(number)
        except OutputFailed:
            pass
assert 15 < len(written) < 30 and written[-10:] == list(range(50, 60)), written
print(json.dumps(written))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "trail.jsonl"
    with open_trail(found) as (trail, contents):
        assert contents == []
        assert trail.last == ""
        for line in LINES:
            trail.append(line)
    return found


def test_every_line_has_the_seal_of_itself_and_of_the_line_before(path: Path) -> None:
    before = ""
    for content, line in zip(LINES, path.read_bytes().splitlines(), strict=True):
        text = json.dumps(content, ensure_ascii=False)
        before = hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
        assert line.decode() == json.dumps({**content, "sha256": before}, ensure_ascii=False)


def test_it_goes_on_where_it_ended(path: Path) -> None:
    with open_trail(path) as (trail, contents):
        assert contents == list(LINES)
        assert trail.last == json.loads(path.read_bytes().splitlines()[-1])["sha256"]
        assert trail.path == path
        trail.append({"a": 3})
    with open_trail(path) as (_, contents):
        assert contents == [*LINES, {"a": 3}]


def test_a_line_that_was_being_written_is_left_out(path: Path) -> None:
    whole = path.read_bytes()
    for half in (b"{", whole.splitlines()[0], b"\xff"):
        path.write_bytes(whole + half)
        with open_trail(path) as (_, contents):
            assert contents == list(LINES)
        assert path.read_bytes() == whole
    path.write_bytes(b"half")
    with open_trail(path) as (_, contents):
        assert contents == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [lines[0].replace(b"1", b"2", 1), *lines[1:]], 1),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [*lines, lines[2]], 4),
        (lambda lines: [lines[0], lines[1].replace(b": ", b":"), lines[2]], 2),
        (lambda lines: [lines[0], b"\n", *lines[1:]], 2),
        (lambda lines: [lines[0], b"[1]\n"], 2),
        (lambda lines: [lines[0], b"1\n"], 2),
        (lambda lines: [lines[0], b"{}\n"], 2),
        (lambda lines: [lines[0], b'{"a": 2}\n'], 2),
        (lambda lines: [lines[0], b"\xff\n"], 2),
        (lambda lines: [b"nonsense" * 20 + b"\n"], 1),
    ],
)
def test_another_text_is_refused_with_its_line(path: Path, change: object, line: int) -> None:
    assert callable(change)
    whole = b"".join(change(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(whole)
    with pytest.raises(InvalidInput) as caught, open_trail(path):
        pass
    said = str(caught.value)
    assert said.startswith(
        f"expected a trail as it was written; line {line} of {str(path)!r} is not: "
    )
    assert said.endswith("; resume from an unchanged copy")
    assert len(said) < 220 + len(str(path))
    assert path.read_bytes() == whole


def test_one_holds_it_at_a_time(path: Path) -> None:
    with (
        open_trail(path),
        pytest.raises(InvalidInput, match=r"^trail needs a file that no other process holds"),
        open_trail(path),
    ):
        pass
    with open_trail(path):
        pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(InvalidInput, match="expected a regular file"),
        open_trail(tmp_path / "pipe"),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
def test_a_disk_that_was_full_for_a_while_leaves_whole_lines(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", FULL_FOR_A_WHILE, str(tmp_path / "trail")],
        capture_output=True,
        text=True,
        check=True,
    )
    with open_trail(tmp_path / "trail") as (_, contents):
        assert [line["a"] for line in contents] == json.loads(found.stdout)


def test_what_cannot_be_written_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_trail(path) as (trail, _):

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(
                OutputFailed, match=r"trail.jsonl' could not be written: .*No space"
            ):
                trail.append({"a": 4})
        trail.append({"a": 5})
    with open_trail(path) as (_, contents):
        assert contents == [*LINES, {"a": 5}]


def test_a_device_or_a_folder_is_no_trail(tmp_path: Path) -> None:
    """A device such as /dev/zero could be read without end."""
    for path in (Path(os.devnull), tmp_path):
        with pytest.raises(InvalidInput, match="trail needs a regular file"), open_trail(path):
            pass
