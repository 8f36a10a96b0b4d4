"""Tables of rounds: rows of a CSV file as releases; nothing is misread."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.claims.composition import read_plan
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.numerals import number


def plan(path: Path, text: str, **settings: Any) -> list[tuple[Guarantee, int]]:
    path.write_text(text, encoding="utf-8")
    return [(release.guarantee, release.count) for release in read_plan(path, **settings).releases]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pure,count\n10,1,\n", "line 2 .* 3 cells"),
        ("pure,count\n0.1,3,9\n", "line 2 .* 3 cells"),
        ("mechanism,noise_multiplier,count\ngaussian,1\n", "line 2 .* 2 cells"),
        ("pure,count\n1,\n", "line 2 .*count is empty"),
        ("pure;count\n0.100;1.000\n", "line 2 .*count may be 1, or 1000 with its thousands apart"),
        ("pure,count\n,3\n", "needs exactly one of"),
        ("pure,count\n,\n", "count is empty"),
        ("pure,pure\n1,1\n", "more than once"),
        ("pure,\n1,1\n", "column 2"),
        ("pure,round\n1,1\n", "--notes 'round'"),
        ("pure,cuont\n1,1\n", "did you mean 'count'"),
        ("sigma,sampling_rate\n1,0.1\n", "is the column noise_multiplier"),
        ("epsilon,count\n1,1\n", "no delta; write delta 0"),
        ("delta,count\n1e-7,1\n", "no epsilon"),
        ("approx,count\n1,1\n", "epsilon and delta"),
        ("epsilon;delta\n0,5;1e-7\n", "line 2 .*'0,5'"),
        ("pure;count\n0.5;1,5\n", "'1,5'"),
        ("pure,epsilon,delta\n1,1,0.1\n", "unknown field"),
        ("rdp\n2:0.1 2:0.2\n", "every order once"),
        ("rdp\n2:0.1 2.0:0.2\n", "every order once"),
        ("rdp\n2 0.1\n", "order:divergence"),
        ("pure\n", "column names alone"),
        ("", "is empty"),
        ("pure,count\n1,1.5\n", "whole number"),
        ("#pure,count\n1,2\n", "a comment or a row"),
        ("sep=;\npure;count\n1;2\n", "line 1 .* a note to spreadsheets, 'sep=;'"),
    ],
)
def test_what_can_be_misread_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        plan(tmp_path / "rounds.csv", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pure\n0.1\n", [(PureDP(number("0.1")), 1)]),
        ("epsilon;delta;count\n0.1;1e-7;10\n", [(ApproxDP(number("0.1"), number("1e-7")), 10)]),
        ("zcdp\tcount\n0.1\t3\n", [(ZCDP(0.1), 3)]),
        ("gdp|count\n0.5|2\n", [(GDP(0.5), 2)]),
        (
            "mechanism,noise-multiplier,name,Count\ngaussian,10,step #1,100\n",
            [(GDP(0.1), 100)],
        ),
        (
            "mechanism,noise_multiplier,pure,count\n# so far\ngaussian,2,,5\n,,0.1,7\n",
            [(GDP(0.5), 5), (PureDP(number("0.1")), 7)],
        ),
        (
            "note,pure,note: who\n1,0.1,me\n2,0.2,you\n",
            [(PureDP(number("0.1")), 1), (PureDP(number("0.2")), 1)],
        ),
    ],
)
def test_rows_are_releases(
    tmp_path: Path, text: str, expected: list[tuple[Guarantee, int]]
) -> None:
    found = plan(tmp_path / "rounds.csv", text)
    assert [count for _, count in found] == [count for _, count in expected]
    for (guarantee, _), (wanted, _) in zip(found, expected, strict=True):
        assert type(guarantee) is type(wanted)
        for name, value in wanted.parameters().items():
            assert guarantee.parameters()[name] == pytest.approx(value, rel=3e-16)


def test_renyi_rounds_are_read_from_their_cells(tmp_path: Path) -> None:
    ((guarantee, count),) = plan(tmp_path / "rounds.tsv", "rdp\tcount\n2:0.1 8:0.5\t3\n")
    assert count == 3
    assert isinstance(guarantee, RDP)
    assert guarantee.points == ((2.0, 0.1), (8.0, 0.5))


def test_columns_are_declared_as_notes(tmp_path: Path) -> None:
    path = tmp_path / "rounds.csv"
    text = "round,pure,who\n1,0.1,me\n"
    assert plan(path, text, notes=("round", "who")) == [(PureDP(number("0.1")), 1)]
    with pytest.raises(InvalidInput, match="unknown column 'who'"):
        plan(path, text, notes=("round",))
    with pytest.raises(InvalidInput, match="has none"):
        plan(path, text, notes=("round", "who", "when"))
    with pytest.raises(InvalidInput, match="cannot be a note"):
        plan(path, text, notes=("round", "who", "pure"))
    toml = tmp_path / "plan.toml"
    toml.write_text('rounds = "rounds.csv"\nnotes = ["round", "who"]\n')
    assert read_plan(toml).releases[0].guarantee == PureDP(number("0.1"))


ROWS = st.lists(
    st.tuples(st.sampled_from(["gaussian", "laplace"]), st.integers(1, 99), st.integers(1, 2000)),
    min_size=1,
    max_size=4,
)


@given(ROWS, st.data())
def test_a_stray_character_never_changes_the_answer_silently(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[str, int, int]], data: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.csv"
    lines = ["mechanism,noise_multiplier,scale_multiplier,count,name"]
    for kind, size, count in found:
        fields = (f"{size},", f",{size}")[kind == "laplace"]
        lines.append(f"{kind},{fields},{count},step {size}")
    text = "\n".join(lines) + "\n"
    before = plan(path, text)
    place = data.draw(st.integers(0, len(text)))
    stray = data.draw(st.sampled_from([*",;#\"\t|\n\r\0\ufeff '%x", "\r\n", ",,", '""', "\n#"]))
    try:
        after = plan(path, text[:place] + stray + text[place:])
    except InvalidInput:
        return
    assert after == before


def test_a_long_table_of_few_kinds_of_rounds_costs_what_its_kinds_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell of every line counts; what is the same line again is not read again."""
    from dpcalc.claims import composition, rounds

    seen: list[str] = []
    read, table = composition.release_from, rounds._release
    monkeypatch.setattr(composition, "release_from", lambda w, *a: seen.append(w) or read(w, *a))
    monkeypatch.setattr(rounds, "_release", lambda w, *a: seen.append(w) or table(w, *a))
    path = tmp_path / "long.csv"
    path.write_text("gdp,count,name\n" + "0.1,2,a\n0.2,1,b\n0.1,2,c\n" * 700)
    plan = read_plan(path)
    assert len(seen) == 3 + 2  # three different lines, two that differ in more than their names
    assert [r.name for r in plan.releases] == ["a", "b", "c"] * 700
    exact = math.sqrt(700 * (4 * 0.1**2 + 0.2**2))
    total = plan.total()
    assert isinstance(total, GDP)
    assert exact * (1 - 1e-15) <= total.mu <= exact * (1 + 1e-12)
    path.write_text("gdp,count\n" + "0.1,1\n" * 900 + "0.1\n")
    with pytest.raises(InvalidInput, match="line 902"):
        read_plan(path)


def test_tables_of_many_different_rows_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "different.csv"
    path.write_text("pure,count\n" + "".join(f"{1 + k % 1500}e-6,1\n" for k in range(3000)))
    plan = read_plan(path)
    assert math.isclose(plan.total().epsilon(0.0), 2 * 1500 * 1501 / 2 * 1e-6, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("sigma", "noise_multiplier"),
        ("Sampling rate", "is the column rate"),
        ("batch_size", "the column sample"),
        ("ε", "is the column epsilon, next to delta"),
        ("eps", "ε of ε-DP the column pure"),
        ("δ", "is the column delta, next to epsilon"),
        ("epochs", "epochs × records / batch size"),
    ],
)
def test_the_words_of_others_lead_to_the_columns(tmp_path: Path, heading: str, said: str) -> None:
    table = tmp_path / "rounds.csv"
    table.write_text(f"mechanism,{heading}\ngaussian,2\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot be read") as refused:
        read_plan(table)
    assert said in str(refused.value)
