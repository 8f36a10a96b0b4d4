"""Pictures and headline of a report: no bound that does not hold, no legend without its line."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.suite.run import carry_out
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.report import audit_plots
from dpcalc.report.audit_html import page

WHY = "tilted runs, where there are any, are others and count"


def attacked(name: str, case: str, *, early_stop: bool) -> AuditResult:
    (found,) = carry_out([audit_of(name).case(case)], seed=3, early_stop=early_stop, controls=False)
    assert found.experiment is not None
    return found


@pytest.fixture(scope="module")
def stopped() -> AuditResult:
    return attacked("dp-admm", "last-iterate-as-printed", early_stop=True)


def test_tilted_runs_count_after_an_early_stop(stopped: AuditResult) -> None:
    assert stopped.experiment is not None
    assert stopped.experiment.stopped
    methods = {e.method for e in stopped.verdict.evidence}
    assert methods == {"e-process", "importance-sampling"}
    assert sum(e.alpha for e in stopped.verdict.evidence) <= stopped.verdict.alpha * (1 + 1e-12)
    betting = max(e.lower for e in stopped.verdict.evidence if e.method == "e-process")
    assert stopped.epsilon_lower is not None
    assert stopped.certified is not None
    assert betting < 0.9 * stopped.certified < stopped.epsilon_lower <= stopped.certified


def test_only_what_holds_is_drawn(stopped: AuditResult, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[dict[str, object]] = []
    real = audit_plots._bounds

    def seen(*given: object) -> dict[str, object]:
        drawn.append(dict(real(*given)))  # type: ignore[arg-type]
        return drawn[-1]

    monkeypatch.setattr(audit_plots, "_bounds", seen)
    for result, allowed in (
        (stopped, {"e-process", "importance sampling"}),
        (
            attacked("dp-admm", "zero-start", early_stop=False),
            {"right answers", "importance sampling"},
        ),
    ):
        assert result.experiment is not None
        caption, _ = audit_plots.bound_against_delta(result, result.experiment)
        assert set(drawn[-1]) == allowed
        assert ("no other bound from them holds" in caption) == result.experiment.stopped
        assert (WHY in page("t", [result]).replace("\n", " ")) == result.experiment.stopped


@pytest.mark.parametrize("certified", [None, 0.62, 22.0, math.inf])
def test_a_region_without_a_line_has_no_legend(
    certified: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replace(attacked("dp-admm", "zero-start", early_stop=False), certified=certified)
    figures: list[object] = []
    monkeypatch.setattr(audit_plots, "svg_text", lambda figure: figures.append(figure) or "<svg/>")
    assert result.experiment is not None
    caption, _ = audit_plots.roc(result, result.experiment)
    (axis,) = figures[-1].axes  # type: ignore[attr-defined]
    for line in axis.lines:
        x, y = line.get_data()
        inside = (x > axis.get_xlim()[0]) & (x < axis.get_xlim()[1])
        assert (inside & (y > axis.get_ylim()[0]) & (y < axis.get_ylim()[1])).any()
    labels = {line.get_label() for line in axis.lines}
    assert ("certified (ε, δ)" in labels) == (certified == 0.62)
    assert ("so it has no line" in caption) == (certified in (22.0, math.inf))


def test_the_page_shows_infinity() -> None:
    (found,) = carry_out([audit_of("dp-admm").case("as-printed")], seed=3, controls=False)
    assert "∞" in page("t", [found])
