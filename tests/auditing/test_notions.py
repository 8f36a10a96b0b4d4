"""Bounds on μ, ρ and ε kept apart: one on μ or ρ is none on the ε of the mechanism."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from dpcalc.auditing import Claim, Counts, audit, audit_counts, mechanism
from dpcalc.auditing.result import AuditResult
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.report.audit_html import page
from dpcalc.report.audit_markdown import markdown
from dpcalc.report.audit_record import record
from dpcalc.report.audit_text import show
from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.records import to_json
from dpcalc.report.text import bound_text
from dpcalc.wording import at_least, at_most

TRUE_EPSILON = 1.0
SYMBOLS = {"mu": "μ", "rho": "ρ"}


def claim(guarantee):
    return Claim(guarantee=guarantee, delta=1e-5, adjacency="add-remove")


def laplace():
    """Exactly 1-differentially private, so ε <= 1 at every δ."""
    return mechanism(
        lambda data, generator, runs: data + generator.laplace(size=runs),
        1.0,
        0.0,
        adjacency="add-remove",
        name="laplace",
    )


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize(
    "guarantee",
    [ZCDP(0.1), ZCDP(0.5), GDP(0.5), GDP(2.0)],
    ids=["rho-0.1", "rho-0.5", "mu-0.5", "mu-2"],
)
def test_no_bound_on_the_epsilon_of_a_laplace_mechanism_exceeds_one(guarantee, early_stop):
    """One seeded audit each; a true bound fails one of the eight with chance at most .4."""
    verdict = audit(
        laplace(), claim(guarantee), runs=20_000, seed=1, early_stop=early_stop, controls=False
    )
    result = AuditResult(key="k", title="t", role="own", verdict=verdict)
    assert 0 < verdict.epsilon_lower <= TRUE_EPSILON
    assert result.epsilon_lower == verdict.epsilon_lower
    assert verdict.record()["epsilon_lower"] <= TRUE_EPSILON
    quantity = verdict.claim.quantity
    assert result.native_lower == verdict.lower_bounds[quantity] > 0
    # the claim is refuted if and only if its own number is: ρ of Laplace(1) is at least the
    # divergence of order 1, 1/e, and its accuracy .697 is beyond the .599 of μ = 0.5
    assert (verdict.outcome == "REFUTED") == (guarantee in (ZCDP(0.1), GDP(0.5)))
    assert (result.native_lower > verdict.claim.bound(quantity)) == (verdict.outcome == "REFUTED")


@pytest.mark.parametrize("guarantee", [ZCDP(0.01), GDP(0.2)], ids=["rho", "mu"])
def test_every_report_shows_the_bound_in_its_own_notion(guarantee):
    verdict = audit_counts(claim(guarantee), Counts.of(800, 200, 300, 700))
    result = AuditResult(key="k", title="t", role="own", verdict=verdict)
    quantity = verdict.claim.quantity
    symbol = SYMBOLS[quantity.value]
    shown = f"{symbol} ≥ {at_least(result.native_lower)}, claimed"
    assert native_columns([result]) == (f"attack on {symbol}",)
    assert native_cells(result, [result])[0].startswith(shown)
    assert shown in markdown("t", [result])
    assert shown in page("t", [result])
    made = json.loads(to_json(record("t", [result])))["results"][0]
    assert made["own_bound"] == {"quantity": quantity.value, "lower": result.native_lower}
    assert made["attack"]["epsilon"] == made["verdict"]["epsilon_lower"] == result.epsilon_lower
    # from the same rectangle, by its definition
    direct = next(e for e in verdict.evidence if e.quantity == "epsilon" and e.gates)
    assert all(e.epsilon == direct.lower for e in verdict.evidence if e.gates)


def test_claims_about_epsilon_have_no_such_column():
    verdict = audit_counts(
        Claim.of(epsilon=1, adjacency="add-remove"), Counts.of(800, 200, 300, 700)
    )
    result = AuditResult(key="k", title="t", role="own", verdict=verdict)
    assert native_columns([result]) == native_cells(result, [result]) == ()
    assert result.native_lower == result.epsilon_lower


@pytest.mark.parametrize("value", [1.4164, 1.41601, 0.1 + 0.2, 2.0, 7.25e-5, 123456.7])
def test_a_claim_is_rounded_the_same_way_in_a_sentence_and_in_a_table(value):
    assert float(at_most(value)) == float(bound_text(value)) >= value * (1 - 1e-12)


def test_one_output_states_one_claimed_value():
    claimed = claim(GDP(0.3700001))
    for guarantee in (claimed, Claim.of(epsilon=1.41632, delta=1e-5, adjacency="add-remove")):
        for counts in (Counts.of(800, 200, 300, 700), Counts.of(520, 480, 500, 500)):
            verdict = audit_counts(guarantee, counts)
            assert verdict.claim.quantity == guarantee.quantity
            number = at_most(verdict.claim.bound(guarantee.quantity))
            other = at_most(verdict.claim.epsilon)
            assert any(
                f"claimed {text}" in verdict.reason
                for text in (number, other, f"{guarantee.quantity.symbol} = {number}")
            )


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_terminal_never_breaks_a_name_or_a_number(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    verdict = audit_counts(
        Claim.of(epsilon=1.41632, delta=1e-5, adjacency="add-remove", name="theorem 1, " * 6),
        Counts.of(800, 200, 300, 700),
    )
    curve = audit_counts(claim(GDP(0.37)), Counts.of(800, 200, 300, 700))
    keys = ("noisy-sgd-constrained", "last-iterate-zero-start")
    results = [
        AuditResult(key=key, title="t", role="own", verdict=v, certified=certified)
        for key, v, certified in zip(keys, (verdict, curve), (math.inf, 1.5), strict=True)
    ]
    show("an audit", results, [], None)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= columns for line in lines if not line.startswith("chance"))
    for key in keys:
        assert sum(key in line for line in lines) >= 2  # its row or block, and its reason
    assert any("∞" in line for line in lines)
    assert any("1.417" in line for line in lines)
    assert not any("1.416" in line for line in lines)


def test_what_nothing_finite_holds_for_is_infinite_and_not_unknown():
    for name in ("dp-admm", "dp-acc-admm"):
        case = audit_of(name).case("as-printed")
        assert case.instance().certified == math.inf


def test_a_release_that_nobody_said_is_called_the_default_in_python_and_in_reports():
    for release in (None, "every message"):
        made = Claim.of(epsilon=1.0, adjacency="add-remove", release=release)
        assert made.record()["release_basis"] == ("default" if release is None else "stated")
        assert replace(made, name="x").release_taken is (release is None)
        verdict = audit_counts(made, Counts.of(60, 40, 40, 60))
        result = AuditResult(key="k", title="t", role="own", verdict=verdict)
        for report in (page("t", [result]), markdown("t", [result])):
            said = "every message (the default; --release says another)" in report
            assert said is (release is None)
            assert ("default" in report) is (release is None)
