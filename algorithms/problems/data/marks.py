"""Numbers whose points may set thousands apart: read by what was said of them, or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dpcalc.algorithms.problems.data.beyond import REST
from dpcalc.errors import InvalidInput, unknown_name

COMMA, POINT = ",", "."
"""What a decimal mark may be said to be."""

_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_BELOW = re.compile(r"[+-]?\d{1,3}")
_COMMA_NUMBER = re.compile(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")


@dataclass(slots=True)
class Marks:
    """What the points in the numbers of a table are.

    In a table with semicolons between its columns, such as programs write where the decimal mark is
    a comma, 1.234 can be 1234. A column is told apart by any number that can only be read in one way,
    such as 0.5, 12.25 or 1234.

    Attributes:
        known: the decimal mark by column, `REST` for all others; nothing of a column is "".
        doubtful: columns of numbers of which nothing is known, and, once one is read that can be
            read in two ways, its cell; "" before.
    """

    known: Mapping[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, path: object, known: Mapping[str, str], numeric: Sequence[str], *, semicolons: bool
    ) -> Marks:
        """Those of columns of numbers, before any is read.

        Raises:
            InvalidInput: if something is said of a column that is none of them.
        """
        for name in known:
            if name not in (*numeric, REST):
                raise unknown_name(f"column of numbers of {str(path)!r}", name, numeric)
        rest = known.get(REST, "")
        found = {name: known.get(name, rest) for name in numeric}
        open_ = [name for name in numeric if not found[name]] if semicolons else []
        return cls(found, dict.fromkeys(open_, ""))

    def read(self, name: str, cell: str) -> str:
        """A cell of a column as Python reads it; "" if it should have a decimal comma and has none."""
        if name in self.doubtful:
            if _THOUSANDS.fullmatch(cell):
                self.doubtful[name] = self.doubtful[name] or cell
            elif not _BELOW.fullmatch(cell):
                del self.doubtful[name]
            return cell
        if self.known.get(name) != COMMA:
            return cell
        return (
            cell.replace(POINT, "").replace(COMMA, POINT) if _COMMA_NUMBER.fullmatch(cell) else ""
        )

    def check(self, path: object) -> None:
        """Refuse a column whose numbers can all be read in two ways."""
        for name, cell in self.doubtful.items():
            if cell:
                whole = cell.replace(POINT, "")
                raise InvalidInput(
                    f"column {name!r} of {str(path)!r} can be decimals or whole numbers whose points "
                    f"set thousands apart: {cell!r} can be {float(cell)} or {whole}; say in a schema "
                    f'which mark is the decimal one: {{range = [LOW, HIGH], decimal = "."}} if it is '
                    f'{float(cell)}, decimal = "," if it is {whole}'
                )
