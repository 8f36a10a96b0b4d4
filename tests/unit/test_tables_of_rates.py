"""What ``dpcalc rate`` says of a result: its record, its table and its sentence, made of its numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dpcalc.errors import AssumptionViolated
from dpcalc.report.rates import comparison, rate, table, verdict_line
from dpcalc.report.records import assumptions, description, violated
from dpcalc.theorems.base import Scope
from dpcalc.theorems.catalogue import result
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.statements import Assumption, Finding
from dpcalc.vocabulary import Bearing

NOTHING = "the paper claims nothing here"
PROMISE = Assumption("promise", "Somebody says so.", Scope.CERTIFIED)


def _fake(**changes: Any) -> Any:
    """A result with every number chosen here."""
    found: dict[str, Any] = {
        "key": "own",
        "quantity": "a gap",
        "attest": (),
        "assumptions": (PROMISE,),
        "inputs": lambda: {"rounds": 3},
        "claimed": lambda: Rate(4.0, {"beta": 0.5}, "as printed"),
        "certified": lambda: Rate(2.0, {"margin": 0.25}, "by hand"),
        "attained": lambda: Rate(1.0, {"total": 7.0}, "a problem"),
        "failing_proof": lambda: None,
        "counterexample": lambda: "a concrete instance exceeds the claim.",
        "violations_of_claim": lambda: ["first", "second"],
        "applicable_findings": lambda: (Finding("A remark.", Bearing.REMARK),),
        "unattested": lambda scope: [PROMISE] if scope is Scope.CERTIFIED else [],
    }
    return SimpleNamespace(**{**found, **changes})


def _cells(record: dict[str, Any]) -> list[list[Any]]:
    made = table(record)
    return [[column.header, *column.cells] for column in made.columns]


def test_a_record_has_every_number_of_the_result() -> None:
    assert comparison(_fake()) == {
        "theorem": "own",
        "inputs": {"rounds": 3},
        "quantity": "a gap",
        "claimed": {"value": 4.0, "method": "as printed", "beta": 0.5},
        "certified": {"value": 2.0, "method": "by hand", "margin": 0.25},
        "attained": {"value": 1.0, "method": "a problem", "total": 7.0},
        "verdict": "LOOSE",
        "reason": "2 times the certified bound",
        "provided": ["promise"],
        "findings": [{"bearing": "remark", "text": "A remark."}],
        "assumptions": [
            {"key": "promise", "text": "Somebody says so.", "scope": "certified",
             "state": "not attested"}
        ],
    }  # fmt: skip
    assert comparison(_fake(attained=lambda: None))["attained"] is None


@pytest.mark.parametrize(
    ("claimed", "attained", "verdict", "provided", "reason"),
    [
        (1.0, 1.5, "REFUTED", [], "an instance reaches at least 1.5: a concrete instance exceeds"),
        (1.0, 0.5, "UNSUPPORTED", ["promise"], "only 2 is certified; the worst instance worked"),
        (1.0, None, "UNSUPPORTED", ["promise"], "only 2 is certified; no instance worked out"),
        (2.0, None, "HOLDS", ["promise"], "the claim is certified"),
    ],
)
def test_the_verdict_is_that_of_the_three_numbers(
    claimed: float, attained: float | None, verdict: str, provided: list[str], reason: str
) -> None:
    reached = None if attained is None else Rate(attained, {}, "a problem")
    found = comparison(_fake(claimed=lambda: Rate(claimed, {}, "p"), attained=lambda: reached))
    assert (found["verdict"], found["provided"]) == (verdict, provided)
    assert found["reason"].startswith(reason)


def test_where_the_conditions_of_a_claim_fail_the_record_says_which() -> None:
    def fails() -> Rate:
        raise AssumptionViolated("own: rounds too few")

    found = comparison(_fake(claimed=fails))
    assert found["claimed"] == {"value": None, "reason": "first; second"}
    assert (found["verdict"], found["reason"], found["provided"]) == (None, NOTHING, [])
    assert verdict_line(found) == "The paper claims nothing here: first; second"
    found = comparison(_fake(claimed=fails, violations_of_claim=list))
    assert found["claimed"] == {"value": None, "reason": "rounds too few"}


def test_a_table_has_a_row_for_every_number_and_a_column_for_every_side() -> None:
    record = comparison(
        _fake(
            claimed=lambda: Rate(4.0000001, {"beta": 0.5, "own_number": 1.5}, "as printed"),
            certified=lambda: Rate(math.inf, {"margin": 0.12345678}, "by hand"),
            attained=lambda: Rate(0.98765432, {"total": 7.0}, "a problem"),
        )
    )
    assert _cells(record) == [
        ["", "bound", "β of the mixing matrix", "own number", "margin of (i)-(ii)",
         "all rounds together"],
        ["claimed", "4.00001", "0.5", "1.5", "—", "—"],
        ["certified", "∞", "—", "—", "0.123456", "—"],
        ["attained", "0.987654", "—", "—", "—", "7"],
    ]  # fmt: skip
    without = {**record, "attained": None, "claimed": {"value": None, "reason": "none"}}
    assert _cells(without) == [
        ["", "bound", "margin of (i)-(ii)"],
        ["claimed", "—", "—"],
        ["certified", "∞", "0.123456"],
    ]


def test_names_of_numbers_are_spelt_out() -> None:
    names = {
        "delta": "δ", "split": "free constant μ", "coupling": "free constant L",
        "slack": "constant a", "constant": "constant w",
        "delta_printed_conditions": "δ of (21)-(22) as printed", "total": "all rounds together",
        "contraction": "contraction per round in the end", "sigma": "σ",
        "regularization_strength": "regularisation λ", "of_two_words": "of two words",
    }  # fmt: skip
    side = dict.fromkeys(names, 0.12345678)
    first, claimed = _cells({"claimed": side, "certified": None, "attained": None})
    assert first == ["", *names.values()]
    down = {"delta", "delta_printed_conditions"}
    assert claimed[1:] == ["0.123456" if name in down else "0.123457" for name in names]


def test_a_bound_of_zero_and_a_claim_of_zero_have_their_sentences() -> None:
    def line(claimed: float, certified: float) -> str:
        sides = {"claimed": {"value": claimed}, "certified": {"value": certified}}
        return verdict_line({**sides, "verdict": "HOLDS", "reason": "because"})

    assert line(0.0, 0.0) == "The claim is certified."
    assert line(0.0, 1.0) == "The claim is zero."
    assert line(3.0, 2.0) == "The certified bound is 0.6667 times the claim."


def test_a_rate_keeps_its_own_numbers() -> None:
    assert rate(Rate(1.0, {"beta": 2.0}, "m")) == {"value": 1.0, "method": "m", "beta": 2.0}


def test_every_assumption_has_its_state() -> None:
    holds = replace(PROMISE, key="holds", violated=lambda _: None, scope=Scope.BOTH)
    fails = replace(PROMISE, key="fails", violated=lambda r: f"{r.key} is small")
    found = assumptions(_fake(assumptions=(PROMISE, holds, fails), attest=("promise",)))
    assert [(a["key"], a["scope"], a["state"]) for a in found] == [
        ("promise", "certified", "attested"),
        ("holds", Scope.BOTH.value, "holds"),
        ("fails", "certified", "violated: own is small"),
    ]
    assert violated(_fake(violations=lambda scope: [scope.value])) == ["certified"]


def test_only_parameters_with_choices_and_defaults_have_them() -> None:
    found = {p["name"]: p for p in description(result("m-admm-rate"))["parameters"]}
    keys = {"name", "option", "kind", "help", "required"}
    assert set(found["graph"]) == keys
    assert found["graph"]["required"]
    found |= {p["name"]: p for p in description(result("dp-admm"))["parameters"]}
    assert set(found["dual_start"]) - {"default"} == keys | {"choices"}
    assert found["dual_start"]["choices"] == ["data", "zero", "noised"]
    assert found["n_records"]["option"] == "--n-records"
    assert (found["split"]["default"], found["split"]["required"]) == (0.5, False)
