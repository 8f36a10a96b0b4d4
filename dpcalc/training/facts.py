"""What is said of one column: the range of a number, or the categories of a word."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcalc.algorithms.problems.data.beyond import REST
from dpcalc.algorithms.problems.data.column_names import OTHER
from dpcalc.algorithms.problems.data.marks import COMMA, POINT
from dpcalc.errors import InvalidInput, shortened
from dpcalc.training.scaling import Range

_NARROWEST = 1e-300


def range_of(name: str, fact: Any, given: list[Any]) -> Range:
    """The range that two numbers are; `fact` is what was said, for errors."""
    numbers = [
        _double(x) for x in given if isinstance(x, int | float | np.number) and type(x) is not bool
    ]
    if not (len(numbers) == len(given) == 2 and all(map(math.isfinite, numbers))):
        got = "nothing yet" if fact == [] else repr(fact)
        raise InvalidInput(
            f"column {name!r} needs its public range, [LOW, HIGH], or its categories, "
            f'["A", "B"]; got {shortened(got)}'
        )
    found = Range(*numbers)
    if not (found.low < found.high and found.half > _NARROWEST):
        raise InvalidInput(
            f"column {name!r} needs a range from a lower to a higher number; got "
            f"{found.low:g} to {found.high:g}"
        )
    return found


def _double(number: Any) -> float:
    """A number as a double, infinite beyond them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def categories_of(name: str, fact: Mapping[str, Any]) -> tuple[str, ...]:
    """The categories of a column of which it is said whether it may have other values."""
    given, other = fact.get("categories"), fact.get("other", False)
    words = list(given) if isinstance(given, list | tuple) else []
    known = {*fact} <= {"categories", "other"} and isinstance(other, bool)
    if not (known and words and all(isinstance(word, str) for word in words)):
        raise InvalidInput(
            f'column {name!r} needs {{categories = ["A", "B"], other = true}}, where all other values '
            f"are one more category; got {shortened(repr(dict(fact)))}"
        )
    if other and OTHER in words:
        raise InvalidInput(
            f"column {name!r} needs categories other than {OTHER!r}, which is what all others are "
            "called; rename it, or leave out other"
        )
    return each_once(name, words)


def mark_of(name: str, fact: Mapping[str, Any]) -> tuple[Range | None, str]:
    """The range of a column of numbers, if it has one, and its decimal mark."""
    mark, ends = fact["decimal"], fact.get("range")
    if not ({*fact} <= {"range", "decimal"} and mark in (POINT, COMMA)):
        raise InvalidInput(
            f'column {name!r} needs {{range = [LOW, HIGH], decimal = ","}}, where decimal is "," or '
            f'"."; got {shortened(repr(dict(fact)))}'
        )
    if ends is None:
        return None, mark
    return range_of(name, ends, list(ends) if isinstance(ends, list | tuple) else []), mark


def without_rest(name: str, given: list[str]) -> list[str]:
    """A list without `REST`, which is all others on the command line and a value like others here."""
    if REST in given:
        raise InvalidInput(
            f"{REST!r} of column {name!r} can be all values that are not listed or one that is called "
            'so; all others are one category more in {categories = ["A"], other = true}; one that is '
            f'called so is listed in {{categories = ["{REST}"]}}'
        )
    return given


def each_once(name: str, given: list[str]) -> tuple[str, ...]:
    """Categories, none of them twice."""
    if len(set(given)) < len(given):
        raise InvalidInput(f"column {name!r} needs every category once; got {given!r}")
    return tuple(given)
