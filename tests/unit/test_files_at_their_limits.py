"""Files at their limits: sizes, names, permissions, locks; and the whole sentence of every refusal."""

from __future__ import annotations

import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pytest

from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.files import (
    check_output,
    held_alone,
    read_bytes,
    refuse_pipe,
    remove_remains,
    write_atomically,
    write_text,
)
from dpcalc.training.file_kinds import is_binary, is_table, refuse_unused
from dpcalc.training.graph import _bounded
from dpcalc.training.schema import Range, Schema, without_range

unix = pytest.mark.skipif(os.name != "posix", reason="pipes and permissions of Unix")
LONGEST = 250
"""Characters of a name that fits a file system of 255, while a suffix of 17 to it does not."""


def _refused(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(*given, **named)
    return str(caught.value)


def test_no_more_is_read_than_the_limit_and_one_byte(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as out:
        out.truncate(2**23)
    tracemalloc.start()
    try:
        said = _refused(read_bytes, file, most=1000)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    assert said == f"expected at most 1000 bytes; {str(file)!r} has more"
    file.write_bytes(b"x" * 1000)
    assert read_bytes(file, most=1000) == b"x" * 1000
    file.write_bytes(b"x" * 1001)
    assert _refused(read_bytes, file, most=1000) == said


@unix
def test_a_pipe_is_refused_unless_it_is_open_already(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert _refused(refuse_pipe, pipe) == (
        f"expected a regular file; {str(pipe)!r} is a pipe; try: cat PIPE | ... /dev/stdin"
    )
    reading, writing = os.pipe()
    try:
        os.write(writing, b"abc")
        os.close(writing)
        assert read_bytes(f"/dev/fd/{reading}") == b"abc"
    finally:
        os.close(reading)
    assert _refused(refuse_pipe, "a\0b") == (
        "expected the name of a file; got a NUL character in 'a\\x00b'"
    )


def test_an_output_that_cannot_be_is_refused_with_the_reason(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "x", "No such file or directory"),
    ):
        assert _refused(check_output, path, "--out") == (
            f"--out needs a file that can be written; got {str(path)!r} ({reason}); "
            "name another file, or make its folder"
        )
    with pytest.raises(OutputFailed) as caught:
        write_text(tmp_path / "no" / "x", "1")
    assert str(caught.value) == (
        f"{str(tmp_path / 'no' / 'x')!r} could not be written: No such file or directory; "
        "what was there before is unchanged"
    )


@unix
def test_a_file_that_may_not_be_written_is_found_out_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replacing it would work all the same, since only the folder is asked then."""
    file = tmp_path / "kept"
    file.write_text("old")
    opened = Path.open

    def denied(self: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if self == file and mode != "r" and "b" in mode:
            raise PermissionError(13, "Permission denied")
        return opened(self, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", denied)
    assert "(Permission denied)" in _refused(check_output, file, "--out")


def test_an_error_without_words_of_its_own_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise OSError("odd")

    monkeypatch.setattr(os, "open", fails)
    assert "(odd); name another file" in _refused(check_output, tmp_path / "x", "--out")


@unix
def test_who_may_read_a_file(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for secret, old, new in (
            (False, None, 0o644), (True, None, 0o600), (False, 0o640, 0o640), (True, 0o640, 0o600),
        ):  # fmt: skip
            file = tmp_path / f"{secret}{old}"
            if old is not None:
                file.write_text("old")
                file.chmod(old)
            with write_atomically(file, secret=secret) as out:
                out.write(b"new")
            assert stat.S_IMODE(file.stat().st_mode) == new
            assert file.read_bytes() == b"new"
    finally:
        os.umask(before)


@unix
def test_a_long_name_has_temporary_files_and_loses_their_remains(tmp_path: Path) -> None:
    file = tmp_path / ("n" * LONGEST)
    check_output(file, "--out")
    write_text(file, "1")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    left = tmp_path / f".{'n' * 100}.0123456789abcdef.partial"
    for other in (
        left,
        tmp_path / f".{'n' * 99}.01.partial",
        tmp_path / f".{'n' * 101}.01.partial",
    ):
        other.write_text("")
    remove_remains(file)
    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_names_of_temporary_files_are_hidden_and_say_whose_they_are(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "x.json") as out:
        (begun,) = tmp_path.iterdir()
        assert begun.name.startswith(".x.json.")
        assert begun.name.endswith(".partial")
        assert len(begun.name) == len(".x.json..partial") + 16
        out.write(b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_file_is_held_by_one_and_freed_after_all_that_happens(tmp_path: Path) -> None:
    file = tmp_path / "at.npz"
    left = tmp_path / ".at.npz.0123456789abcdef.partial"
    left.write_text("")
    with held_alone(file, "--resume"):
        assert not left.exists()
        assert (tmp_path / ".at.npz.lock").exists()
        with pytest.raises(InvalidInput) as caught, held_alone(file, "--resume"):
            pass
    assert str(caught.value) == (
        f"--resume needs a file that no other process holds; {str(file)!r} is held by another; "
        "wait for it, or name another file"
    )
    with pytest.raises(KeyboardInterrupt), held_alone(file, "--resume"):
        raise KeyboardInterrupt
    with held_alone(file, "--resume"):
        pass
    with pytest.raises(InvalidInput, match="--resume needs a file that can be written"):
        held_alone(tmp_path / "no" / "x", "--resume").__enter__()


@pytest.mark.parametrize("error", [OSError("no locks"), NotImplementedError("no locks")])
def test_where_no_lock_can_be_held_the_file_is_refused(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", fails)
    with pytest.raises(InvalidInput) as caught, held_alone(tmp_path / "x", "--resume"):
        pass
    assert str(caught.value) == (
        "--resume needs a file beside which a lock can be held; "
        f"got {str(tmp_path / 'x')!r} (no locks)"
    )


@pytest.mark.parametrize(
    ("name", "table", "binary"),
    [("a.csv", True, False), ("a.tsv", True, False), ("a.csv.gz", True, False),
     ("a.parquet", True, True), ("a.PQ", True, True), ("a.Parquet", True, True),
     ("a.CSV", True, False), ("a.txt", False, False), ("csv", False, False),
     ("a.npy", True, True), ("a.Feather", True, True), ("a.npz", False, False),
     ("a.parquet.gz", False, False)],
)  # fmt: skip
def test_a_kind_is_told_by_the_name(name: str, table: bool, binary: bool) -> None:
    assert (is_table(Path(name)), is_binary(Path(name))) == (table, binary)


@pytest.mark.parametrize(
    ("name", "file", "used"),
    [("a.csv", True, {"label", "positive"}), ("a.pq", True, {"label", "positive"}),
     ("a.txt", True, {"features", "positive"}), ("adult.data", True, set()), (".", True, set()),
     ("a.csv", False, set()), ("a.txt", False, set())],
)  # fmt: skip
def test_options_about_another_kind_of_file_are_refused(
    name: str, file: bool, used: set[str]
) -> None:
    kinds = {"label": "a CSV or Parquet file", "positive": "a CSV, Parquet or LIBSVM file",
             "features": "a LIBSVM file"}  # fmt: skip
    name_it = ", or, if this is CSV, give the file a name that ends in .csv"
    refuse_unused(name, file, dict.fromkeys(kinds))
    for option, kind in kinds.items():
        given = {**dict.fromkeys(kinds), option: 3}
        if option in used:
            refuse_unused(name, file, given)
            continue
        assert _refused(refuse_unused, name, file, given) == (
            f"{option} is said of {kind}; got {option}=3 with data={name!r}; leave out --{option}"
            + (name_it if file and name == "a.txt" else "")
        )
    said = _refused(refuse_unused, "x" * 61, False, {"label": "y"})
    assert f"data='{'x' * 40}... (61 characters)'" in said


def test_a_schema_takes_ranges_that_are_made_and_reads_on() -> None:
    made = Range(0.0, 1.0)
    found = Schema.of({"first": made, "second": [2, 4], "third": ["a", "b"], "last": made})
    assert found.ranges == {"first": made, "second": Range(2.0, 4.0), "last": made}
    assert found.categories == {"third": ("a", "b")}


@pytest.mark.parametrize("missing", [6, 7, 9])
def test_columns_without_a_range_are_named_up_to_six(missing: int) -> None:
    names = [f"c{k}" for k in range(missing)]
    rest = {6: "", 7: " and 1 more", 9: " and 3 more"}[missing]
    assert str(without_range(names, "the data")) == (
        "expected a public range for every numeric column of the data, to scale it by; got none "
        f"for 'c0', 'c1', 'c2', 'c3', 'c4', 'c5'{rest}; give what is known without looking at the "
        "data: --scale c0=LOW:HIGH, or --schema FILE (dpcalc schema writes one to fill in); or, if "
        "the columns are scaled by public numbers already, say how long a row may be: --row-bound"
    )


def test_a_graph_may_be_as_large_as_is_said() -> None:
    assert _bounded(5, 5) == 5
    assert _refused(_bounded, 2001, 2000) == (
        "expected a graph of at most 2,000 nodes; got nodes=2001"
    )
