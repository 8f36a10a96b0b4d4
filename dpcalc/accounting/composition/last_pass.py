"""What a search remembers of the lattices that it needed, so that it need not seek them again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt, Query
from dpcalc.accounting.enclosure import current_search

FIRST_POINTS = 2**9
"""Points of the first lattice, which tells how far one has to reach."""

MIN_POINTS = 2**11

COARSE = 1e-2
"""A search for enclosures this wide asks a lattice that must reach less far for no lower end."""

_NEAR_BY = 1.05


@dataclass(frozen=True, slots=True)
class LastPass:
    """What a search knows of the lattices that it needs.

    Attributes:
        upper: the upper end that was found.
        unit: a typical |dε/d ln δ|.
        variance: of what splitting moved the sums, over the step's square.
        size: points of the coarsest lattice.
        width: relative width that was aimed at.
    """

    upper: float
    unit: float
    variance: float
    size: int
    width: float

    @property
    def upper_limit(self) -> float:
        """Up to where an answer is near by."""
        return self.upper * _NEAR_BY

    def beginning(self, query: Query) -> tuple[float, float, int, bool]:
        """Unit, variance and points of the first pass, and whether it is for the upper end alone."""
        if self.width == query.relative_width:
            return self.unit, self.variance, self.size, True
        size = FIRST_POINTS if self.width == math.inf else MIN_POINTS
        return self.unit, self.variance, size, False


def last_pass(total: LossSum, query: Query) -> LastPass | None:
    """That of the search that goes on, where it is near its end."""
    search = current_search()
    if search is None or not isinstance(query, EpsilonAt) or query.relative_width >= COARSE:
        return None
    found = search.passes.get(total.kind)
    return found if isinstance(found, LastPass) else None


def remember(total: LossSum, found: LastPass) -> None:
    """Tell the search, if one goes on."""
    search = current_search()
    if search is not None:
        search.passes[total.kind] = found
