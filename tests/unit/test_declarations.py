"""Declarations of parameters, one by one: their kind, help, symbol, default, what they convert."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from dpcalc import checks
from dpcalc.errors import InvalidInput, NumericalFailure
from dpcalc.theorems.convergence._base import Rate, by_node
from dpcalc.theorems.parameters import (
    Parameter,
    choice,
    count,
    flag,
    graph,
    matrix,
    number,
    release,
    schedule,
    weak_convexity,
)
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Release

MISSING = dataclasses.MISSING


def _declared(made: Any) -> Any:
    (found,) = (v for v in made.metadata.values() if isinstance(v, Parameter))
    return found


@pytest.mark.parametrize(
    ("made", "kind", "help_", "choices", "symbol", "default"),
    [
        (lambda: number("a size", "sigma"), "number", "a size, σ", (), "sigma", MISSING),
        (lambda: number("a size σ"), "number", "a size σ", (), "", MISSING),
        (lambda: number("a size σ", "sigma", default=2.0), "number", "a size σ", (), "sigma", 2.0),
        (lambda: count("rounds", "T"), "count", "rounds, T", (), "T", MISSING),
        (lambda: count("rounds", default=3), "count", "rounds", (), "", 3),
        (lambda: choice("which", ("a", "b")), "choice", "which", ("a", "b"), "", MISSING),
        (lambda: choice("which", ("a", "b"), default="b"), "choice", "which", ("a", "b"), "", "b"),
        (lambda: release("seen", "last iterate", "every iterate"), "choice", "seen",
         ("last-iterate", "every-iterate"), "", Release.LAST_ITERATE),
        (lambda: flag("whether"), "flag", "whether", (), "", False),
        (lambda: schedule("penalty", "eta"), "schedule", "penalty, η", (), "eta", MISSING),
        (lambda: schedule("penalty", default=None), "schedule", "penalty", (), "", None),
        (lambda: graph("network"), "graph", "network", (), "", MISSING),
        (lambda: graph("network", default=None), "graph", "network", (), "", None),
        (lambda: matrix("operator"), "matrix", "operator", (), "", MISSING),
        (lambda: matrix("operator", default=None), "matrix", "operator", (), "", None),
    ],
)  # fmt: skip
def test_a_declaration_keeps_what_it_is_given(
    made: Any, kind: str, help_: str, choices: tuple[str, ...], symbol: str, default: Any
) -> None:
    field = made()
    found = _declared(field)
    assert (found.kind, found.help, found.choices, found.symbol) == (kind, help_, choices, symbol)
    assert field.default is default or field.default == default


@pytest.mark.parametrize(
    ("symbol", "letter"),
    [("Delta", "Δ"), ("beta", "β"), ("delta", "δ"), ("epsilon", "ε"), ("eta", "η"), ("gamma", "γ"),
     ("lambda", "λ"), ("mu", "μ"), ("norm_A", "‖A‖"), ("nu", "ν"), ("rho", "ρ"), ("sigma", "σ"),
     ("theta", "θ"), ("lambda_0", "λ_0"), ("c_1", "c_1"), ("n", "n")],
)  # fmt: skip
def test_a_symbol_is_written_as_its_letter(symbol: str, letter: str) -> None:
    assert _declared(number("what it is", symbol)).help == f"what it is, {letter}"
    assert _declared(number(f"the {letter} of it", symbol)).help == f"the {letter} of it"


def _refused(made: Any, value: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        _declared(made).convert("own_name", value)
    return str(caught.value)


def test_values_are_converted_or_refused_by_name() -> None:
    assert _declared(number("x")).convert("n", "0.5") == 0.5
    assert type(_declared(number("x")).convert("n", 2)) is float
    assert _declared(number("x", check=checks.non_negative)).convert("n", 0) == 0
    assert _refused(number("x"), 0).startswith("own_name needs a finite number above 0")
    assert _refused(number("x"), "a").startswith(
        "own_name needs a number such as 0.5, 1e-5 or 1/3; got own_name='a'"
    )
    assert _refused(count("x", minimum=2), 1).startswith(
        "own_name needs a whole number, 2 or above"
    )
    assert _declared(count("x", minimum=0)).convert("n", 0) == 0
    assert _refused(count("x"), 0).startswith("own_name needs a whole number, 1 or above")
    assert _refused(choice("x", ("ab", "cd")), "abb") == (
        "unknown own-name 'abb'; did you mean 'ab'?"
    )
    assert _declared(choice("x", ("ab",), also=callable)).convert("n", len) is len
    seen = release("x", "last iterate", "every iterate")
    for word in ("every iterate", "every-iterate", Release.EVERY_ITERATE):
        assert _declared(seen).convert("release", word) is Release.EVERY_ITERATE
    assert _refused(seen, "last iterat").startswith("unknown own_name 'last iterat'; did you mean")
    assert _declared(flag("x")).convert("n", True) is True
    assert _refused(flag("x"), 1) == "own_name needs true or false; got own_name=1"
    assert _refused(schedule("x"), -1).startswith("own_name needs a finite number above 0")
    assert _declared(schedule("x")).convert("n", [[1, 2]]).values == (1.0, 2.0)
    assert _declared(graph("x")).convert("n", "ring:4").nodes == 4
    assert _declared(matrix("x")).convert("n", 2).norm >= 2
    declarations: list[Any] = [number, count, schedule, graph, matrix]
    for made in declarations:
        assert _declared(made("x", default=None)).convert("n", None) is None
        assert "own_name" in _refused(made("x"), None)
    weak = weak_convexity()
    assert weak.default == 0.0
    assert _declared(weak).convert("w", 0) == 0
    assert _refused(weak, -1).startswith("own_name needs a")


def test_a_rate_that_is_no_number_is_refused_by_its_name() -> None:
    for made, name in (
        (lambda: Rate(math.nan, {}, "m"), "value"),
        (lambda: Rate(1.0, {"beta": math.nan}, "m"), "beta"),
    ):
        with pytest.raises(NumericalFailure) as caught:
            made()
        assert str(caught.value) == f"{name} of a rate is not a number; no rate is returned"
    assert Rate(math.inf, {"beta": -math.inf}, "m").value == math.inf


def test_values_per_node_are_refused_by_name() -> None:
    assert by_node("linear", Schedule.of("linear", 2), 3) == (2.0,) * 3
    assert by_node("linear", Schedule.of("linear", [[1, 2, 3]]), 3) == (1.0, 2.0, 3.0)
    with pytest.raises(InvalidInput, match=r"^linear "):
        by_node("linear", Schedule.of("linear", [[1, 2]]), 3)
