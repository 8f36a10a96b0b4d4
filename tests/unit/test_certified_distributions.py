"""Distributions, profiles, chains and closed forms that certificates know."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.certificates import outcomes, tables
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import certify
from dpcalc.certificates.checker import FORMAT, check, digest, enclosure
from dpcalc.certificates.formulas import shown, tree_of
from dpcalc.certificates.grammar import Refused, number
from dpcalc.certificates.laws import arb
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.cli.main import main
from dpcalc.guarantees import GDP, compose
from dpcalc.guarantees.mechanisms import finite_distributions
from tests.unit.gaussian_formula import gaussian_delta

OUTCOMES = [("1/2", "1/8"), ("1/4", "1/4"), ("1/8", "1/2"), ("1/8", "0"), ("0", "1/8")]


def delta_of(pairs: Sequence[tuple[Fraction, Fraction]], k: Fraction) -> Fraction:
    return sum((max(p - k * q, Fraction(0)) for p, q in pairs), Fraction(0))


def exact(rows: Sequence[tuple[str, str]]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(p), Fraction(q)) for p, q in rows]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_distributions_that_never_meet_lose_everything(relation: str) -> None:
    statement = {
        "format": FORMAT,
        "made_by": "a test",
        "adjacency": relation,
        "releases": [
            {"mechanism": "distributions", "count": 2, "outcomes": [["1", "0"], ["0", "1"]]},
            {"mechanism": "approximate", "count": 1, "epsilon": "0.5", "delta": "0"},
        ],
        "delta": "0.99",
        "upper": None,
    }
    direction = "add" if relation == "add-remove" else "both"
    how = {"method": "bounded", "precision": 80, "enclosure": ["0.999", "1.001"]}
    made = {**statement, "lower": {"epsilon": "700", "evidence": {direction: how}}}
    (proved,) = check({**made, "digest": digest(made)})
    assert proved.endswith("δ(ε) > 0.99 for every ε < 700")


ONE_BATCH = {"mechanism": "gaussian-without-replacement", "mu": "2", "rate": "0.5", "count": 1}
LINE = {
    "method": "line",
    "real_part": "0.4",
    "period": "40",
    "order": "1.2",
    "smoothing": "0",
    "nodes": 100,
    "shifts": ["0.75"],
    "quiet": [101],
}
PAIRS = "their dominating pairs have "


def _table(count: int) -> dict[str, Any]:
    rows = [["0.7", "0.2"], ["0.2", "0.3"], ["0.1", "0.5"]]
    return {"mechanism": "distributions", "outcomes": rows, "count": count}


@pytest.mark.parametrize(
    ("release", "relation", "how", "epsilon", "said"),
    [
        # Meeting them in the worst order attains 0.2045 at ε = 2.
        (_table(2), "replace-one", {"method": "outcomes"}, "2", PAIRS),
        (_table(1), "replace-one", {"method": "outcomes"}, "1", ""),
        (_table(2), "add-remove", {"method": "outcomes"}, "1", ""),
        # Shifts that wait for the last step say μ = 1 where 1/2 is attained, which has 0.0069.
        (
            {
                "mechanism": "shifted-gaussian",
                "count": 1,
                "start": "1",
                "steps": [["1", "0", "1"]] * 4,
                "shifts": ["0"] * 3,
            },
            "replace-one",
            {"method": "one round"},
            "1",
            PAIRS,
        ),
        (
            {"mechanism": "profile", "points": [["0.5", "0.2"], ["2", "0.1"]], "count": 2},
            "replace-one",
            {"method": "outcomes"},
            "1",
            PAIRS,
        ),
        ({**ONE_BATCH, "count": 3}, "replace-one", LINE, "1", PAIRS),
        (ONE_BATCH, "replace-one", {"method": "one round"}, "1", ""),
    ],
)
def test_a_lower_end_of_dominating_pairs_is_called_so(
    release: dict[str, Any], relation: str, how: dict[str, Any], epsilon: str, said: str
) -> None:
    with precision(80):
        rounds = rounds_of([release], relation, False)
        names = {"precision": 80, "enclosure": None}
        least = float(enclosure(rounds, number(epsilon), {**how, **names}).lower())
    delta = f"{0.9999 * least:.6e}"
    ends = {"precision": 80, "enclosure": [repr(0.99999 * least), "1"]}
    direction = "remove" if relation == "add-remove" else "both"
    made = {
        "format": FORMAT,
        "made_by": "a test",
        "adjacency": relation,
        "releases": [release],
        "delta": delta,
        "upper": None,
        "lower": {"epsilon": epsilon, "evidence": {direction: {**how, **ends}}},
    }
    expected = f"{said}δ(ε) > {delta} for every ε < {epsilon}"
    assert check({**made, "digest": digest(made)}) == [expected]


def from_law(law: Any, eps: Any) -> float:
    rounds = [(law, 1)]
    return float(law.infinite + outcomes.over_outcomes(rounds, eps))


@pytest.mark.parametrize("reverse", [False, True])
def test_finite_distributions_in_order_against_fractions(reverse: bool) -> None:
    release = {
        "mechanism": "distributions",
        "count": 2,
        "outcomes": [list(row) for row in OUTCOMES],
    }
    ((law, count),) = rounds_of([release], "add-remove", reverse)
    single = [(q, p) if reverse else (p, q) for p, q in exact(OUTCOMES)]
    both = [(a * c, b * d) for (a, b), (c, d) in itertools.product(single, repeat=2)]
    for k in (Fraction(1), Fraction(3, 2), Fraction(3), Fraction(9)):
        infinite = 1 - (1 - law.infinite) ** count
        found = infinite + outcomes.over_outcomes(
            [(law, count)], arb(k.numerator).log() - arb(k.denominator).log()
        )
        assert abs(float(found) - float(delta_of(both, k))) < 1e-12


CROSSING = [
    ("1/10", "1/5"),
    ("1/100", "1/200"),
    ("17/100", "9/20"),
    ("1/2", "1/5"),
    ("11/50", "29/200"),
]


@pytest.mark.parametrize("rows", [OUTCOMES, CROSSING, [("1", "0"), ("0", "1")], [("1", "1")]])
def test_either_order_is_the_larger_profile(rows: list[tuple[str, str]]) -> None:
    """At its corners, where both profiles cross, and in between."""
    turned = [(q, p) for p, q in exact(rows)]
    law = tables.in_either_order(exact(rows))
    for k in (Fraction(n, 20) for n in range(20, 200)):
        truth = max(delta_of(exact(rows), k), delta_of(turned, k))
        found = from_law(law, (arb(k.numerator) / k.denominator).log())
        assert found == pytest.approx(float(truth), abs=1e-12)


def test_profiles_that_cross_are_certified_and_a_lower_end_above_the_truth_is_not() -> None:
    """A chord over a crossing is above the larger profile: a bound of δ from above alone."""
    rows = [(float(Fraction(p)), float(Fraction(q))) for p, q in CROSSING]
    parts = [(finite_distributions(*zip(*rows, strict=True), "replace-one"), 5), (GDP(1.0), 1)]
    found = compose(*parts).bracket(1e-9)  # type: ignore[attr-defined]
    both = certify(parts, "replace-one", 1e-9, found.upper, found.lower)
    assert (both.upper, both.lower) == ("certified", "certified")
    too_large = certify(parts, "replace-one", 1e-9, found.upper * 1.01, found.upper * 1.0005)
    assert too_large.upper == "certified"
    assert "certainly wrong" in too_large.lower


@settings(max_examples=25, deadline=None)
@example([(0, 0), (0, 1)])
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 31)), min_size=1, max_size=5))
def test_a_profile_is_the_least_chord_of_its_points(points: list[tuple[int, int]]) -> None:
    """Least over all pairs of points, mirrored ones included, with 1 at k = 0 and flat beyond."""
    known = [(math.exp(e / 4), d / 32) for e, d in points]
    corners = [(0.0, 1.0), *known, *((1 / k, 1 - (1 - d) / k) for k, d in known)]
    law = tables.profile([(arb(e) / 4, arb(d) / 32) for e, d in points])

    def truth(k: float) -> float:
        flat = min(d for at, d in corners if at <= k)
        chords = [
            a + (b - a) * (k - i) / (j - i)
            for (i, a), (j, b) in itertools.permutations(corners, 2)
            if i <= k <= j and i < j
        ]
        return min([flat, *chords])

    for k in (1.0, 1.2, 1.9, 3.3, 9.0):
        assert from_law(law, arb(k).log()) == pytest.approx(truth(k), abs=1e-9)


@pytest.mark.parametrize(
    "release",
    [
        {"mechanism": "distributions", "outcomes": [["0.5", "0.4"], ["0.4", "0.6"]]},
        {"mechanism": "distributions", "outcomes": []},
        {"mechanism": "gaussian-mixture", "components": [["1", "0.6"], ["2", "0.5"]]},
        {"mechanism": "gaussian-mixture", "components": [["1", "0"]]},
        {"mechanism": "profile", "points": [["1", "1.5"]]},
        {"mechanism": "rdp", "orders": [["0.5", "1"]]},
        {"mechanism": "exponential-norm", "epsilon": "1", "dimension": 1},
        {"mechanism": "approximate", "epsilon": "1", "delta": ["difference", "0", "1"]},
        {"mechanism": "gaussian", "mu": ["power", ["difference", "0", "2"], "0.5"]},
        {"mechanism": "gaussian", "mu": ["quotient", "1", "0"]},
        {"mechanism": "gaussian", "mu": ["exec", "1"]},
        {"mechanism": "gaussian", "mu": ["sum"]},
        {"mechanism": "gaussian", "mu": ["ln", "2", "3"]},
        {"mechanism": "gaussian", "mu": []},
    ],
)
def test_parameters_out_of_range_are_refused(release: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        rounds_of([{**release, "count": 1}], "add-remove", False)


def chain(shifts: list[str], jump: str = "0.5") -> dict[str, Any]:
    steps = [["0.5", jump, "2"], ["0.5", "0", "1"], ["0.5", "1", "4"]]
    return {
        "mechanism": "shifted-gaussian",
        "count": 1,
        "start": "1",
        "steps": steps,
        "shifts": shifts,
    }


def test_shifts_cost_what_they_move_and_the_last_step_pays_the_rest() -> None:
    """Distances 1, then .4 after a shift of .6, .1 after one of .1, and 1.05 at the end."""
    ((law, _),) = rounds_of([chain(["0.6", "0.1"])], "", False)
    mu = math.sqrt((0.6 / 2) ** 2 + 0.1**2 + (1.05 / 4) ** 2)
    assert float(law.profile(arb("0.1"))) == pytest.approx(
        float(gaussian_delta(mpf(mu), mpf("0.1")))
    )


@pytest.mark.parametrize("shifts", [["1.1", "0"], ["0.6", "0.3"], ["0.6"], ["0.6", "0.1", "1"]])
def test_shifts_beyond_the_distance_are_refused(shifts: list[str]) -> None:
    with pytest.raises(Refused):
        rounds_of([chain(shifts)], "", False)


def test_a_closed_form_is_certified_from_the_exact_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    command = "epsilon dp-admm --n-records 100 --rounds 5 --gradient-bound 1 --dual-start zero"
    with pytest.raises(SystemExit):
        main([*command.split(), "--delta", "1e-5", "--sigma", "1", "--certify", str(out)])
    certificate = json.loads(out.read_text())
    (release,) = certificate["releases"]
    assert release["mu"][0] in ("quotient", "product")
    with mp.workdps(30), precision(96):
        assert abs(float(number(release["mu"])) - float(mp.sqrt(5) / 50)) < 1e-15
    capsys.readouterr()
    with pytest.raises(SystemExit) as status:
        main(["check", str(out)])
    assert status.value.code == 0
    assert "(2·1.0·(5.0^(1/2)))/(100.0·1.0)" in capsys.readouterr().out
    certificate["releases"][0]["mu"] = ["product", "1.001", release["mu"]]
    certificate["digest"] = digest(certificate)
    with pytest.raises(Refused):
        check(certificate)


def test_expressions_keep_their_value() -> None:
    import sympy

    x, y = sympy.symbols("x y", positive=True)
    e = sympy.Max(abs(1 - x * y), sympy.log(1 + y) / x) ** 3 * sympy.sqrt(x) / (y - x) - y / (2 * x)
    tree = tree_of(e, {"x": 0.3, "y": 1.7})
    truth = e.subs({x: sympy.Rational(3, 10), y: sympy.Rational(17, 10)}).evalf(30)
    with precision(96):
        assert abs(float(number(tree)) - float(truth)) < 1e-14
    assert "max(" in shown(tree)


def test_a_gaussian_keeps_its_rounded_number_without_a_closed_form() -> None:
    found = certify([(GDP(0.5), 1)], "add-remove", 1e-5, GDP(0.5).epsilon(1e-5)).certificate
    assert found is not None
    assert found["releases"] == [{"mechanism": "gaussian", "mu": "0.5", "count": 1}]
    assert found["format"] == FORMAT
