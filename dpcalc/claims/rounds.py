"""Tables of rounds: one release a row, the fields of a release as columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpcalc.claims.mechanisms import GUARANTEE_NAMES
from dpcalc.claims.named import field_names
from dpcalc.delimited import REMEMBERED, Row, rows
from dpcalc.errors import InvalidInput, shortened

NOTE = "note"
"""A column of this name, or one that begins with it and a colon, is not read."""

_WHOLE = ("count", "sample", "population", "dimension")
_GROUPED = re.compile(r"\+?[1-9]\d{0,2}\.000")
"""A whole number, or thousands set apart by a point, as many spreadsheets do."""

_ELSEWHERE = {
    "approx": "write it as two columns, epsilon and delta",
    "theorem": "a theorem goes into a [[release]] table of a TOML file",
    "parameters": "a theorem goes into a [[release]] table of a TOML file",
    "p": "lists go into a [[release]] table of a TOML file",
    "q": "lists go into a [[release]] table of a TOML file",
    "points": "lists go into a [[release]] table of a TOML file",
    "sigma": "σ over one record's largest norm is the column noise_multiplier, σ over the sensitivity "
    "noise_over_sensitivity",
    "eps": "ε of (ε, δ)-DP is the column epsilon, next to delta; ε of ε-DP the column pure",
    "ε": "ε of (ε, δ)-DP is the column epsilon, next to delta; ε of ε-DP the column pure",
    "δ": "δ of (ε, δ)-DP is the column delta, next to epsilon",
    "sampling_rate": "the probability with which a record is sampled is the column rate",
    "batch_size": "the records of a batch are the column sample, next to population",
    "steps": "how often a release is used is the column count",
    "iterations": "how often a release is used is the column count",
    "epochs": "how often a release is used is the column count: epochs × records / batch size",
}


def read_rounds(path: Path, notes: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each release stands, and its table, from delimited text with a line of column names.

    Equal rows have one table, the same object, as long as they are few.

    Columns are the fields of a mechanism, ``mechanism``, ``name``, ``count``, and the bare
    guarantees: ``pure``, ``zcdp``, ``gdp``, ``epsilon`` with ``delta``, ``rdp`` with cells such as
    ``2:0.1 8:0.5`` (order:divergence). An empty cell is a field that the release does not have. A
    release counts once where there is no column ``count``; an empty count is an error.

    Args:
        path: the file.
        notes: columns that are not read, besides those called `NOTE` or ``note: ...``.

    Raises:
        InvalidInput: for a column or a row that cannot be read, with its line.
    """
    found = rows(path)
    header = next(found, None)
    if header is None:
        raise InvalidInput(f"expected a line of column names; {str(path)!r} is empty")
    columns = _columns(header, str(path), [note.strip() for note in notes])
    number, name = 0, path.name
    tables: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, (line, cells) in enumerate(found, start=1):
        where = f"release {number}, line {line} of {name}"
        table = tables.get(cells)
        if table is None:
            table = _release(where, {c: cell for c, cell in zip(columns, cells, strict=True) if c})
            if len(tables) < REMEMBERED:
                tables[cells] = table
        yield where, table
    if not number:
        raise InvalidInput(f"expected at least one release; {str(path)!r} has column names alone")


def _columns(header: Row, path: str, notes: Sequence[str]) -> list[str]:
    """The field of every column, "" for a note."""
    where = f"line {header.line} of {path!r}"
    known = [*field_names(), "mechanism", "name", "count", *GUARANTEE_NAMES, "epsilon", "delta"]
    known = sorted({*known} - _ELSEWHERE.keys())
    for note in notes:
        if note not in header.cells:
            raise InvalidInput(f"expected a column {note!r}, since it is a note; {where} has none")
        if _field(note) in known:
            raise InvalidInput(f"{note!r} is a field of a release and cannot be a note")
    fields = []
    for k, cell in enumerate(header.cells, start=1):
        if cell in notes or cell == NOTE or cell.startswith(f"{NOTE}:"):
            fields.append("")
        elif _field(cell) in known:
            fields.append(_field(cell))
        else:
            raise _unknown(where, k, cell, known)
    for name in filter(None, fields):
        if fields.count(name) > 1:
            raise InvalidInput(f"{where} needs every column once; got {name!r} more than once")
    return fields


def _field(cell: str) -> str:
    return cell.lower().replace("-", "_")


def _unknown(where: str, column: int, cell: str, known: Sequence[str]) -> InvalidInput:
    if not cell:
        return InvalidInput(f"{where} needs a name for column {column}; got an empty cell")
    if tip := _ELSEWHERE.get(_field(cell).replace(" ", "_")):
        return InvalidInput(f"{where}: a column {cell!r} cannot be read; {tip}")
    near = difflib.get_close_matches(_field(cell), known, n=1, cutoff=0.75)
    tip = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return InvalidInput(
        f"{where}: unknown column {shortened(cell)!r}; a column that is only a note is declared by "
        f"the heading 'note: {shortened(cell)}', by notes = [{shortened(cell)!r}] in the TOML file or "
        f"by --notes {shortened(cell)!r} of compose; {tip}"
    )


def _release(where: str, cells: dict[str, str]) -> dict[str, Any]:
    """The table of one row."""
    if cells.get("count") == "":
        raise InvalidInput(f"{where}: count is empty; write 1 for a release that is used once")
    for name in _WHOLE:
        if _GROUPED.fullmatch(cell := cells.get(name, "")):
            one, thousand = cell.partition(".")[0], cell.replace(".", "")
            raise InvalidInput(
                f"{where}: {name} may be {one}, or {thousand} with its thousands apart; got "
                f"{cell!r}; write {one} or {thousand}"
            )
    table: dict[str, Any] = {name: cell for name, cell in cells.items() if cell}
    if not {"mechanism", *GUARANTEE_NAMES} & table.keys() and {"epsilon", "delta"} & table.keys():
        for name in ("epsilon", "delta"):
            if name not in table:
                raise InvalidInput(
                    f"{where}: (ε, δ)-DP needs epsilon and delta; got no {name}; write delta 0 for "
                    "pure DP"
                )
        table["approx"] = [table.pop("epsilon"), table.pop("delta")]
    if "rdp" in table:
        table["rdp"] = _orders(where, table["rdp"])
    return table


def _orders(where: str, cell: str) -> dict[str, str]:
    pairs = [word.partition(":") for word in cell.split()]
    orders = {order: divergence for order, _, divergence in pairs}
    if not all(order and divergence for order, _, divergence in pairs) or len(orders) < len(pairs):
        raise InvalidInput(
            f"{where}: rdp needs order:divergence, every order once, with blanks between, such as "
            f"2:0.1 8:0.5; got {shortened(cell)!r}"
        )
    return orders
