"""Every audit in the folder: its shape, and that every case comes out as it must.

A new audit needs no new test line. Seeds are fixed, so nothing here is random; with a new seed, a
certified twin is refuted by chance at most once in twenty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcalc.auditing import Claim, Outcome, Target
from dpcalc.auditing.suite.case import DETECTED, Audit, Case, ClaimSource
from dpcalc.auditing.suite.run import carry_out, compute_table
from dpcalc.audits.suite.catalogue import audit_of, keys

AUDITS = [audit_of(key) for key in keys()]
CASES = [(audit, case) for audit in AUDITS for case in audit.cases]
QUICK = (
    "dp-admm",
    "gradient-admm-noisy-oracle",
    "noisy-gradient-descent",
    "penalty-perturbation",
)
"""Audits of whose cases six run every time, spread over the file; the others' runs are campaigns."""

FALSE_CLAIMS = {
    ("dp-admm", "as-printed"),
    ("dp-admm", "last-iterate-as-printed"),
    ("dp-admm", "replace-one"),
    ("private-dual-averaging", "as-printed"),
    ("gradient-admm-noisy-oracle", "shortcut"),
    ("gradient-admm", "stopping-over-all"),
}
"""Refuted with confidence 1 - 1e-6."""


def _name(pair: tuple[Audit, Case]) -> str:
    return f"{pair[0].key}:{pair[1].key}"


def _in_profile(pair: tuple[Audit, Case]) -> object:
    audit, case = pair
    heavy = audit.key not in QUICK or case.only_on_request
    marks = [pytest.mark.campaign] if heavy else [pytest.mark.few(6, each="key")]
    return pytest.param(audit.key, case, id=_name(pair), marks=marks)


def test_folder_and_names_agree() -> None:
    folder = Path(__file__).parents[2] / "audits"
    files = {p.stem.replace("_", "-") for p in folder.glob("[!_]*.py")}
    assert files == set(keys()) == {audit.key for audit in AUDITS}


@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.key)
def test_every_audit_has_a_twin_and_a_planted_bug(audit: Audit) -> None:
    roles = [case.role for case in audit.cases]
    assert ClaimSource.CERTIFIED in roles
    assert ClaimSource.BUG in roles
    assert len({case.key for case in audit.cases}) == len(audit.cases)
    assert audit.title
    assert audit.reference


@pytest.mark.parametrize("pair", CASES, ids=_name)
def test_expectations_make_sense(pair: tuple[Audit, Case]) -> None:
    _, case = pair
    assert case.expected
    if case.role is ClaimSource.BUG:
        assert set(case.expected) <= set(DETECTED)
    if case.role is ClaimSource.CERTIFIED:
        assert Outcome.REFUTED not in case.expected


@pytest.mark.parametrize(("key", "case"), [_in_profile(pair) for pair in CASES])
def test_case_comes_out_as_it_must(key: str, case: Case) -> None:
    (found,) = carry_out([case], seed=3, controls=False)
    setting = case.instance()
    assert isinstance(setting.target, Target)
    assert isinstance(setting.claim, Claim)
    assert not found.unexpected, f"{found.verdict}"
    assert not found.contradicts_proof, f"{found.verdict}"
    if (key, case.key) in FALSE_CLAIMS:
        exposed = [f for f in found.verdict.findings if f.check == "disclosure"]
        certain = any(f.numbers.get("alpha") == 1e-6 for f in exposed)
        assert certain or found.verdict.alpha <= 1e-6


@pytest.mark.campaign
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.key)
def test_exhibits_are_tables(audit: Audit) -> None:
    for exhibit in audit.exhibits:
        table = compute_table(exhibit, seed=3)
        assert all(len(row) == len(table.columns) for row in table.rows)
