"""How results take their parameters and show them."""

from __future__ import annotations

import inspect
import re
from typing import Any, Literal

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.theorems.authoring import Theorem, number, theorem
from dpcalc.theorems.catalogue import keys, result
from dpcalc.theorems.parameters import (
    Parameter,
    choice,
    count,
    graph,
    matrix,
    parameters,
    release,
    schedule,
)
from dpcalc.vocabulary import Release


@pytest.mark.parametrize("key", keys())
def test_a_result_is_shown_as_the_call_that_makes_it(key: str) -> None:
    kind = result(key)
    made = kind.from_parameters(kind.example, "all")
    assert eval(repr(made), {kind.__name__: kind}) == made  # noqa: S307 # made here
    assert not re.search("None|frozenset|<|Schedule|edges=", repr(made))
    assert "<" not in str(inspect.signature(kind))


def test_a_fraction_is_shown_as_it_was_written() -> None:
    kind = result("dp-admm")
    assert "sigma='1/3'" in repr(kind.from_parameters({**kind.example, "sigma": "1/3"}))
    assert "sigma=0.1," in repr(kind.from_parameters({**kind.example, "sigma": "0.1"}))


def test_a_long_table_is_shown_by_its_size() -> None:
    kind = result("recycled-admm")
    made = kind.from_parameters({**kind.example, "penalty": [[1.0] * 5] * 25})
    assert "penalty=<25 by 5>" in repr(made)
    made = kind.from_parameters({**kind.example, "n_records": [[1e5, 2e5, 3e5, 4e5, 5e5]]})
    assert "n_records=[[100000.0, 200000.0, 300000.0, 400000.0, 500000.0]]" in repr(made)


@pytest.mark.parametrize("kind", [count, graph, matrix, number, schedule])
def test_a_parameter_may_be_left_out_if_it_says_so(kind: Any) -> None:
    def known(**given: Any) -> Parameter:
        (found,) = kind("how many", **given).metadata.values()
        return found

    assert known(default=None).convert("x", None) is None
    assert known().help == "how many"
    for needed in (known(), known(default=2)):
        with pytest.raises(InvalidInput, match="x"):
            needed.convert("x", None)


def test_the_words_of_a_choice_are_those_of_its_annotation() -> None:
    @theorem()
    class Chosen(Theorem):
        start: Literal["zero", "a b"] = choice("initial dual", default="zero")
        spelt: str = choice("in words", ("x", "y"), default="y")

    found = parameters(Chosen)
    assert found["start"].choices == ("zero", "a b")
    assert found["start"].convert("start", "a b") == "a b"
    with pytest.raises(InvalidInput, match="start"):
        found["start"].convert("start", "x")
    assert found["spelt"].choices == ("x", "y")


@pytest.mark.parametrize("annotation", ["str", "Literal[1]", str, Literal[1]])
def test_a_choice_without_words_is_refused(annotation: Any) -> None:
    namespace = {"__annotations__": {"start": annotation}, "start": choice("initial dual")}
    with pytest.raises(TypeError, match=r"Wordless\.start needs a Literal of words"):
        theorem()(type("Wordless", (Theorem,), namespace))


def test_the_releases_are_those_of_the_parameter() -> None:
    @theorem()
    class Released(Theorem):
        release: Release = release("what is seen", "every iterate", "average of iterates")

    assert Released.releases == (Release.EVERY_ITERATE, Release.AVERAGE)
