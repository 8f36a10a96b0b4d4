"""Delimited text: what is written is read, or the file is refused with the line."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcalc.delimited import rows
from dpcalc.errors import InvalidInput

WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=6)
CELLS = st.one_of(WORDS, st.just(""), st.sampled_from(["a,b", 'say "x"', "# no", "a;b", "1 2"]))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables") / "table.csv"


@given(
    st.integers(2, 5).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=8)
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_a_writer_wrote_is_read_back(
    file: Path, table: list[list[str]], delimiter: str, end: str, mark: bool
) -> None:
    header = [f"column{k}" for k in range(len(table[0]))]
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL, doublequote=True
    )
    writer.writerows([header, *table])
    file.write_bytes(text.getvalue().encode("utf-8-sig" if mark else "utf-8"))
    found = [list(row.cells) for row in rows(file)]
    assert found == [header, *table]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2,\n", "line 2"),
        (b"a,b\n\n1\n", "line 3"),
        (b"a,b\n1,2\n#3,4\n", "comment or a row"),
        (b"score\n#3\n", "comment or a row"),
        (b'a,b\n"1,2\n3,4\n', "line 2"),
        (b'a,b\n"1"x,2\n', "line 2"),
        (b'a,b\n"1\n2",3\n', "line 2"),
        (b"sep=;\na;b\n1;2\n", "line 1 .* 'sep=;', where the first row has to be"),
        (b"# c\nSep=\t\na\tb\n", "line 2 .* a note to spreadsheets"),
        (b"a;b,c\n", "a comma and a semicolon"),
        (b"a,b\n1,\0\n", "NUL"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
        (b"a,b\n1,\xe9\n", "line 2"),
        (b"a,b\r1,2\r", "carriage return"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"PAR1rest", "Parquet"),
        (b"a\n" + b"x" * 140_000 + b"\n", "line 2"),
    ],
)
def test_what_can_be_misread_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=words) as caught:
        list(rows(path))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["a.xlsx", "a.XLS", "a.parquet", "a.ods", "a.npz"])
def test_files_that_are_no_text_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="save it as CSV"):
        list(rows(tmp_path / name))


def test_comments_blanks_and_packing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"# a comment, and more\na,b\n\n# 1,2\n##\n3, x #1\n"))
    assert [row.cells for row in rows(path)] == [("a", "b"), ("3", "x #1")]
    assert [row.line for row in rows(path)] == [2, 6]
    plain = tmp_path / "table.csv"
    plain.write_text("a,b\n#1,2\n")
    assert [row.cells for row in rows(plain, comments=False)] == [("a", "b"), ("#1", "2")]


def test_endless_files_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too long"):
        list(rows("/dev/zero"))
