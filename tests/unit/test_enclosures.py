"""The lower end of ε that stands next to its upper end in JSON, and what it is a lower end of."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.cli.main import main
from dpcalc.guarantees import GDP, RDP, ApproxDP, PrivacyProfile, PureDP, compose
from dpcalc.guarantees.mechanisms import (
    finite_distributions,
    from_profile,
    gaussian_without_replacement,
    laplace,
    poisson_subsampled_gaussian,
)
from dpcalc.report.enclosures import PAIR, WORST_CASE, enclosure, enclosure_line


def gaussian_delta(mu: mpf, epsilon: float) -> mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@given(
    st.lists(st.tuples(st.floats(0.2, 20), st.integers(1, 1000)), min_size=1, max_size=4),
    st.floats(-15, -0.5).map(lambda x: 10.0**x),
)
@settings(max_examples=60)
def test_gaussian_rounds_are_enclosed(parts: list[tuple[float, int]], delta: float) -> None:
    """δ(ε) at sixty digits of the exact μ lies above δ at the lower end, below it at the upper."""
    total = compose(*[(GDP(1 / s), n) for s, n in parts])
    found = enclosure(total, delta)
    with mp.workdps(60):
        mu = mp.sqrt(mp.fsum(n * mpf(1 / s) ** 2 for s, n in parts))
        assert gaussian_delta(mu, mpf(total.epsilon(delta))) <= delta
        if found["epsilon_lower"] > 0:
            assert gaussian_delta(mu, mpf(found["epsilon_lower"])) >= delta
    assert found["epsilon_lower"] == pytest.approx(total.epsilon(delta), rel=1e-12, abs=1e-12)


@example(1.0, 0.0, 2.0**-54)
@given(st.floats(0.01, 20), st.floats(0, 0.3), st.floats(0.0, 0.6))
def test_one_approximate_round_is_enclosed(bound: float, failure: float, delta: float) -> None:
    """ε(δ) = ln(e^{ε₀} - s(1 + e^{ε₀})), s = (δ - δ₀)/(1 - δ₀), with 160 digits.

    They are wrong by at most 10^-140: the numbers are below e^20, and the logarithm's argument is
    no smaller than the last bit of a double.
    """
    found = enclosure(ApproxDP(bound, failure), delta)["epsilon_lower"]
    if delta < failure:
        assert found == math.inf
        return
    with mp.workdps(160):
        share = (mpf(delta) - mpf(failure)) / (1 - mpf(failure))
        inside = mp.exp(mpf(bound)) - share * (1 + mp.exp(mpf(bound)))
        truth = max(mpf(0), mp.log(inside)) if inside > 0 else mpf(0)
        assert mpf(found) <= truth + mpf("1e-140")


@pytest.mark.parametrize(
    ("guarantee", "of_what"),
    [
        (lambda: GDP(1.0), WORST_CASE),
        (lambda: PureDP(1.0), WORST_CASE),
        (lambda: compose((laplace(1.0, "add-remove"), 3)), WORST_CASE),
        (lambda: compose((poisson_subsampled_gaussian(1.0, 0.1, "add-remove"), 10)), WORST_CASE),
        (lambda: compose((finite_distributions(*OUTCOMES, "add-remove"), 2)), WORST_CASE),
        (lambda: compose((finite_distributions(*OUTCOMES, "replace-one"), 2)), PAIR),
        (lambda: compose((from_profile([(1.0, 1e-6)]), 2)), PAIR),
        (lambda: compose((PrivacyProfile(GDP(1.0).delta), 2)), PAIR),
        (lambda: compose((gaussian_without_replacement(2.0, 5, 10), 3)), PAIR),
    ],
)
def test_it_says_of_what(guarantee: Callable[[], Any], of_what: str) -> None:
    stated = guarantee()
    found = enclosure(stated, 1e-5)
    assert found["epsilon_lower_of"] == of_what
    assert 0 < found["epsilon_lower"] <= stated.epsilon(1e-5)
    assert f"the exact value of the {of_what} is at least" in enclosure_line(found)


OUTCOMES = (0.2, 0.8), (0.4, 0.6)


def test_there_is_none_where_only_divergences_are_known() -> None:
    assert enclosure(RDP.from_points({2.0: 1.0}), 1e-5) == {}


@pytest.mark.parametrize(
    ("text", "epsilon"),
    [
        ('mechanism = "gaussian"\nnoise_multiplier = 2\ncount = 3', None),
        ("pure = 0.5", 0.5),
        ("pure = 0.5\ncount = 3", None),
        ("approx = [0.5, 1e-6]", None),
        ('mechanism = "laplace"\nscale_multiplier = 2', None),
    ],
)
def test_every_composition_with_an_enclosure_has_both_ends(
    text: str, epsilon: float | None, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f"[[release]]\n{text}\n")
    for delta in ("0",) if epsilon else ("1e-5",):
        with pytest.raises(SystemExit):
            main(["compose", str(file), "--delta", delta, "--json"])
        record = json.loads(capsys.readouterr().out)["certified"]
        assert 0 < record["epsilon_lower"] <= record["epsilon"]
        assert record["epsilon"] == pytest.approx(record["epsilon_lower"], rel=1e-5)
        assert record["method"]
