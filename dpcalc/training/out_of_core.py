"""Data larger than memory: read in blocks, scaled, shuffled and kept in files while they are used.

Statement
    The split is that of `dpcalc.training.data.split`: the same rows in the same order, to the last
    bit. What grows with the number of records stays within the memory that was given: blocks of
    rows, and beside them `_EACH` bytes a record for labels and orders.
Limits
    The files take twice the room of the rows in double precision while they are made, and half of
    that afterwards, in the folder of temporary files (``TMPDIR``). They are readable by their owner
    only and removed at the end; those of a process that was killed when the next one begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.files import is_there
from dpcalc.numerals import spelt_size
from dpcalc.training.data import INTERCEPT, Split, bound_of, dealt
from dpcalc.training.file_kinds import BINARY, is_binary, refuse_unused
from dpcalc.training.row_folders import row_folder
from dpcalc.training.schema import Schema, without_range
from dpcalc.training.sources import parts_of

__all__ = [
    "stored_split",
]

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.data.dataset import Dataset
    from dpcalc.algorithms.problems.data.parts import TableParts
    from dpcalc.algorithms.problems.stored_rows import StoredRows
    from dpcalc.training.scaling import Scaling

Array = NDArray[np.float64]

_COPIES = 8
"""Of a block of rows while it is read, scaled and brought to a norm, or multiplied with models."""

_EACH = 40
"""Bytes a record: its label, its place, and what is made of them for a moment."""

_FEWEST = 64
"""Records of a block; a pass in smaller ones would hardly do anything but begin new ones."""


@contextmanager
def stored_split(
    name: str,
    *,
    memory: float,
    label: str | None = None,
    positive: str | None = None,
    schema: Schema | None = None,
    held_out: float = 0.2,
    on_large: str = "rescale",
    row_bound: float | None = None,
    intercept: bool | None = None,
    seed: int = 0,
) -> Iterator[Split]:
    """A table in a file, split; its rows stay on the disk until the block ends.

    Args:
        name: a .npy, Parquet or Arrow file.
        memory: bytes that may be in use for records at once, above 0. It decides how many are summed
            up together, so it is a part of what decides the bits.
        label: name of the label column, in a .npy file its number; the last one if left out.
        positive: the label value that is +1.
        schema: public ranges and categories of the columns; numbers are scaled by the ranges.
        held_out: share of records kept for testing, in [0, 1).
        on_large: what becomes of rows longer than the bound: "rescale" or "refuse".
        row_bound: a public number by which rows are divided once none is longer.
        intercept: whether a constant feature is added; where columns have ranges if left out.
        seed: of the order in which records are dealt; not secret.

    Raises:
        InvalidInput: if it is another file or holds too many records for the memory; says how much
            would do.
        OutputFailed: if there is no room for the rows.
    """
    from dpcalc.algorithms.problems.data.row_files import reordered, written

    checks.positive("memory", memory)
    schema = schema or Schema({}, {})
    parts = _opened(name, label, positive, schema)
    scaled = bool(schema.ranges) or row_bound is None
    scaling = _scaling(schema, parts, name) if scaled else None
    bound = bound_of(None if scaling is None else scaling.row_bound, row_bound)
    constant = scaled if intercept is None else intercept
    width = len(parts.columns.names) + constant
    block = _block(memory, parts.count(), width)
    _check_groups(parts, memory, name)
    known = _Labels()
    with row_folder() as folder:
        unit = _unit_rows(parts, known, block, scaling, bound, on_large, constant)
        rows = written(folder / "as they came", unit, width=width, block=block)
        table = known.table(parts, rows)
        if scaling is not None:
            table = _in_range(table, schema, scaling, name)
        train, test = dealt(len(table.labels), held_out, seed)
        order = np.concatenate([train, test])
        shuffled = reordered(rows, order, folder / "shuffled")
        rows.path.unlink()
        yield _split(
            replace(
                table,
                labels=table.labels[order],
                features=shuffled,
                clipped=None if table.clipped is None else table.clipped[order],
            ),
            len(train),
            names=(*table.names, INTERCEPT) if constant else table.names,
            row_bound=bound,
            intercept=constant,
        )


def _scaling(schema: Schema, parts: TableParts, name: str) -> Scaling:
    """How columns are scaled; refused where the public range of one is unknown."""
    scaling = schema.scaling(parts.columns.names, where=repr(name))
    if scaling.unknown:
        raise without_range(list(scaling.unknown), repr(name))
    return scaling


def _in_range(table: Dataset, schema: Schema, scaling: Scaling, name: str) -> Dataset:
    """The table with its labels in their public range, and what its units are."""
    limits = schema.label_range(table, scaling, where=repr(name))
    return replace(
        table,
        labels=limits.scaled(table.labels),
        clipped=None if table.of_classes else limits.outside(table.labels),
        units=scaling.units(limits),
        row_bound=scaling.row_bound,
    )


def _opened(name: str, label: str | None, positive: str | None, schema: Schema) -> TableParts:
    """The table's parts; refused where it cannot be read in blocks."""
    path = Path(name)
    if not (is_there(path) and is_binary(path)):
        raise InvalidInput(
            f"memory (--memory) needs a file that can be read in blocks, {', '.join(BINARY)}; "
            f"got data={name!r}; convert it, or leave out --memory"
        )
    refuse_unused(name, True, {"label": label, "positive": positive, "features": None})
    return parts_of(path, label, positive, schema)


def _block(memory: float, count: int, width: int) -> int:
    """How many rows may be in memory at once."""
    each = 8 * _COPIES * width
    needed = _EACH * count + _FEWEST * each
    if memory < needed:
        raise InvalidInput(
            f"memory needs room for labels and places of {count} records and for {_FEWEST} rows, "
            f"{spelt_size(needed, at_least=True)}; got {spelt_size(memory)}"
        )
    return int((memory - _EACH * count) // each)


def _check_groups(parts: TableParts, memory: float, name: str) -> None:
    """Refuse a file of which more is read at once than fits into the memory."""
    largest = _GROUPS * parts.largest()
    if memory < largest:
        raise InvalidInput(
            f"memory needs {spelt_size(largest, at_least=True)} to read the largest group of rows in "
            f"{name!r}; got {spelt_size(memory)}; write it with smaller ones (row_group_size of "
            "Parquet, chunksize of Arrow)"
        )


_GROUPS = 6
"""Times the size of a group of rows that reading it takes."""


class _Labels:
    """Labels as they are met while rows are read."""

    def __init__(self) -> None:
        self.values: list[Array] = []
        self.said: set[str] = set()

    def add(self, labels: Array, words: set[str]) -> None:
        """Those of one part."""
        self.values.append(labels)
        if len(self.said) < _WORDS:
            self.said |= words

    def table(self, parts: TableParts, rows: StoredRows) -> Any:
        """The table of complete rows, which are in a file."""
        from dpcalc.algorithms.problems.data.tables import dataset_of

        labels = np.concatenate(self.values) if self.values else np.empty(0)
        self.values.clear()
        return dataset_of(parts.columns, rows, labels, self.said, parts.count() - len(labels))


_WORDS = 1000
"""Different labels that are remembered as they are spelt."""


def _unit_rows(
    parts: TableParts,
    known: _Labels,
    block: int,
    scaling: Any,
    bound: float,
    on_large: str,
    constant: bool,
) -> Iterator[Array]:
    """Rows as they are trained on, part by part."""
    from dpcalc.algorithms.problems.records import unit_rows

    for x, y, words in parts.read(block):
        known.add(y, words)
        if len(y):
            rows = x if scaling is None else scaling.features(x)
            yield unit_rows(rows, bound=bound, on_large=on_large, constant=constant)


def _split(table: Any, cut: int, **more: Any) -> Split:
    """The first records to train on, the others to test with."""
    table.labels.flags.writeable = False
    places = np.arange(0)
    return Split(
        train=(table.features[:cut], table.labels[:cut]),
        test=(table.features[cut:], table.labels[cut:]),
        source=table.source,
        table=table,
        order=(places, places),
        clipped=None if table.clipped is None else table.clipped[cut:],
        **more,
    )
