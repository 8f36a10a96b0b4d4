"""A mechanism with its open field filled in, and where fields are searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

from dpcalc.claims.relations import Relation
from dpcalc.guarantees import Guarantee
from dpcalc.markup import html_table
from dpcalc.numerals import spelt
from dpcalc.wording import spelt_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROUNDS = 10**9

RANGES = {
    "noise_multiplier": (0.02, 1e6),
    "scale_multiplier": (1e-5, 1e9),
    "rate": (1e-9, 1.0),
    "epsilon": (1e-9, 1e5),
}
"""Fields that are real numbers, and where they are searched."""

MORE_IS_PRIVATE = {"noise_multiplier", "scale_multiplier"}


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
        note: what keeps it from more, if that is the way a number was given.
    """

    field: str
    value: float
    table: Mapping[str, Any]
    rounds: int
    guarantee: Guarantee
    relation: Relation
    note: str = ""

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        """The field, its value and what they are for."""
        unit = self.relation.sentence(option="adjacency='{}'")
        rounds = "one round" if self.rounds == 1 else f"{spelt_count(self.rounds)} rounds"
        note = f"; {self.note}" if self.note else ""
        return f"{self.field} = {self._said()} over {rounds}; {unit}{note}"

    def _said(self) -> str:
        """Its value to ten digits, never less noise and never a larger rate than was found."""
        way = ROUND_CEILING if self.field in MORE_IS_PRIVATE else ROUND_FLOOR
        rounded = Decimal(self.value).normalize(Context(prec=10, rounding=way))
        return spelt(float(rounded), 10)

    def __repr__(self) -> str:
        table = dict(self.table)
        return f"Solution({self.field}={self.value!r}, rounds={self.rounds}, table={table!r})"

    def _repr_html_(self) -> str:
        fields = [(name.replace("_", " "), str(value)) for name, value in self.table.items()]
        relation = self.relation.name or "as the numbers given"
        solved = (f"solved for: {self.field.replace('_', ' ')}", self._said())
        return html_table(
            [solved, *fields, ("rounds", spelt_count(self.rounds)), ("neighbours", relation)]
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
        if self.field not in RANGES or self.field == "rate":
            return False
        least, most = RANGES[self.field]
        return self.value <= least if self.field in MORE_IS_PRIVATE else self.value >= most
