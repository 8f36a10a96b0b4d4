"""Files that are no certificates, or hardly: refused in a sentence, with the status that is documented."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpcalc.certificates import checker
from dpcalc.cli.main import main
from dpcalc.files import LARGEST_TEXT

FORMAT = f'"format": "{checker.FORMAT}"'

UNREADABLE: dict[str, tuple[bytes, str]] = {
    "digits": (b"1" * 1_000_000, "Exceeds the limit"),
    "a whole number of 5,000 digits": (b'[{"delta": %s}]' % (b"9" * 5000), "Exceeds the limit"),
    "nested lists": (b"[" * 500_000 + b"]" * 500_000, "recursion"),
    "nested tables": (b'{"a":' * 500_000 + b"1" + b"}" * 500_000, "recursion"),
    "a field twice": (b'{"format": 1, "format": 2}', "a field given twice"),
    "another encoding": ('{"format": "é"}'.encode("latin-1"), "codec can't decode"),
    "two bytes a character": ('{"format": 1}'.encode("utf-16"), "codec can't decode"),
    "zeros": (b"\0" * 1000, "Expecting value"),
    "no end": (b'[{"format": ', "Expecting value"),
    "too many": (b"[" + b"1," * 1000 + b"1]", "at most 1,000 certificates"),
}

REFUSED: dict[str, tuple[str, str]] = {
    "an exponent": ("[1e999999999]", "not valid here: inf"),
    "an exponent in a field": (f'{{{FORMAT}, "delta": 1e999999999}}', "not valid here"),
    "no number": ('{"format": NaN}', "got nan"),
    "half a character": ('{"format": "\\ud800"}', "expected format"),
    "an unknown field": (f'{{{FORMAT}, "note": 1}}', "not valid here"),
    "another version": ('{"format": "dpcalc certificate 2"}', "expected format"),
}


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["check", *words])
    written = capsys.readouterr()
    return int(stopped.value.code or 0), written.out + written.err


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    content, reason = UNREADABLE[kind]
    file = tmp_path / "file.json"
    file.write_bytes(content)
    status, told = ended(capsys, str(file))
    assert (status, reason in told) == (2, True)
    assert len(told) < 1000


@pytest.mark.parametrize("kind", REFUSED)
def test_what_states_nothing_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    content, reason = REFUSED[kind]
    file = tmp_path / "file.json"
    file.write_text(content)
    status, told = ended(capsys, str(file))
    assert (status, reason in told) == (1, True)
    assert told.startswith("REFUSED")
    assert ended(capsys, str(file), "--json")[0] == 1


def test_a_file_beyond_the_limit_is_not_read_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as large:
        large.truncate(1000 * LARGEST_TEXT)  # a hole, which takes no place on the disk
    status, told = ended(capsys, str(file))
    assert status == 2
    assert "expected at most 67108864 bytes" in told


def test_what_is_no_file_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, folder, loop = tmp_path / "pipe", tmp_path / "folder", tmp_path / "loop"
    os.mkfifo(pipe)
    folder.mkdir()
    loop.symlink_to(loop)
    links = {name: tmp_path / f"to {name}" for name in ("pipe", "folder", "nothing")}
    for name, link in links.items():
        link.symlink_to(tmp_path / name)
    for path in (pipe, folder, loop, *links.values()):
        status, told = ended(capsys, str(path))
        assert status == 2
        assert "certificate" in told
        assert told.count("\n") == 1
