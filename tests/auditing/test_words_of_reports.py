"""Reports of audits begin with a sentence for anybody, and say what their words mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcalc.auditing import Claim, Counts, audit_counts
from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.verdict import Outcome
from dpcalc.report.audit_html import page
from dpcalc.report.audit_markdown import markdown
from dpcalc.report.audit_words import MEANINGS, summary
from dpcalc.wording import runs_text

CLAIM = Claim.of(epsilon=1, adjacency="replace-one")


def _result(*counts: int) -> AuditResult:
    verdict = audit_counts(CLAIM, Counts.of(*counts), alpha=0.05)
    return AuditResult(key="ours", title="ours", role="paper", verdict=verdict)


FALSE, WEAK = _result(95, 5, 5, 95), _result(2, 2, 2, 2)


def test_one_claim_is_summed_up_by_its_verdict() -> None:
    assert FALSE.verdict.outcome is Outcome.REFUTED
    assert WEAK.verdict.outcome is Outcome.UNDERPOWERED
    assert "This claim is false" in summary([FALSE])
    assert "too weak" in summary([WEAK])
    assert "false" not in summary([WEAK])


def test_several_claims_are_counted() -> None:
    text = summary([FALSE, WEAK, WEAK])
    assert "Of 3 claims 1 is false" in text
    assert "2 met an attack too weak" in text


@pytest.mark.parametrize("results", [[FALSE], [FALSE, WEAK]])
def test_pages_say_it_first_and_explain_every_verdict(results: list[AuditResult]) -> None:
    said = summary(results)
    for text in (page("t", results, command="dpcalc audit x"), markdown("t", results, command="c")):
        assert said.replace("'", "&#x27;") in text or said in text
        assert "To " in text
        for word, meaning in MEANINGS:
            assert word in text
            assert meaning.replace("'", "&#x27;") in text or meaning in text
    assert {o.value for o in Outcome} <= {word for word, _ in MEANINGS}


def test_a_sentence_that_begins_with_a_symbol_keeps_it() -> None:
    """The capital of ε looks like a Latin E, that of μ like M."""
    assert FALSE.verdict.reason.startswith("ε ≥ ")
    assert "<p>ε ≥ " in page("t", [FALSE])
    assert "\nε ≥ " in markdown("t", [FALSE])
    assert "<p>With " in page("t", [WEAK])


def test_small_chances_are_spelt_as_on_the_terminal() -> None:
    verdict = replace(WEAK.verdict, alpha=1e-5)
    text = page("t", [replace(WEAK, verdict=verdict)])
    assert "false alarm at most 1e-5 over" in text
    assert "1e-05" not in text.split("<details>")[0]


@pytest.mark.parametrize(
    ("runs", "text"), [(1, "1 run"), (2, "2 runs"), (2000, "2,000 runs"), (0, "0 runs")]
)
def test_numbers_of_runs_in_words(runs, text):
    assert runs_text(runs) == text
