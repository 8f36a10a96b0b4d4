"""Whatever surrounds a command, it ends with one line and the right exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcalc.errors import InvalidInput, readable, unknown_name
from dpcalc.files import LARGEST_TEXT, read_bytes, refuse_pipe

unix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of Unix")

_INTERRUPTED_IMPORT = """
import builtins
plain = builtins.__import__
def interrupted(name, *given):
    if name.split(".")[0] == "click":
        raise KeyboardInterrupt
    return plain(name, *given)
builtins.__import__ = interrupted
from dpcalc.__main__ import main
main()
"""


def _dpcalc(*words: str, redirected: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpcalc", *words]
    if redirected:
        command = ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def _is_one_line(text: str) -> bool:
    return text.startswith("dpcalc: ") and text.count("\n") == 1 and len(text) < 4000


def test_an_interruption_while_loading_is_told_as_one() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_IMPORT], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (130, "dpcalc: interrupted\n")


@unix
def test_a_closed_standard_output_is_no_success() -> None:
    found = _dpcalc("theorems", "--json", redirected=">&-")
    assert found.returncode == 74
    assert _is_one_line(found.stderr)
    assert "standard output is closed" in found.stderr


@unix
@pytest.mark.parametrize("verb", ["verify", "compose"])
def test_a_device_without_end_is_read_to_a_limit(verb: str) -> None:
    found = _dpcalc(verb, "/dev/zero")
    assert found.returncode == 2
    assert _is_one_line(found.stderr)


@unix
def test_a_pipe_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "rounds.csv"
    os.mkfifo(pipe)
    for verb in ("verify", "compose"):
        found = _dpcalc(verb, str(pipe))
        assert found.returncode == 2
        assert "is a pipe" in found.stderr
    with pytest.raises(InvalidInput, match="is a pipe"):
        refuse_pipe(pipe)


@unix
def test_standard_input_is_read_as_a_file(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("delta = 1e-6\n[[release]]\npure = 1.0\ncount = 3\n")
    found = _dpcalc("compose", "/dev/stdin", "--json", redirected=f"< '{plan}'")
    assert found.returncode == 0, found.stderr
    assert '"epsilon"' in found.stdout


def test_more_bytes_than_the_limit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "much"
    file.write_bytes(b"12345")
    assert read_bytes(file, most=5) == b"12345"
    with pytest.raises(InvalidInput, match="at most 4 bytes"):
        read_bytes(file, most=4)
    assert LARGEST_TEXT >= 2**20


@pytest.mark.parametrize(
    "words",
    [
        ("run", "dp-admm", "--epsilon", "1", "--delta", "1e-6", "--data", "x" * 5000),
        ("x" * 100_000,),
        ("epsilon", "x" * 100_000),
        ("epsilon", "dp-admm", "--rounds", "9" * 100_000),
        ("epsilon", "dp-admm", "--" + "x" * 100_000, "1"),
        ("audit", "x" * 100_000),
        ("compose", "x" * 5000),
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_words_without_end_end_in_one_short_line(words: tuple[str, ...]) -> None:
    found = _dpcalc(*words)
    assert found.returncode == 2
    assert _is_one_line(found.stderr), found.stderr[:300]


def test_long_cells_are_cut_in_every_error(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'delta = 1e-6\n[[release]]\nmechanism = "{"x" * 150_000}"\n')
    found = _dpcalc("compose", str(plan))
    assert found.returncode == 2
    assert _is_one_line(found.stderr)


def test_messages_keep_their_ends() -> None:
    assert readable("what was needed; got 1; try 2") == "what was needed; got 1; try 2"
    long = readable("needed; got " + "1 " * 100_000 + "; try 2")
    assert len(long) < 3100
    assert long.startswith("needed; got ")
    assert long.endswith("; try 2")
    assert "characters)" in str(unknown_name("verb", "x" * 99_998, ["run"]))
