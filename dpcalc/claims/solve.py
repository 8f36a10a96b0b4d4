"""Solve for the one field of a mechanism that is left open, on the safe side of the root.

Statement
    `solve` returns a value whose certified ε at δ is at most the budget: the smallest noise, the
    largest rate, sample or number of rounds that was found to meet it: of real numbers next to one,
    a relative `enclosure.TOLERANCE` away, that was found not to, and of whole numbers where the next
    one fails.
Rounding
    What is returned was itself tested; nothing is extrapolated. ε(δ) is enclosed numerically, so
    the answer may be on the safe side of the best one by as much as the enclosure is wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from dpcalc import checks
from dpcalc.claims.budget_search import best_real, largest_count, most_rounds
from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.claims.named import mechanism, mechanism_fields
from dpcalc.claims.solution import RANGES, Solution
from dpcalc.errors import InvalidInput, missing_delta
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.composition import compose
from dpcalc.numerics.arithmetic import own_arithmetic

_SOLVED_FOR = {*RANGES, "sample", "rounds"}


@own_arithmetic
def solve(table: Mapping[str, Any], rounds: int | None, epsilon: float, delta: float) -> Solution:
    """Fill in what is missing: the table's missing field, else the number of rounds.

    Args:
        table: a release's table with its mechanism's fields but at most one.
        rounds: how often the mechanism is used; None solves for it, or means once if a field of the
            table is missing.
        epsilon: the budget, above 0.
        delta: in [0, 1).

    Raises:
        InvalidInput: unless exactly one thing is missing.
        Infeasible: if no value meets the budget.
    """
    checks.positive("epsilon", epsilon)
    checks.delta(delta)
    name = str(table.get("mechanism"))
    needed = mechanism_fields(name, table)
    if "rate" in needed and "rate" not in table and ("sample" in table or "population" in table):
        needed = (*("sample" if n == "rate" else n for n in needed), "population")
    field = _open_field(name, (*needed, "rounds"), table, rounds)
    relation = mechanism(name).relation(table, "")

    if delta == 0 and _example(field, table).needs_delta():
        raise missing_delta(name)

    def guarantee(filled: Mapping[str, Any], count: int) -> Guarantee:
        return compose((guarantee_from(name, filled)[0], count))

    if field == "rounds":
        found = most_rounds(lambda n: guarantee(table, n), epsilon, delta, minimum=1)
        once_more = guarantee(written, found + 1) if (written := _as_written(table)) else None
        return Solution(
            field,
            found,
            dict(table),
            found,
            guarantee(table, found),
            relation,
            _DOUBLE.format(written["epsilon"])
            if once_more is not None and once_more.epsilon(delta) <= epsilon
            else "",
        )
    count = checks.count("rounds", rounds if rounds is not None else 1)
    if field == "sample":
        population = checks.count("population", float(table["population"]))
        best = largest_count(
            lambda n: guarantee({**table, "sample": n}, count), epsilon, delta, 1, population
        )
        value: float = best
    else:
        value = best_real(
            field,
            lambda x: guarantee({**table, field: x}, count),
            (epsilon, delta),
            RANGES[field],
        )
    filled = {**table, field: value}
    return Solution(field, value, filled, count, guarantee(filled, count), relation)


_DOUBLE = "{0} as a double is larger than the decimal number, of which more fit: pass each='{0}'"


def _as_written(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its ε as it is written, where it is a double above that; else nothing."""
    each = table.get("epsilon")
    if not isinstance(each, float) or not math.isfinite(each):
        return {}
    written = repr(float(each))
    return {**table, "epsilon": written} if Decimal(each) > Decimal(written) else {}


def _open_field(
    name: str, needed: tuple[str, ...], table: Mapping[str, Any], rounds: int | None
) -> str:
    """The one thing to solve for; rounds only if nothing else is missing."""
    missing = [field for field in needed if field != "rounds" and field not in table]
    if given_only := [field for field in missing if field not in _SOLVED_FOR]:
        raise InvalidInput(
            f"{name} needs {_options(given_only)}, which nobody solves for; got none; give it"
        )
    if rounds is None and not missing:
        return "rounds"
    if len(missing) != 1:
        open_ones = _options(field for field in needed if field in _SOLVED_FOR)
        raise InvalidInput(
            f"exactly one of {open_ones} is to be left open for {name}; got "
            + (f"{_options(missing)} open; give all but one" if missing else "all; leave one out")
        )
    return missing[0]


def _example(field: str, table: Mapping[str, Any]) -> Guarantee:
    """One use of a mechanism with some value in its open field."""
    filled = dict(table)
    if field in RANGES:
        filled[field] = math.sqrt(math.prod(RANGES[field]))
    elif field != "rounds":
        filled[field] = 1
    return guarantee_from(str(table["mechanism"]), filled)[0]


def _options(names: Iterable[str]) -> str:
    """Fields as the command line spells them."""
    spelt = {"epsilon": "each"}  # --epsilon is the budget
    return ", ".join("--" + spelt.get(name, name).replace("_", "-") for name in names)
