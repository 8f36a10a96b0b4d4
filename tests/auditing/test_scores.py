"""Recorded scores are read in full, or the file is refused with the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.auditing import read_labelled_scores, read_scores
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1\n2\n3\n", [1, 2, 3]),
        (b"\xef\xbb\xbf1\n2\n3\n", [1, 2, 3]),
        (b"\xef\xbb\xbfscore\r\n1\r\n2\r\n", [1, 2]),
        (b"# score\n1\n-inf\n", [1, -np.inf]),
        (b"1.5e-3\n\n.5\n", [1.5e-3, 0.5]),
        (b"1152921504606846976\n-0.0e5\nInfinity\n1e22\n", [2**60, 0, np.inf, 1e22]),
    ],
)
def test_every_value_is_read(tmp_path: Path, content: bytes, expected: list[float]) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    assert read_scores(path).tolist() == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1.0x\n2\n3\n", "line 1"),
        (b"0x10\n2\n3\n", "line 1"),
        (b"'1'\n2\n3\n", "line 1"),
        (b"e5\n2\n3\n", "line 1"),
        (b"s\n2\n3\n", "line 1"),
        (b"run1,0.5\nrun2,0.7\n", "line 1"),
        (b"1\0\n2\n", "NUL"),
        (b"1\n2,9\n3,4\n", "line 2"),
        (b"score\n1\n2,9\n", "line 3"),
        (b"1,5\n2,9\n3,4\n", "decimals have a point"),
        (b"1\nnan\n", "line 2"),
        (b"1\n1152921504606846977\n", "a double holds in line 2"),
        (b"1_000\n2\n", "a double holds in line 1"),
        (b"1\n1e400\n", "a double holds in line 2"),
        (b"1\n-1e-400\n", "a double holds in line 2"),
        (b"1\n#2\n3\n", "line 2"),
        (b"score;run\n1,5;1\n", "line 2"),
        (b"score,score\n1,2\n", "once"),
        (b"1\n" + b"2" * 140_000 + b"\n", "line 2"),
        (b"", "at least one score"),
        (b"score\n", "at least one score"),
        ("1\n2\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_would_cost_a_value_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        read_scores(path, column="score" if b";" in content else None)


SCORES = st.lists(st.integers(-999, 999).map(lambda n: n / 8), min_size=2, max_size=6)


@given(SCORES, st.booleans(), st.data())
def test_a_mutation_never_costs_a_value(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float], heading: bool, data: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.csv"
    text = "score\n" * heading + "".join(f"{score!r}\n" for score in scores)
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 1))
    stray = data.draw(
        st.one_of(
            st.sampled_from(
                [*",;#\"\t|\0\ufeff x'"],
            ),
            st.characters(),
        )
    )
    mutated = text[:place] + stray + text[place + cut :]
    path.write_text(mutated, encoding="utf-8", errors="replace", newline="")
    try:
        found = read_scores(path)
    except InvalidInput:
        return
    joined = text[place : place + cut] == "\n"  # the file itself has a line less
    assert len(found) >= len(scores) - joined
    whole = len(found) == len(scores)
    assert not whole or sum(a != b for a, b in zip(found, scores, strict=True)) <= 1


def test_decimal_commas_are_not_taken_for_columns(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("1,5\n2,9\n")
    with pytest.raises(InvalidInput, match="not a comma") as refused:
        read_scores(path)
    assert "--column 2" not in str(refused.value)


@pytest.mark.parametrize("words", [("1", "0"), ("true", "False"), ("IN", "out"), ("yes", "no")])
def test_one_file_with_members(tmp_path: Path, words: tuple[str, str]) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"run;score;member\n1;0.5;{words[0]}\n2;0.25;{words[1]}\n3;1;{words[0]}\n")
    inside, outside = read_labelled_scores(path, column="score")
    assert inside.tolist() == [0.5, 1]
    assert outside.tolist() == [0.25]
    with pytest.raises(InvalidInput, match="--column score"):
        read_labelled_scores(path)
    with pytest.raises(InvalidInput, match="column 'who'"):
        read_labelled_scores(path, column="score", member="who")
    path.write_text("score,member\n1,2\n")
    with pytest.raises(InvalidInput, match="line 2"):
        read_labelled_scores(path)


def test_one_file_and_two_files_give_one_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(3)
    scores = {"in": generator.normal(2, 1, 300), "out": generator.normal(0, 1, 300)}
    for name, values in scores.items():
        (tmp_path / f"{name}.csv").write_text("".join(f"{value!r}\n" for value in values.tolist()))
    both = [
        f"{x!r},{int(name == 'in')}\n" for name, values in scores.items() for x in values.tolist()
    ]
    (tmp_path / "runs.csv").write_text("score,member\n" + "".join(both))
    claim = ["--claim", "mu=0.5,delta=1e-5", "--adjacency", "add-remove", "--seed", "1", "--json"]
    answers = []
    for files in (("in.csv", "out.csv"), ("runs.csv",)):
        with pytest.raises(SystemExit) as stopped:
            main(["audit", "--scores", *(str(tmp_path / name) for name in files), *claim])
        assert stopped.value.code == 1
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "--scores", str(tmp_path / "in.csv"), *claim])
    assert stopped.value.code == 2
    assert "column 'member'" in capsys.readouterr().err
