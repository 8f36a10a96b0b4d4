"""What every privacy result must do; a new one is tested by being in its folder."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from mpmath import mp, mpf

from dpcalc.calibration import smallest_noise
from dpcalc.claims.verdict import surely_attained
from dpcalc.errors import AssumptionViolated, DpcalcError, Infeasible, InvalidInput
from dpcalc.report.records import budget, description, to_json
from dpcalc.theorems.base import Scope, Theorem
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.theorems.parameters import parameters
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency, Release, Status
from tests.contracts.instances import FEW, drawn

KEYS = keys(privacy=True)
DOCS = Path(__file__).parents[2] / "docs" / "theorems"
LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"


DELTAS = (1e-9, 1e-5, 1e-2)
"""Where bounds are asked for: the same for several tests, since what is composed is kept."""


SMALLER = {
    "noisy-sgd": {"steps": 300},
    "admm-iteration-all-users": {"users": 100},
    "pnsgd-all-users": {"n_records": 100},
}
"""Instead of thousands, which are recorded in `tests/golden` with all that is answered about them."""


def example(key: str) -> Theorem:
    """Its example, in fewer rounds if each has a law of its own; `epsilon` answers at the whole one."""
    kind = privacy_result(key)
    given = dict(kind.example) | SMALLER.get(key, {})
    if given.get("dimension") is not None and isinstance(given.get("penalty"), str):
        given["rounds"] = min(given["rounds"], FEW)
    return kind.from_parameters(given)


@pytest.fixture(params=KEYS)
def theorem(request: pytest.FixtureRequest) -> Theorem:
    return example(request.param)


def test_describes_itself(theorem: Theorem) -> None:
    assert theorem.release in Release
    assert theorem.release is not Release.NOTHING
    assert theorem.status in Status
    assert Adjacency(theorem.adjacency) in Adjacency  # type: ignore[attr-defined] # every one has it
    assert theorem.findings
    assert len({a.key for a in theorem.assumptions}) == len(theorem.assumptions)
    assert all(f.text.endswith(".") for f in theorem.findings)
    assert any(a.promised for a in theorem.assumptions)
    json.loads(to_json(description(type(theorem))))


def test_module_says_what_it_states_and_where_it_is_from(theorem: Theorem) -> None:
    doc = inspect.getdoc(importlib.import_module(type(theorem).__module__)) or ""
    for heading in ("Statement", "Source", "Certified", "Rounding"):
        assert f"\n{heading}\n" in doc, f"{theorem.key}: no section {heading}"


def test_has_a_page_with_statement_findings_and_proof(theorem: Theorem) -> None:
    page = DOCS / f"{theorem.key}.md"
    assert page.exists(), f"docs/theorems/{theorem.key}.md is missing"
    text = page.read_text()
    for heading in ("## Statement", "## What a careful reading finds", "## Certified"):
        assert heading in text
    assert "proof" in text.lower()


def test_bounds_are_answers(theorem: Theorem) -> None:
    for bound in (theorem.claimed(), theorem.certified()):
        for delta in DELTAS:
            epsilon = bound.guarantee.epsilon(delta)
            assert epsilon >= 0
        assert all(not math.isnan(float(v)) for v in bound.numbers.values())
        assert bound.method


def test_certified_beats_what_an_instance_attains(theorem: Theorem) -> None:
    attained = theorem.attained()
    if attained is None:
        return
    for delta in DELTAS:
        certified = theorem.certified().guarantee.epsilon(delta)
        assert surely_attained(attained.guarantee, delta) <= certified


def _noisier(theorem: Theorem, factor: float) -> Theorem:
    level = theorem.noise_level()
    return theorem.with_noise_level(level / factor if theorem.noise_is_a_rate else level * factor)


def test_more_noise_is_more_private_and_larger_delta_costs_less(theorem: Theorem) -> None:
    for which in ("claimed", "certified"):
        values = [
            getattr(t, which)().guarantee.epsilon(1e-5)
            for t in (theorem, _noisier(theorem, 1.7), _noisier(theorem, 5.0))
        ]
        assert values[0] >= values[1] >= values[2]
        guarantee = getattr(theorem, which)().guarantee
        assert guarantee.epsilon(DELTAS[0]) >= guarantee.epsilon(DELTAS[-1])


def test_calibration_meets_the_budget_and_hardly_more(theorem: Theorem) -> None:
    target = 0.7 * theorem.certified().guarantee.epsilon(1e-5)
    found = smallest_noise(theorem, target, 1e-5)
    reached = found.certified().guarantee.epsilon(1e-5)
    assert reached <= target
    less_noise = _noisier(found, 1 - 1e-4)
    assert less_noise.certified().guarantee.epsilon(1e-5) > target * (1 - 1e-9)


def test_prescription_inverts_the_claim(theorem: Theorem) -> None:
    try:
        prescribed = theorem.prescribed(0.9, 1e-3)
    except Infeasible:
        prescribed = theorem.prescribed(20.0, 1e-3)
        assert prescribed.claimed().guarantee.epsilon(1e-3) <= 20.0 * (1 + 1e-9)
        return
    assert prescribed.claimed().guarantee.epsilon(1e-3) == pytest.approx(0.9, rel=1e-2)


@pytest.mark.parametrize("key", KEYS)
def test_formulas_agree_with_the_numbers_to_their_last_digits(key: str) -> None:
    """At the example, where every parameter is moved, and with other choices, counts and graphs."""
    compared = 0
    for theorem in [example(key), *_random_instances(key, 4)]:
        for formula in theorem.symbolic():
            which, name = formula.name.split(".")
            if which == "prescribed":
                try:
                    found = theorem.prescribed(0.5, 1e-3).noise_level()
                except Infeasible:
                    continue
                exact = _exact(
                    formula.expression, {**formula.values, "epsilon": 0.5, "delta": 1e-3}
                )
            else:
                found = float(getattr(theorem, which)().numbers[name])
                exact = _summed(theorem, formula.expression, formula.values, name)
            near = abs(mpf(found) - exact) <= mpf("1e-14") * exact
            assert near or found == exact, (formula.name, theorem)  # both may be infinite
            if which == "certified":
                assert mpf(found) >= exact * (1 - mpf("1e-45")), f"{formula.name} is rounded down"
            compared += 1
    assert compared >= len(example(key).symbolic())


def _exact(expression: sympy.Expr, *rows: dict[str, Any]) -> mpf:
    """The sum of a formula's values at the exact values of doubles, with fifty digits."""
    names = sorted(str(s) for s in expression.free_symbols)
    evaluated = sympy.lambdify(
        [sympy.Symbol(n, positive=True) for n in names], expression, "mpmath"
    )
    with mp.workdps(50):
        return mp.fsum(evaluated(*(mpf(float(row[n])) for n in names)) for row in rows)


def _summed(theorem: Theorem, expression: sympy.Expr, values: Any, name: str) -> mpf:
    """Sum the term of one round over all rounds, where the formula has per-round symbols."""
    free = {str(s) for s in expression.free_symbols}
    if not {"eta", "alpha"} & free or name != "beta":
        return _exact(expression, dict(values))
    worst = int(theorem.certified().numbers["worst_node"]) - 1
    penalties = _column(theorem, "penalty", worst)
    rates = _column(theorem, "noise_rate", worst)
    rounds = zip(penalties, rates, strict=True)
    return _exact(expression, *({**values, "eta": e, "alpha": a} for e, a in rounds))


def _column(theorem: Any, name: str, node: int) -> list[float]:
    schedule: Schedule = getattr(theorem, name)
    rows = schedule.rounds(name, theorem.rounds, theorem.n_nodes)
    return [row[node] for row, n in rows for _ in range(n)]


def _random_instances(key: str, count: int) -> list[Theorem]:
    """Instances around the example that keep the assumptions of both bounds."""
    within = (
        instance
        for instance in drawn(key, 400 * count)
        if isinstance(instance, Theorem)
        and not instance.violations(Scope.CLAIMED)
        and not instance.violations(Scope.CERTIFIED)
    )
    return list(islice(within, count))


@pytest.mark.parametrize("key", KEYS)
def test_random_search_finds_no_certified_bound_above_a_claim_that_stands(key: str) -> None:
    stood = 0
    found = _random_instances(key, 60 if LONG else 12)
    standing = [instance for instance in found if instance.failing_proof() is None]
    for instance in standing if LONG else standing[:3]:
        claim, bound = instance.claimed().guarantee, instance.certified().guarantee
        for delta in (1e-6, 1e-2):
            claimed, certified = claim.epsilon(delta), bound.epsilon(delta)
            assert certified <= claimed * (1 + 1e-12) + 1e-15, instance
            stood += 1
    assert stood > 0


@pytest.mark.parametrize("key", KEYS)
def test_record_is_complete_json(key: str) -> None:
    record = json.loads(to_json(budget(example(key), 1e-5)))
    for name in ("theorem", "inputs", "claimed", "certified", "verdict", "findings", "assumptions"):
        assert name in record
    assert record["certified"]["method"]
    assert {"epsilon", "delta"} <= set(record["claimed"])


@pytest.mark.parametrize("key", KEYS)
def test_misspelt_and_missing_parameters_are_named(key: str) -> None:
    kind = privacy_result(key)
    name = next(iter(kind.example))
    with pytest.raises(InvalidInput, match="did you mean"):
        kind.from_parameters({**kind.example, name + "x": 1})
    fewer = {k: v for k, v in kind.example.items() if k != name}
    with pytest.raises(InvalidInput, match="also needs"):
        kind.from_parameters(fewer)
    with pytest.raises(InvalidInput, match="attestation"):
        kind.from_parameters(kind.example, ["no-such-promise"])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0, "abc"])
def test_bad_numbers_are_one_clear_error(key: str, bad: Any) -> None:
    kind = privacy_result(key)
    for name, parameter in parameters(kind).items():
        if parameter.kind in ("number", "count", "schedule") and name in kind.example:
            if bad == 0.0 and name in ("regularization", "smoothness"):
                continue
            with pytest.raises(DpcalcError) as caught:
                kind.from_parameters({**kind.example, name: bad})
            assert name in str(caught.value)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", KEYS)
def test_violated_assumptions_raise_where_they_are_needed(key: str) -> None:
    for instance in _random_instances_any(key, 200 if LONG else 40):
        for scope, method in (
            (Scope.CLAIMED, instance.claimed),
            (Scope.CERTIFIED, instance.certified),
        ):
            if instance.violations(scope):
                with pytest.raises(AssumptionViolated):
                    method()


def _random_instances_any(key: str, count: int) -> list[Theorem]:
    kind = privacy_result(key)
    rng = np.random.default_rng(7)
    found = []
    for _ in range(count):
        given = {
            k: float(v * np.exp(rng.normal(0, 2))) if isinstance(v, float) else v
            for k, v in kind.example.items()
        }
        try:
            found.append(kind.from_parameters(given))
        except InvalidInput:
            continue
    return found
