"""The dated page: every audit and case on it, by one command, with an alarm for what is unexpected."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpcalc.auditing import Outcome
from dpcalc.auditing.suite.case import Audit, ClaimSource
from dpcalc.audits.suite import ledger
from dpcalc.audits.suite.catalogue import audit_of, keys
from dpcalc.cli.main import main
from dpcalc.numerals import number
from dpcalc.report.ledger import page

QUICK = "gradient-admm-noisy-oracle"
DOCS = Path(__file__).parents[2] / "docs"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


@pytest.fixture(scope="module")
def entries() -> list[ledger.Entry]:
    said: list[str] = []
    found = ledger.entries(seed=7, names=(QUICK,), say=said.append)
    assert len(said) == len(audit_of(QUICK).cases)
    return found


def test_alpha_is_shared_by_an_audits_cases(entries: list[ledger.Entry]) -> None:
    (entry,) = entries
    results = [*entry.results, *entry.bugs]
    assert sum(r.verdict.alpha for r in results) <= 1e-4 * (1 + 1e-12)
    assert {r.key for r in entry.bugs} == {
        c.key for c in audit_of(QUICK).cases if c.role is ClaimSource.BUG
    }


def test_the_page_has_every_number_on_its_safe_side(entries: list[ledger.Entry]) -> None:
    text = page(entries, seed=7, alpha=1e-4)
    assert "dpcalc audit --ledger docs/ledger.md --seed 7" in text
    assert re.search(r"Made on \d{4}-\d\d-\d\d with dpcalc", text)
    assert "Planted bugs caught: 2 of 2" in text
    (entry,) = entries
    for result in entry.results:
        (line,) = [row for row in text.splitlines() if row.startswith(f"| `{result.key}` |")]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[-1] == result.verdict.outcome.value
        assert result.epsilon_lower is not None
        assert result.certified is not None
        assert float(cells[-2]) <= result.epsilon_lower
        assert float(cells[-3]) >= result.certified
        assert float(cells[-4]) >= result.verdict.claim.epsilon
    table = entry.tables[0]
    assert f"### {table.title}" in text
    assert text.count("\n| 16 |") == 1
    assert text.endswith("\n")
    (best,) = [row for row in text.splitlines() if row.startswith("| `admm-iteration` |")]
    assert f"`{QUICK} local`" in best
    assert re.search(r"\| 9\d % \|", best)


def test_a_bar_in_a_title_does_not_break_the_table(entries: list[ledger.Entry]) -> None:
    (entry,) = entries
    odd = replace(entry.results[0], title="a|b")
    text = page([replace(entry, results=[odd], bugs=[], tables=[])], seed=1, alpha=1e-4)
    assert "a\\|b" in text
    assert "Planted bugs caught: 0 of 0" in text


def test_an_empty_page_says_nothing_false() -> None:
    text = page([], seed=1, alpha=0.05)
    assert "--seed 1 --alpha 0.05" in text
    assert "--seed 1\n" in page([], seed=1, alpha=number("1e-4"))  # as a command line hands it over
    assert "caught" not in text


def test_the_command_writes_it_and_raises_the_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.md"
    words = ["audit", QUICK, "--ledger", str(path), "--seed", "7"]
    assert run(*words) == 0
    assert path.read_text(encoding="utf-8").count("| NOT REFUTED |") == 2
    right = audit_of(QUICK)
    cases = tuple(replace(c, expected=(Outcome.PRECONDITION_FAILED,)) for c in right.cases[:1])
    wrong: Audit = replace(right, cases=cases, exhibits=())
    monkeypatch.setattr(ledger, "audit_of", lambda key: wrong)
    assert run(*words) == 1
    assert f"unexpected: {QUICK} {cases[0].key}: REFUTED" in capsys.readouterr().err


def test_an_unwritable_page_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "entries", lambda **_: pytest.fail("the file is tried first"))
    path = tmp_path / "missing" / "ledger.md"
    assert run("audit", QUICK, "--ledger", str(path), "--seed", "7") == 2
    assert "--ledger needs" in capsys.readouterr().err


def test_the_published_page_has_every_audit_and_case() -> None:
    text = (DOCS / "ledger.md").read_text(encoding="utf-8")
    sections = re.split(r"^## .*\(`([a-z-]+)`\)$", text, flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert set(found) == set(keys())
    best = re.findall(r"^\| `([a-z-]+)` \| `", text, flags=re.MULTILINE)
    assert set(best) == {
        case.theorem or audit_of(key).theorem
        for key in keys()
        for case in audit_of(key).cases
        if case.role is ClaimSource.CERTIFIED
    }
    for key, section in found.items():
        audit = audit_of(key)
        listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", section, flags=re.MULTILINE))
        assert listed == {c.key for c in audit.cases if c.role is not ClaimSource.BUG}, key
        bugs = [c for c in audit.cases if c.role is ClaimSource.BUG]
        assert f"Planted bugs caught: {len(bugs)} of {len(bugs)} " in section, key
        assert all(exhibit.title in section for exhibit in audit.exhibits), key
        assert "UNDERPOWERED" not in section or key == "noisy-gradient-descent"
