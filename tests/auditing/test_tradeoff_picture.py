"""The picture of a verdict: what the claim excludes, what is shown, what was counted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import norm

import dpcalc
from dpcalc.auditing import Claim, Counts, Quantity, audit_counts
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.verdict import Verdict


def _verdict(claim: Claim, *counts: int) -> Verdict:
    return audit_counts(claim, Counts.of(*counts), alpha=0.05)


def _lines(verdict: Verdict) -> dict[str, tuple[list[float], list[float]]]:
    axes = verdict.plot()
    return {str(line.get_label()): _points(line) for line in axes.lines}


def _points(line: Any) -> tuple[list[float], list[float]]:
    return list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))


def _least_misses(rate: float, epsilon: float, delta: float) -> float:
    """The definition of (ε, δ)-DP, both ways round."""
    grown = math.exp(epsilon)
    return max(0.0, 1 - delta - grown * rate, (1 - delta - rate) / grown)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.3, 0.01)])
def test_lines_are_those_of_the_definition(epsilon: float, delta: float) -> None:
    verdict = _verdict(
        Claim.of(epsilon=epsilon, delta=delta, adjacency="replace-one"), 950, 50, 70, 930
    )
    found = _lines(verdict)
    (label,) = [name for name in found if name.startswith("shown")]
    assert verdict.epsilon_lower > epsilon
    for name, value in (("claimed", epsilon), (label, verdict.epsilon_lower)):
        for rate, misses in zip(*found[name], strict=True):
            assert misses == pytest.approx(_least_misses(rate, value, delta), abs=1e-12)
    assert found["attacked"] == ([0.07], [0.05])


def test_a_claimed_gaussian_curve_has_a_line_of_its_own_kind() -> None:
    claim = Claim(guarantee=dpcalc.GDP(0.5), delta=1e-5, adjacency="add-remove")
    verdict = _verdict(claim, 950, 50, 50, 950)
    found = _lines(verdict)
    mu = verdict.lower_bounds[Quantity.MU]
    (label,) = [name for name in found if "μ" in name]
    for name, value in (("claimed", 0.5), (label, mu)):
        for rate, misses in zip(*found[name], strict=True):
            assert misses == pytest.approx(norm.cdf(norm.isf(rate) - value), abs=1e-9)


def test_nothing_shown_is_the_line_of_guessing() -> None:
    found = _lines(_verdict(Claim.of(epsilon=1, adjacency="add-remove"), 50, 50, 50, 50))
    rates, misses = found["shown: ε ≥ 0 at δ = 0"]
    assert misses == pytest.approx([1 - rate for rate in rates])


def test_a_certain_leak_leaves_no_errors() -> None:
    verdict = _verdict(Claim.of(epsilon=1, adjacency="add-remove"), 95, 5, 5, 95)
    (best,) = [one for one in verdict.evidence if one.gates]
    sure = replace(verdict, evidence=(replace(best, lower=math.inf, epsilon=math.inf),))
    found = _lines(sure)
    (label,) = [name for name in found if name.startswith("shown")]
    assert set(found[label][1][1:]) == {0.0}


def test_a_counterexample_counts_as_shown() -> None:
    verdict = _verdict(Claim.of(epsilon=1, adjacency="add-remove"), 50, 50, 50, 50)
    found = Finding(
        check="pointwise", severity=Severity.REFUTES, text="one outcome", numbers={"largest": 3.0}
    )
    assert "shown: ε ≥ 3 at δ = 0" in _lines(replace(verdict, findings=(found,)))
