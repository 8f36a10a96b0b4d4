"""Limits of delimited text and recorded scores, made small."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpcalc import delimited
from dpcalc.auditing import scores
from dpcalc.claims import rounds
from dpcalc.claims.composition import read_plan
from dpcalc.errors import InvalidInput


@pytest.mark.parametrize(
    ("name", "limit", "line"), [("_LONGEST_LINE", 6, 2), ("_LARGEST_FILE", 13, 3)]
)
def test_too_long_lines_and_too_large_files_are_refused_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int, line: int
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,22\n3,4\n")
    monkeypatch.setattr(delimited, name, limit)
    assert len(list(delimited.rows(path))) == 3
    monkeypatch.setattr(delimited, name, limit - 1)
    with pytest.raises(InvalidInput) as caught:
        list(delimited.rows(path))
    assert str(caught.value) == (
        f"line {line} of {str(path)!r} is too long, or the file too large, for a table"
    )


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_packed_text_is_the_text_and_damaged_packs_are_refused(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"t.csv{suffix}"
    whole = pack(b"\xef\xbb\xbfa,b\n1,2\n")
    path.write_bytes(whole)
    assert [row.cells for row in delimited.rows(path)] == [("a", "b"), ("1", "2")]
    path.write_bytes(whole[:-9])
    with pytest.raises(
        InvalidInput, match=r"expected a readable text file, plain, \.xz, \.gz, \.bz2 or \.zst; got"
    ):
        list(delimited.rows(path))
    path.write_bytes(pack(b"PAR1"))
    with pytest.raises(InvalidInput, match="is a Parquet file"):
        list(delimited.rows(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_pipes_are_refused(tmp_path: Path) -> None:
    for name in ("pipe.csv", "pipe.npy"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InvalidInput, match="expected a regular file"):
            scores.read_scores(tmp_path / name)


def test_more_different_rows_than_are_remembered_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("pure,count\n" + "".join(f"{k % 4},{1 + k % 3}\n" for k in range(24)))
    plain = [list(row) for row in delimited.rows(path)], read_plan(path).releases
    for module in (delimited, rounds):
        monkeypatch.setattr(module, "REMEMBERED", 2)
    monkeypatch.setattr("dpcalc.claims.composition.REMEMBERED", 2)
    assert ([list(row) for row in delimited.rows(path)], read_plan(path).releases) == plain
    assert plain[0][5] == [6, ("0", "2")]
    assert [r.count for r in plain[1][:4]] == [1, 2, 3, 1]


def test_equal_rows_have_one_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("pure\n1\n2\n1\n")
    first, second, third = (table for _, table in rounds.read_rounds(path))
    assert first is third
    assert first != second
    first, second, third = read_plan(path).releases
    assert first is third
    assert first != second


def test_mapped_scores_are_looked_through_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "_BLOCK", 3)
    path = tmp_path / "s.npy"
    values = np.arange(8.0)
    np.save(path, values)
    found = scores.read_scores(path)
    assert isinstance(found, np.memmap)
    assert found.tolist() == values.tolist()
    for place in range(8):
        np.save(path, np.where(np.arange(8) >= place, np.nan, values))
        with pytest.raises(InvalidInput, match=f"number {place + 1} of .* is NaN"):
            scores.read_scores(path)
