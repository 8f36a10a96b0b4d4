"""Reports for a reviewer: everything that a reader needs who was not there, and nothing from outside."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpcalc
from dpcalc.cli.main import main
from dpcalc.report.reviewing import shown_values

PLAN = "delta = 1e-6\nepsilon = 2\nrounds = 'rounds.csv'\n"
ROUNDS = "name,mechanism,noise_multiplier,count\n<b>sum</b>,gaussian,4,3\nmean|x,gaussian,8,1\n"
CLAIMS = """[[claim]]
name = "tight"
theorem = "dp-admm"
epsilon = 1
delta = 1e-5
attest = "all"
[claim.parameters]
n_records = 32561
rounds = 100
gradient_bound = 1
dual_start = "zero"
[claim.ours]
rounds = "not given; 100 taken"
[[claim]]
name = "<script>alert(1)</script>"
epsilon = 9
delta = 1e-5
rounds = "rounds.csv"
[[claim]]
name = "bare"
epsilon = 0.1
[[claim.release]]
pure = 0.1
count = 2
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "rounds.csv").write_text(ROUNDS)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    return tmp_path


def written(line: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    words = shlex.split(line)
    monkeypatch.setattr(sys, "argv", ["dpcalc", *words])
    with pytest.raises(SystemExit) as ended:
        main(words)
    file = Path(words[words.index("--report") + 1])
    return int(ended.value.code or 0), file.read_text(encoding="utf-8")


class _Checked(HTMLParser):
    """Tags that are not closed, and addresses outside the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [str(v) for n, v in attrs if n in ("src", "href") and str(v)[:1] != "#"]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("ending", ["html", "md"])
def test_a_report_on_claims_says_it_all(
    ending: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, text = written(f"verify claims.toml --report r.{ending}", monkeypatch)
    assert status == 1
    plain = text.replace("\\", "")
    for needed in (
        f"{datetime.now(UTC):%Y-%m}",
        f"dpcalc {dpcalc.__version__}",
        "one person",
        "1 is proved, 1 is false and 1 is neither",
        "replace-one",
        "every iterate",
        "nobody said so, it is the default",
        "gradient-bound",
        "as-listed",
        "not given; 100 taken",
        "32561",
        "n instance leaks at least ε = 1.589",
        "Some instance within the claim",
        f"dpcalc verify claims.toml --report r.{ending}",
        *(
            hashlib.sha256((here / n).read_bytes()).hexdigest()
            for n in ("claims.toml", "rounds.csv")
        ),
    ):
        assert needed in plain, needed
    for word in ("HOLDS", "LOOSE", "REFUTED", "UNSUPPORTED"):
        assert word in text


@pytest.mark.parametrize(("budget", "status"), [(3, 0), (1, 1)])
def test_a_report_on_a_composition(
    budget: int, status: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "plan.toml").write_text(PLAN.replace("epsilon = 2", f"epsilon = {budget}"))
    ended, text = written("compose plan.toml --report c.md", monkeypatch)
    assert ended == status
    assert ("exceeds" if status else "keeps to") + f" the budget of {budget}" in text
    assert ("BUDGET EXCEEDED" if status else "WITHIN BUDGET") in text
    assert "| \\<b\\>sum\\</b\\> | 3 |" in text
    assert "| mean\\|x | 1 |" in text
    assert "add-remove" in text
    assert "the default" in text


def test_rows_of_releases_say_what_was_released(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a reviewer reads ε of a mechanism whose noise stands nowhere."""
    (here / "mixed.toml").write_text(
        "delta = 1e-5\n[[release]]\nname = 'scores'\nrdp = {2 = 0.1, 8 = 0.3}\n"
        "[[release]]\npure = 0.25\n[[release]]\ntheorem = 'dp-admm'\n[release.parameters]\n"
        "n_records = 100\nrounds = 7\ngradient_bound = 1\nsigma = 0.5\ndual_start = 'zero'\n"
    )
    _, mixed = written("compose mixed.toml --report mixed.md", monkeypatch)
    _, table = written("compose plan.toml --report plan.md", monkeypatch)
    _, claims = written("verify claims.toml --report claims.md", monkeypatch)
    assert re.search(r"\| scores \| 1 \| [\d.]+ \| rdp = 2:0.1 8:0.3 \|", mixed)
    assert re.search(r"\| pure 0.25 \| 1 \| 0.2[\d.]+ \| – \|", mixed)
    assert "rounds = 7, gradient bound = 1, sigma = 0.5" in mixed
    for text in (table, claims):
        assert "| mechanism = gaussian, noise multiplier = 4 |" in text


def test_pages_are_whole_and_what_was_given_is_text(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in ("verify claims.toml", "compose plan.toml"):
        _, text = written(f"{line} --report r.html", monkeypatch)
        found = _Checked()
        found.feed(text)
        assert found.open == found.outside == []
        assert "<script" not in text
        assert "<b>sum" not in text
        assert text.count("<table>") == text.count("<caption>")
        assert "prefers-color-scheme:dark" in text


def test_the_report_is_named_in_json_and_a_wrong_ending_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["compose", "plan.toml", "--report", "r.md", "--json"])
    assert json.loads(capsys.readouterr().out)["report"] == "r.md"
    for line in ("compose plan.toml --report r.pdf", "verify claims.toml --report r.txt"):
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        assert ended.value.code == 2
        assert re.search(r"\.html or \.md; got 'r\.\w+'; for PDF", capsys.readouterr().err)


def test_a_file_inside_a_report_cannot_end_its_own_block(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (here / "plan.toml").read_text() + "# ````\n"
    (here / "plan.toml").write_text(text)
    _, report = written("compose plan.toml --report r.md", monkeypatch)
    assert "`````text\n" + text in report


def test_with_attacks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CLAIMS.split("[[claim]]")[1]
    (here / "claims.toml").write_text(f"[[claim]]{first}")
    line = "verify claims.toml --audit --runs 40 --seed 1 --report r.md"
    _, text = written(line, monkeypatch)
    assert "Attacked: " in text
    assert "seed 1" in text
    assert "This claim is false" in text


def test_what_has_no_finite_epsilon_is_said_in_words(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = "n_records = 100\nrounds = 2\ngradient_bound = 1\nsigma = 1\n"
    start = f"theorem = 'dp-admm'\n[{{}}.parameters]\n{parameters}"
    (here / "plan.toml").write_text(f"delta = 1e-6\n[[release]]\n{start.format('release')}")
    _, text = written("compose plan.toml --report c.md", monkeypatch)
    assert (
        "1 release of results about the same records cost a privacy budget of no finite ε" in text
    )
    (here / "claims.toml").write_text(f"[[claim]]\ndelta = 1e-6\n{start.format('claim')}")
    _, text = written("verify claims.toml --report r.md", monkeypatch)
    assert "leaks more than any finite ε; claimed is less" in text


def test_lists_of_a_file_are_said_as_numbers() -> None:
    shown = shown_values({"approx": ["0.1", 1e-7], "points": [[1.0, 0.5]]})
    assert shown == (("approx", "0.1, 1e-7"), ("points", "1, 0.5"))
