"""Tables that stay readable in a narrow terminal: where they do not fit, one block per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcalc.report.text import plain_table

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2
"""Columns between two cells of a table, and at its two edges together."""

_READABLE = 24
"""Columns in which text that runs over several lines is still pleasant to read."""


def print_table(
    out: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    prose: str = "claim",
    unknown: Sequence[str] = (),
) -> None:
    """Print one table whose numbers are whole and whose words are; else one block per row.

    Args:
        out: the terminal.
        columns: headings; that of a column of row numbers is empty.
        rows: ready-made cells. A block is headed by the first and the last one.
        prose: the column whose cells may run over several lines, broken between words.
        unknown: beginnings of headings whose cells a block leaves out where they are "—".
    """
    whole = [number for number, column in enumerate(columns) if column != prose]
    widths = [max(_width(row[k]) for row in (columns, *rows)) for k in range(len(columns))]
    room = out.width - sum(widths[k] for k in whole) - _GAP * len(columns)
    if room >= _needed([row[columns.index(prose)] for row in rows], out.width // 2):
        out.print(plain_table(columns, rows, whole=whole))
    else:
        _print_blocks(out, columns, rows, unknown)


def _needed(cells: Sequence[str], most: int) -> int:
    """Columns that a table has to give to prose: those of its longest word, and enough to read."""
    words = [_width(word) for cell in cells for word in cell.split()]
    readable = min(_READABLE, max(map(_width, cells), default=0))
    return max(readable, min(max(words, default=0), most))


def _width(cell: str) -> int:
    """Terminal columns of a cell, its markup not counted."""
    from rich.text import Text

    return Text.from_markup(cell).cell_len


def _print_blocks(
    out: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], unknown: Sequence[str]
) -> None:
    from rich.table import Table

    for row in rows:
        out.print(f"\n{row[0]}  {row[-1]}", soft_wrap=True)
        block = Table.grid(padding=(0, 2))
        block.add_column(no_wrap=True)
        block.add_column(overflow="fold")
        for name, cell in zip(columns[1:-1], row[1:-1], strict=True):
            if cell != "—" or not name.startswith(tuple(unknown)):
                block.add_row(f"  {name}", cell)
        out.print(block)
    out.print()
