"""Leaks in outputs of any kind, each beside a sound twin: caught by the default audit, twin not.

Three seeds of each leak, most or all of them refuted; two seeds of each twin here, two hundred in the
campaign and in docs/ledger.md.
"""

from __future__ import annotations

import sys

import pytest

from dpcalc.auditing.verdict import ALPHA
from dpcalc.audits.bugs.leaks import PAIRS
from dpcalc.audits.suite.leak_counts import leak_counts, refuted
from dpcalc.report.leaks import section

ALWAYS = {
    "randomised response, ε = 3",
    "raw record in 40 per cent, far out",
    "noise of 100 seeds",
    "Laplace noise of 100 seeds",
    "rounded noise",
    "noise in float16",
    "noise shared by two nodes",
    "noise used twice",
    "NaN in one world",
    "two equal numbers of forty",
    "product of three signs",
    "parity of nine bits",
    "sum of bytes",
    "cyclic code",
}
"""Leaks that every seed must catch."""
NAMED = [pair for pair in PAIRS if pair[0].name in ALWAYS]


def named(value):
    return value.name


@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_a_leak_is_refuted_at_the_default_budget(leak, claim):
    assert refuted(leak.broken, claim, ALPHA, 3) >= (3 if leak.name in ALWAYS else 2)


@pytest.mark.campaign
@pytest.mark.parametrize(("leak", "claim"), NAMED, ids=named)
def test_what_every_seed_must_catch(leak, claim):
    assert {leak.name for leak, _ in NAMED} == ALWAYS
    assert refuted(leak.broken, claim, ALPHA, 200) == 200


@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_its_sound_twin_is_not(leak, claim):
    """A twin that keeps its claim exactly is refuted in at most one audit of ten thousand."""
    assert refuted(leak.sound, claim, ALPHA, 2) == 0


@pytest.mark.campaign
@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_no_twin_is_accused_more_often_than_alpha_allows(leak, claim):
    """200 seeds at α = .05: more than 19 alarms come once in 300 at a true level of .05."""
    alarms = refuted(leak.sound, claim, 0.05, 200)
    sys.stdout.write(f"\n| {leak.name} | {claim.name} | {alarms} of 200 |")
    assert alarms <= 19


def test_the_table_says_what_was_counted():
    said: list[str] = []
    found = leak_counts(tries=2, twins=3, pairs=(0, 1), say=said.append)
    assert said == [f"planted leak: {leak.name}, {claim.name}" for leak, claim in PAIRS[:2]]
    assert [c.caught for c in found] == [{ALPHA: 2, 0.05: 2}] * 2
    assert all(c.accused[ALPHA] == 0 and c.seconds > 0 for c in found)
    text = "\n".join(section(found))
    assert (
        "- α = 0.0001: 2 of 2 pairs caught (100 %; 2 of them by every seed), 0 of 6 audits" in text
    )
    assert "| randomised response, ε = 3 | 1-DP | 2 of 2 |" in text
    assert section([]) == []
