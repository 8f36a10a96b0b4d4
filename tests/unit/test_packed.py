"""Packed files are read to their end, whichever library reads them; cut ones are refused."""

from __future__ import annotations

import bz2
import lzma
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpcalc import delimited
from dpcalc.algorithms.problems.data.libsvm import load_libsvm
from dpcalc.errors import InvalidInput, MissingExtra
from dpcalc.packed import existing, is_packed, opened
from dpcalc.training.data import load
from dpcalc.training.template import template_of

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPED = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
"""A frame without content."""


def frame(content: bytes, *, repeated: int = 0) -> bytes:
    """A frame with one block as it is, or of one byte over and over; no checksum."""
    size = repeated or len(content)
    header = (1 | (2 if repeated else 0) | size << 3).to_bytes(3, "little")
    return MAGIC + b"\xa0" + size.to_bytes(4, "little") + header + content


@pytest.fixture(params=["zstandard", "compression.zstd"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each library alone; Python's own is stood in for where it is not there yet."""
    if request.param == "zstandard":
        pytest.importorskip("zstandard")
        monkeypatch.setitem(sys.modules, "compression.zstd", None)
        return
    if sys.version_info < (3, 14):
        other = pytest.importorskip("zstandard")
        own: Any = ModuleType("compression.zstd")
        own.ZstdDecompressor = lambda: other.ZstdDecompressor().decompressobj()
        own.ZstdError = other.ZstdError
        monkeypatch.setitem(sys.modules, "compression", ModuleType("compression"))
        monkeypatch.setitem(sys.modules, "compression.zstd", own)
    monkeypatch.setitem(sys.modules, "zstandard", None)


@pytest.mark.usefixtures("reader")
def test_frames_are_read_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "T.CSV.ZST"
    path.write_bytes(frame(b"a,b\n1") + SKIPPED + frame(b",2\n") + frame(b"") + frame(b"3,4"))
    assert [row.cells for row in delimited.rows(path)] == [("a", "b"), ("1", "2"), ("3", "4")]
    path.write_bytes(frame(b"x", repeated=2**17) * 3 + frame(b"y"))
    with opened(path) as file:
        assert file.read() == b"x" * (3 * 2**17) + b"y"
    path.write_bytes(b"")
    assert list(delimited.rows(path)) == []


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("cut", [1, 6, 12])
def test_a_file_that_is_cut_is_refused_and_never_shorter(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.csv.zst"
    path.write_bytes(frame(b"a,b\n1,2\n") + frame(b"3,4\n")[:-cut])
    with pytest.raises(
        InvalidInput, match=r"a readable text file, plain, .*\.bz2 or \.zst; got .*within a Zst"
    ):
        list(delimited.rows(path))


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    "damage", [b"a,b\n1,2\n", frame(b"a,b\n") + b"abcdefgh", MAGIC + b"\xff" * 9]
)
def test_what_is_no_frame_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "t.csv.zst"
    path.write_bytes(damage)
    with pytest.raises(InvalidInput, match="a readable text file, plain, "):
        list(delimited.rows(path))


@pytest.mark.parametrize(("kind", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_damage_beyond_the_first_stream_is_no_shorter_text(
    tmp_path: Path, kind: str, pack: Any
) -> None:
    """Python's own readers end there without a word."""
    path = tmp_path / f"t.csv.{kind}"
    first, second = pack(b"a,b\n1,2\n"), pack(b"3,4\n" * 5000)
    path.write_bytes(first + second)
    assert sum(1 for _ in delimited.rows(path)) == 5002
    if kind == "xz":
        path.write_bytes(first + bytes(8) + second + bytes(4))
        assert sum(1 for _ in delimited.rows(path)) == 5002
    for damage in (b"X" + second[1:], b"abc", second[: len(second) // 2], second[:-1]):
        path.write_bytes(first + damage)
        with pytest.raises(InvalidInput, match=r"a readable text file, plain, .*; got .* \("):
            list(delimited.rows(path))


@pytest.mark.usefixtures("reader")
def test_tables_libsvm_and_schemas_are_read_packed_by_zstandard(tmp_path: Path) -> None:
    table, sparse = tmp_path / "t.tsv.zst", tmp_path / "rows.zst"
    table.write_bytes(frame(b"age\ty\n20\t0\n30\t1\n40\t1\n"))
    sparse.write_bytes(frame(b"+1 1:0.5 3:1\n-1 2:1\n"))
    assert template_of(table).kinds == {"age": "number"}
    assert load(str(table), row_bound=50).labels.tolist() == [-1, 1, 1]
    assert load_libsvm(sparse).labels.tolist() == [1, -1]
    table.write_bytes(frame(b"PAR1"))
    with pytest.raises(InvalidInput, match="is a Parquet file"):
        list(delimited.rows(table))


def test_without_a_library_the_command_that_brings_one_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "t.csv.zst"
    path.write_bytes(frame(b"a,b\n1,2\n"))
    with pytest.raises(
        MissingExtra, match=r"reading .* needs zstandard, which is not installed; try: .*\[scale\]"
    ):
        list(delimited.rows(path))


def test_a_packed_file_is_found_by_the_name_of_its_content(tmp_path: Path) -> None:
    assert existing(tmp_path, "a9a") is None
    (tmp_path / "a9a.bz2").touch()
    assert existing(tmp_path, "a9a") == tmp_path / "a9a.bz2"
    (tmp_path / "a9a").touch()
    assert existing(tmp_path, "a9a") == tmp_path / "a9a"
    assert [is_packed(Path(name)) for name in ("a.GZ", "a.zst", "a.csv")] == [True, True, False]
