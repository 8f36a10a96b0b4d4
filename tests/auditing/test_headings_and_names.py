"""Small things that a reader of an audit trips over: headings, comments, names, too few scores."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from dpcalc.auditing import Claim, audit_scores, mechanism
from dpcalc.auditing.scores import read_labelled_scores, read_scores, refuse_two_with_members
from dpcalc.errors import InvalidInput
from dpcalc.report.layout import print_table

TABLE = "1,0.5\n0,0.25\n1,2\n"


@pytest.fixture
def file(tmp_path):
    def write(text, name="runs.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "head",
    [
        " Member , Score \n",
        "MEMBER,score\n",
        "# made on Monday\nmember,score\n",
        "# made on Monday, at noon, twice\n# by hand\n\nmember,score\n",
        "#made on Monday\n# member,score\n",
        "# Member, Score\n",
    ],
)
def test_capitals_blanks_and_comments_above_headings(file, head):
    first, second = read_labelled_scores(file(head + TABLE))
    assert (first.tolist(), second.tolist()) == ([0.5, 2.0], [0.25])


def test_a_comment_above_scores(file):
    assert read_scores(file("# scores of run 7, validated\n1\n2\n")).tolist() == [1.0, 2.0]
    assert read_scores(file("# of run 7\nscore\n1\n2\n")).tolist() == [1.0, 2.0]
    named = file("# by hand\nLoss,Score\n1,3\n2,4\n")
    assert read_scores(named, column=" score").tolist() == [3.0, 4.0]


@pytest.mark.parametrize("head", ["#0.5\n", "#0.5\n#0.25\n", "# by hand\n#1\n", "#nan\n"])
def test_a_score_behind_a_hash_is_never_left_out(file, head):
    with pytest.raises(
        InvalidInput, match="expected numbers, or a heading for every column in line"
    ):
        read_scores(file(head + "1\n2\n"))


def test_capitals_that_tell_two_headings_apart_count(file):
    both = file("Score,score\n1,2\n3,4\n")
    assert read_scores(both, column="score").tolist() == [2.0, 4.0]
    with pytest.raises(InvalidInput, match="expected a column 'SCORE'"):
        read_scores(both, column="SCORE")


def test_a_heading_that_comes_again_is_named(file):
    with pytest.raises(
        InvalidInput, match=r"every heading once in line 1 of '.*'; got 'loss' again"
    ):
        read_scores(file("loss,score,loss\n1,2,3\n"), column="loss")


def test_two_files_with_members_are_told_whatever_the_capitals(file):
    one, other = file("# a\nMember,score\n" + TABLE), file(" member ,score\n" + TABLE, "other.csv")
    with pytest.raises(InvalidInput, match="both with a column 'member'"):
        refuse_two_with_members(str(one), str(other))


@pytest.mark.parametrize("coins", [False, True])
@pytest.mark.parametrize("sizes", [(2, 300), (300, 9), (0, 50), (1, 1)])
def test_too_few_scores_are_told_by_number(sizes, coins):
    claim = Claim.of(epsilon=1, adjacency="add-remove")
    first, second = (np.arange(n, dtype=float) for n in sizes)
    wanted = (
        rf"at least 10 scores of either kind; got {sizes[0]} .* and {sizes[1]} without; make more"
    )
    with pytest.raises(InvalidInput, match=wanted):
        audit_scores(claim, first, second, fair_coins=coins, seed=1)


@pytest.mark.few(2, each="other")
@pytest.mark.parametrize("other", [10, 11, 40, 300])
@pytest.mark.parametrize("seed", range(5))
def test_ten_of_a_kind_are_enough_for_a_verdict(other, seed):
    draw = np.random.default_rng(seed)
    for sizes in ((10, other), (other, 10)):
        for claim in (
            Claim.of(epsilon=1, adjacency="add-remove"),
            Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove"),
        ):
            scores = [draw.normal(size=n) for n in sizes]
            assert audit_scores(claim, *scores, seed=seed).outcome == "UNDERPOWERED"


@pytest.mark.parametrize(
    ("epsilon", "delta", "name"),
    [
        (1 / 3, 0, "0.3334-DP"),
        (0.1, 0, "0.1-DP"),
        (2 / 3, 1e-5, "(0.6667, 1e-5)-DP"),
        (4.37718, 0, "4.37718-DP"),
    ],
)
def test_a_claim_is_named_by_the_number_that_reports_give(epsilon, delta, name):
    assert Claim.of(epsilon=epsilon, delta=delta, adjacency="add-remove").name == name


def _released(data, generator, runs):
    return generator.normal(data, size=(runs, 1))


def test_names_are_one_line():
    target = mechanism(_released, 1, 0, adjacency="add-remove", name=" two\nlines\tand  more ")
    assert target.name == "two lines and more"
    assert mechanism(_released, 1, 0, adjacency="add-remove", name="\n").name == "mechanism"
    claim = Claim.of(epsilon=1, adjacency="add-remove", name="as\nprinted")
    assert claim.name == "as printed"


@pytest.mark.parametrize("width", range(60, 110))
def test_no_word_of_a_claim_is_broken_where_a_table_hardly_fits(width):
    out = Console(width=width, record=True, force_terminal=False, file=io.StringIO())
    columns = ("case", "claim", "attack on ρ", "claimed ε", "attack ε", "certified ε", "verdict")
    row = ("recorded", "0.1-zCDP", "—", "1.915", "≥ 0", "—", "UNDERPOWERED")
    print_table(out, columns, [row], unknown=("attack on",))
    assert "0.1-zCDP" in out.export_text()
