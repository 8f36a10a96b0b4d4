"""Solve for the one field of a mechanism that is left open, on the safe side of the root.

Statement
    `solve` returns a value whose certified ε at δ is at most the budget: the smallest noise, the
    largest rate, sample or number of rounds that was found to meet it, within a relative
    `TOLERANCE` for real numbers (or twice the width of the enclosures, if that is less) and exactly
    where the next whole number fails.
Rounding
    What is returned was itself tested; nothing is extrapolated. ε(δ) is enclosed numerically, so
    the answer may be on the safe side of the best one by as much as the enclosure is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.accounting.enclosure import find_root, relative_width, sharpened, with_relative_width
from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.claims.named import mechanism, mechanism_fields
from dpcalc.claims.relations import Relation
from dpcalc.errors import Infeasible, InvalidInput, missing_delta
from dpcalc.guarantees import GDP, Guarantee, PureDP
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.markup import html_table
from dpcalc.numerals import spelt
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.root import Root, enclose_root

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROUNDS = 10**9
TOLERANCE = 1e-6
"""Of mechanisms whose ε is enclosed numerically."""

_EXACT_TOLERANCE = 1e-12
"""Of mechanisms whose ε is exact to nearly the last digit."""

_RANGES = {
    "noise_multiplier": (0.02, 1e6),
    "scale_multiplier": (1e-5, 1e9),
    "rate": (1e-9, 1.0),
    "epsilon": (1e-9, 1e5),
}
"""Fields that are real numbers, and where they are searched."""

_MORE_IS_PRIVATE = {"noise_multiplier", "scale_multiplier"}
_SOLVED_FOR = {*_RANGES, "sample", "rounds"}
_FEW_ROUNDS = 16


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """A mechanism with its open field filled in.

    Attributes:
        field: which one.
        value: its value.
        table: the mechanism's table, complete but for the rounds.
        rounds: how often it is used.
        guarantee: what all rounds are worth together.
        relation: the neighbouring relation that the mechanism was read under.
    """

    field: str
    value: float
    table: Mapping[str, Any]
    rounds: int
    guarantee: Guarantee
    relation: Relation

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        """The field, its value and what they are for."""
        unit = self.relation.sentence()
        return f"{self.field} = {self.value:.10g} over {self.rounds:,} rounds; {unit}"

    def __repr__(self) -> str:
        table = dict(self.table)
        return f"Solution({self.field}={self.value!r}, rounds={self.rounds}, table={table!r})"

    def _repr_html_(self) -> str:
        fields = [(name.replace("_", " "), str(value)) for name, value in self.table.items()]
        relation = self.relation.name or "as the numbers given"
        solved = (f"solved for: {self.field.replace('_', ' ')}", f"{self.value:.10g}")
        return html_table(
            [solved, *fields, ("rounds", f"{self.rounds:,}"), ("neighbours", relation)]
        )

    def plot(self) -> Axes:
        """ε over δ of what was solved for.

        Returns:
            The axes, of a figure of their own.
        """
        return self.guarantee.plot()

    @property
    def at_limit(self) -> bool:
        """Whether the search ended there, so that a still better value may meet the budget.

        Never so where no larger value makes sense: a rate of 1, a sample of all records.
        """
        if self.field == "rounds":
            return self.value >= MOST_ROUNDS
        if self.field not in _RANGES or self.field == "rate":
            return False
        least, most = _RANGES[self.field]
        return self.value <= least if self.field in _MORE_IS_PRIVATE else self.value >= most


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
        return Solution(field, found, dict(table), found, guarantee(table, found), relation)
    count = checks.count("rounds", rounds if rounds is not None else 1)
    if field == "sample":
        population = checks.count("population", float(table["population"]))
        best = largest_count(
            lambda n: guarantee({**table, "sample": n}, count), epsilon, delta, 1, population
        )
        value: float = best
    else:
        value = _real(
            field,
            lambda x: guarantee({**table, field: x}, count),
            (epsilon, delta),
            _RANGES[field],
        )
    filled = {**table, field: value}
    return Solution(field, value, filled, count, guarantee(filled, count), relation)


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
    if field in _RANGES:
        filled[field] = math.sqrt(math.prod(_RANGES[field]))
    elif field != "rounds":
        filled[field] = 1
    return guarantee_from(str(table["mechanism"]), filled)[0]


def _options(names: Iterable[str]) -> str:
    """Fields as the command line spells them."""
    spelt = {"epsilon": "each"}  # --epsilon is the budget
    return ", ".join("--" + spelt.get(name, name).replace("_", "-") for name in names)


def most_rounds(
    of: Callable[[int], Guarantee], epsilon: float, delta: float, *, minimum: int
) -> int:
    """The largest number of rounds, at most `MOST_ROUNDS`, found to meet a budget.

    Raises:
        Infeasible: if ``minimum`` is above 0 and already exceeds it.
    """
    return largest_count(of, epsilon, delta, minimum, MOST_ROUNDS)


def largest_count(
    of: Callable[[int], Guarantee], epsilon: float, delta: float, low: int, high: int
) -> int:
    """The largest whole number in [low, high] found to meet a budget; cost grows with the number.

    ln ε is nearly linear in ln n, so the interval is cut where a line through its ends says.
    """

    def height(n: int) -> float:
        return _sign_of_height(of(n), epsilon, delta)

    at_low = height(low)
    if at_low > 0:
        if low == 0:
            return 0
        raise _infeasible(epsilon, delta)
    step = max(1, low)
    top, at_top = low, at_low
    while at_top <= 0:
        if top >= high:
            return high
        low, at_low = top, at_top
        top = min(high, top + step)
        step *= 8
        at_top = height(top)
    kept = 0
    while top - low > 1:
        a, b = math.log(max(low, 0.5)), math.log(top)
        share = at_low / (at_low - at_top) if math.isfinite(at_low - at_top) else 0.5
        middle = round(math.exp(a + (b - a) * (share if abs(kept) < 3 else 0.5)))
        middle = min(max(middle, low + 1), top - 1)
        value = height(middle)
        if value <= 0:
            low, at_low, kept = middle, value, min(kept, 0) - 1
            at_top = at_top / 2 if kept < -1 else at_top
        else:
            top, at_top, kept = middle, value, max(kept, 0) + 1
            at_low = at_low / 2 if kept > 1 else at_low
    return low


def _real(
    field: str,
    of: Callable[[float], Guarantee],
    budget: tuple[float, float],
    span: tuple[float, float],
) -> float:
    """The best value of a real field: tested to meet the budget, next to one that fails."""
    sign = 1.0 if field in _MORE_IS_PRIVATE else -1.0
    least, most = sorted(sign * math.log(x) for x in span)

    def value(x: float) -> float:
        return min(max(math.exp(sign * x), span[0]), span[1])

    def height(x: float) -> float:
        return _height(of(value(x)), *budget)

    start = max(0.0, least) if field in _MORE_IS_PRIVATE else most - 8.0
    exact = _exact(first := of(value(start)))
    search = enclose_root if exact else _search(first)
    found = search(
        height, start, tolerance=_EXACT_TOLERANCE if exact else TOLERANCE, least=least, most=most
    )
    if found.high == math.inf:
        raise _infeasible(
            *budget, f" with {field.replace('_', ' ')} in [{spelt(span[0])}, {spelt(span[1])}]"
        )
    if not exact:
        found = sharpened(
            height, found, tolerance=TOLERANCE, at=lambda x: of(value(x)), delta=budget[1]
        )
    return value(found.high)


def _search(guarantee: Guarantee) -> Callable[..., Root]:
    """How to search; with wider enclosures for few rounds, where narrow ones take seconds."""
    parts = guarantee.parts if isinstance(guarantee, Composition) else ((guarantee, 1),)
    last = 4.0 if sum(count for _, count in parts) <= _FEW_ROUNDS else 1.0
    return partial(find_root, widths=(0.05, 1e-3), last=last)


def _exact(guarantee: Guarantee) -> bool:
    """Whether ε comes from a closed form."""
    parts = guarantee.parts if isinstance(guarantee, Composition) else ((guarantee, 1),)
    return all(isinstance(part, PureDP) for part, _ in parts) or isinstance(guarantee, GDP)


def _height(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    """Ln ε(δ) - ln of the budget; at most 0 if the budget is met."""
    found = guarantee.epsilon(delta)
    if found in (0.0, math.inf):
        return -math.inf if found == 0 else math.inf
    return math.log(found / epsilon) if found > epsilon else min(math.log(found / epsilon), 0.0)


def _sign_of_height(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    """`_height` with the widest enclosure that tells its sign."""
    if not isinstance(guarantee, Composition):
        return _height(guarantee, epsilon, delta)
    for width in (0.05, 1e-3, relative_width()):
        with with_relative_width(width):
            found = guarantee.bracket(delta)
            if not found.lower <= epsilon < found.upper:
                break
    with with_relative_width(width):
        return _height(guarantee, epsilon, delta)


def _infeasible(epsilon: float, delta: float, where: str = "") -> Infeasible:
    return Infeasible(
        f"no value meets the budget ({spelt(epsilon)}, {spelt(delta)}){where}; try a "
        "larger epsilon or delta, fewer rounds, or a smaller rate"
    )
