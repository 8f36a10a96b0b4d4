"""Values that may differ from round to round and from node to node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpcalc.delimited import rows
from dpcalc.errors import InvalidInput, shortened
from dpcalc.numerals import Written, nearest, number, ratio

_MOST_ROUNDS = 2_000_000

_FEW = 10_000
"""Rounds of which the values are kept."""

Ratio = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A table of values, rounds by nodes, or a rule that makes one.

    Either ``start`` and ``factor`` (round t uses start·factor^(t-1), the same at all nodes) or
    ``table`` with one row a round and one column a node; a single row or column serves all rounds
    or nodes.
    """

    start: float = math.nan
    factor: float = 1.0
    table: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, name: str, value: Any) -> Schedule:
        """A schedule from a number, "START:FACTOR", "@file", nested sequences or a schedule."""
        if isinstance(value, Schedule):
            return value
        if isinstance(value, str):
            return cls._from_text(name, value)
        if isinstance(value, Sequence) or hasattr(value, "tolist"):
            rows = value.tolist() if hasattr(value, "tolist") else value
            return cls._from_rows(name, rows if isinstance(rows, list | tuple) else [rows])
        return cls(start=_number(name, value))

    @classmethod
    def _from_text(cls, name: str, text: str) -> Schedule:
        if text.startswith("@"):
            if len(text) == 1:
                raise InvalidInput(f"{name} needs a file after the @; got '@'; try @values.csv")
            return cls._from_rows(name, _read(name, Path(text[1:])))
        head, colon, tail = text.partition(":")
        return cls(_number(name, head), _number(name, tail) if colon else 1.0)

    @classmethod
    def _from_rows(cls, name: str, rows: Sequence[Any]) -> Schedule:
        if not rows:
            raise InvalidInput(f"{name} needs at least one value; got an empty table")
        table = tuple(
            tuple(_number(name, x) for x in row)
            if isinstance(row, list | tuple)
            else (_number(name, row),)
            for row in rows
        )
        widths = {len(row) for row in table}
        if len(widths) != 1 or 0 in widths:
            raise InvalidInput(
                f"{name} needs rows of equal length; got lengths {sorted(widths)}; "
                "try one value a line, or one column per node"
            )
        return cls(table=table)

    @property
    def constant(self) -> bool:
        """Whether one number serves every round and node."""
        return (not self.table and self.factor == 1.0) or (
            len(self.table) == 1 and len(set(self.table[0])) == 1
        )

    @property
    def first(self) -> float:
        """The value of the first round at the first node."""
        return self.table[0][0] if self.table else self.start

    @property
    def values(self) -> tuple[float, ...]:
        """Every value of the table, or the first of a rule."""
        return tuple(x for row in self.table for x in row) if self.table else (self.start,)

    @property
    def width(self) -> int:
        """Columns of the table; 1 without one."""
        return len(self.table[0]) if self.table else 1

    def check(self, check: Callable[[float], float]) -> None:
        """Apply a range check to every value."""
        for row in self.table or ((self.start,),):
            for value in row:
                check(value)
        if not self.table and not (math.isfinite(self.factor) and self.factor > 0):
            raise InvalidInput(
                f"a schedule START:FACTOR needs a finite factor above 0; got factor={self.factor!r}"
            )

    def rounds(self, name: str, rounds: int, nodes: int) -> list[tuple[tuple[float, ...], int]]:
        """Distinct consecutive rows of values per node, with how many rounds each serves.

        Raises:
            InvalidInput: if the table has neither one row nor one per round, or neither one column
                nor one per node, or a rule would leave the range of the doubles.
        """
        if self.table:
            return self._tabulated(name, rounds, nodes)
        if self.factor == 1.0:
            return [((self.start,) * nodes, rounds)]
        if rounds > _MOST_ROUNDS:
            raise InvalidInput(
                f"{name} needs at most {_MOST_ROUNDS} different rounds; got rounds={rounds:g}; "
                "try a constant schedule"
            )
        last = math.log(self.start) + (rounds - 1) * math.log(self.factor)
        if abs(last) > 700:
            raise InvalidInput(
                f"{name}={self} leaves the range of numbers before round {rounds}; "
                "try a factor nearer to 1"
            )
        powers = _few_powers if rounds <= _FEW else _powers
        return [
            ((value,) * nodes, 1) for value in powers(ratio(self.start), ratio(self.factor), rounds)
        ]

    def _tabulated(self, name: str, rounds: int, nodes: int) -> list[tuple[tuple[float, ...], int]]:
        height, width = len(self.table), len(self.table[0])
        if height not in (1, rounds) or width not in (1, nodes):
            raise InvalidInput(
                f"{name} needs {_one_or(rounds, 'row')} (rounds) and {_one_or(nodes, 'column')} "
                f"(nodes); got {height} by {width}; try one line a round, one column a node"
            )
        rows = [row * nodes if width == 1 else row for row in self.table]
        return [(rows[0], rounds)] if height == 1 else [(row, 1) for row in rows]

    def nodes(self, name: str, nodes: int) -> tuple[float, ...]:
        """One value per node, for a quantity that does not change over rounds."""
        table = self.table
        if len(table) > 1 and len(table[0]) == 1:
            table = (tuple(row[0] for row in table),)
        if table and (len(table) > 1 or len(table[0]) not in (1, nodes)):
            raise InvalidInput(
                f"{name} needs one value, or one for each of the n_nodes={nodes} nodes; got "
                f"{sum(len(row) for row in table)}; try one value a line"
            )
        ((values, _),) = Schedule(self.start, self.factor, table).rounds(name, 1, nodes)
        return values

    def scaled(self, first: float) -> Schedule:
        """The same shape with another first value."""
        if not self.table:
            return Schedule(first, self.factor)
        ratio = first / self.first
        return Schedule(table=tuple(tuple(x * ratio for x in row) for row in self.table))

    def __str__(self) -> str:
        if self.table:
            return f"table of {len(self.table)} by {len(self.table[0])}"
        return (
            f"{self.start:.15g}" if self.factor == 1.0 else f"{self.start:.15g}:{self.factor:.15g}"
        )


@lru_cache(maxsize=64)
def _few_powers(start: Ratio, factor: Ratio, count: int) -> tuple[float, ...]:
    """`_powers`, which many settings share."""
    return tuple(_powers(start, factor, count))


def _powers(start: Ratio, factor: Ratio, count: int) -> Iterator[float]:
    """start·factor^t for t = 0, 1, ..., of the numbers as written, to seventy digits."""
    (top, bottom), (up, down) = start, factor
    for _ in range(count):
        yield nearest(top, bottom)
        top, bottom = top * up, bottom * down
        surplus = max(0, min(top.bit_length(), bottom.bit_length()) - 256)
        top, bottom = top >> surplus, bottom >> surplus


def _one_or(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"1 or {number} {what}s"


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool):
        raise InvalidInput(f"{name} needs a number; got {value!r}")
    try:
        if isinstance(value, str):
            return number(value)
        return value if isinstance(value, Written) else float(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidInput(
            f"{name} needs a number such as 0.5, 1e-5 or 1/3, START:FACTOR, or @file; got "
            f"{shortened(repr(value))}"
        ) from error


def _read(name: str, path: Path) -> list[list[float]]:
    try:
        table = list(rows(path))
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}; one value a line, or one column per node") from error
    found = []
    for row in table:
        for text in row.cells:
            try:
                number(text)
            except (ValueError, ZeroDivisionError):
                raise InvalidInput(
                    f"{name} needs a number in every cell of {str(path)!r}; got {shortened(text)!r} "
                    f"in line {row.line}; a line that begins with # and a blank is left out"
                ) from None
        found.append([number(text) for text in row.cells])
    return found
