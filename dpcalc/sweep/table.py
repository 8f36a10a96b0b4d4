"""A sweep's table as a file: CSV or Parquet, every number in full."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.files import write_atomically, write_text

_SUFFIXES = (".csv", ".parquet")


def check_table(path: Path) -> None:
    """Refuse a file whose suffix names no table, or whose library is missing, before any work."""
    if path.suffix not in _SUFFIXES:
        raise InvalidInput(
            f"--out needs a name ending in {' or '.join(_SUFFIXES)}; got {str(path)!r}"
        )
    if path.suffix == ".parquet":
        need("pyarrow", purpose="a Parquet file")


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of all columns, in the order in which they first occur; ``refused`` is the last."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return sorted(names, key=lambda name: name == "refused")


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows; where a row has no such number, the cell is empty."""
    names = columns_of(rows)
    if path.suffix == ".csv":
        text = io.StringIO(newline="")
        out = csv.writer(text, lineterminator="\n")
        out.writerow(names)
        out.writerows([_cell(row.get(name)) for name in names] for row in rows)
        write_text(path, text.getvalue())
        return
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    table = pa.table({name: _column(values) for name, values in columns.items()})
    with write_atomically(path) as file:
        parquet.write_table(table, file)


def _cell(value: Any) -> Any:
    return "" if value is None else _plain(value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool) or value is None else str(value)


def _column(values: list[Any]) -> list[Any]:
    """Values of one kind: numbers with texts among them become texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) < 2 else [None if v is None else str(v) for v in values]
