"""Numbers brought to [-1, 1] by the public ranges of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.data.dataset import Units


@dataclass(frozen=True, slots=True)
class Range:
    """The public range of a number; what lies outside is clipped to it."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """What becomes 0."""
        return self.low + self.half

    @property
    def half(self) -> float:
        """The distance from the middle that becomes 1."""
        return self.high / 2 - self.low / 2

    def outside(self, values: Any) -> Any:
        """Which of them are clipped."""
        return (values < self.low) | (values > self.high)

    def scaled(self, values: Any) -> Any:
        """Clipped and mapped onto [-1, 1]."""
        inside = np.clip(values, self.low, self.high)
        return np.clip((inside - self.middle) / self.half, -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How the numbers of a table are brought to [-1, 1].

    Attributes:
        names: of the columns.
        ranges: of every column; None where its numbers stay.
        numeric: names of the columns that need a range.
        row_bound: the longest that a scaled row can be.
    """

    names: tuple[str, ...]
    ranges: tuple[Range | None, ...]
    numeric: tuple[str, ...]
    row_bound: float

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns of numbers without a range."""
        known = dict(zip(self.names, self.ranges, strict=True))
        return tuple(name for name in self.numeric if known[name] is None)

    def features(self, rows: Any) -> Any:
        """Rows of shape (n, d), scaled in place."""
        for k, known in enumerate(self.ranges):
            if known is not None:
                rows[:, k] = known.scaled(rows[:, k])
        return rows

    def units(self, label: Range) -> Units:
        """How the scaled numbers follow from those in the file."""
        from dpcalc.algorithms.problems.data.dataset import Units

        return Units(
            shift=np.array([0.0 if known is None else known.middle for known in self.ranges]),
            stretch=np.array([1.0 if known is None else known.half for known in self.ranges]),
            label_shift=label.middle,
            label=label.half,
        )
