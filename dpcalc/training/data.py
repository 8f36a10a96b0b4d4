"""Data by name or from a file, split into training and test records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.archive import checksum
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.files import is_there
from dpcalc.training.file_kinds import NAME_IT, is_table, refuse_unused
from dpcalc.training.schema import Schema
from dpcalc.training.sources import BUILT_IN, FETCHED, built_in, fetched, from_path, one_reading

__all__ = [
    "BUILT_IN",
    "FETCHED",
    "INTERCEPT",
    "Split",
    "bound_of",
    "dealt",
    "load",
    "split",
]

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.data.dataset import Dataset
    from dpcalc.algorithms.problems.records import Records

Array = NDArray[np.float64]

_DIGITS = 32
"""Of a digest: 128 bits."""

INTERCEPT = "(intercept)"
"""Name of the constant feature."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Records to train on, and records that no algorithm sees.

    Attributes:
        train: rows of norm at most 1; shapes (n, d) and (n,).
        test: the same, held out; may be empty.
        names: of the features, the constant one last if there is one.
        source: where they came from and what was left out.
        row_bound: what rows were shortened to and divided by.
        intercept: whether the last feature is constant.
        table: all records as they were before; where nobody keeps these, as they are in `train` and
            then in `test`.
        order: which of the table's are in `train` and in `test`; empty where they are in this order.
        clipped: which labels of `test` are clipped to their public range; None if they have none.
        shortened: how many times longer every row of the table was; None if the table has them as
            they were, or they are in a file.
        signed: whether every row of `train`, and so of the table, is its label times the row.
    """

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    names: tuple[str, ...]
    source: str
    row_bound: float
    intercept: bool
    table: Dataset
    order: tuple[NDArray[np.intp], NDArray[np.intp]]
    clipped: NDArray[np.bool_] | None = None
    shortened: Array | None = None
    signed: bool = False

    def digest(self) -> str:
        """What tells these records from all others, wherever they were read."""
        from dpcalc.algorithms.engine.fingerprint import parts_of
        from dpcalc.algorithms.problems.sparse import is_sparse
        from dpcalc.algorithms.problems.stored_rows import is_stored

        rows = {"features": self.table.features, "labels": self.table.labels}
        if is_stored(self.table.features) or is_sparse(self.table.features):
            return checksum({name: parts_of(values) for name, values in rows.items()}, {})[:_DIGITS]
        return checksum({}, rows)[:_DIGITS]

    def records(self, nodes: int = 1) -> Records:
        """The training records dealt out to nodes."""
        from dpcalc.algorithms.problems.records import split

        rows, labels = self.train
        return split(rows, np.ones_like(labels) if self.signed else labels, nodes)

    @property
    def label_unit(self) -> float:
        """What a label's 1 is worth in the file."""
        return 1.0 if self.table.units is None else self.table.units.label

    def coefficients(self, weights: Array) -> dict[str, float]:
        """A model's weights in the units of the file, for rows that need no shortening.

        Args:
            weights: of one model; shape (d,).
        """
        slopes = weights / self.row_bound
        intercept = 0.0
        if self.intercept:
            slopes, intercept = slopes[:-1] / np.sqrt(2), float(weights[-1] / np.sqrt(2))
        if (units := self.table.units) is not None:
            slopes = slopes / units.stretch
            intercept = units.label_shift + units.label * (intercept - float(slopes @ units.shift))
            slopes = slopes * units.label
        found = dict(zip(self.table.names, slopes.tolist(), strict=True))
        return found | {INTERCEPT: intercept}


def load(
    name: str,
    *,
    label: str | None = None,
    positive: str | None = None,
    schema: Schema | None = None,
    row_bound: float | None = None,
    features: int | None = None,
    sparse: bool = False,
) -> Dataset:
    """A data set by name, or the file or folder of that path.

    Args:
        name: one of `BUILT_IN` or `FETCHED`; a folder with the files of UCI Adult; a CSV file with
            a header line; a Parquet file; or a LIBSVM file. Text may be packed: .xz, .gz, .bz2, .zst.
        label: of a CSV or Parquet file, the label column; the last one if left out.
        positive: of a CSV, Parquet or LIBSVM file, the label value that is +1.
        schema: public ranges and categories of the columns; numbers are scaled by the ranges.
        row_bound: how long a row may be; says of a CSV file without ranges that it is scaled.
        features: of a LIBSVM file, how many there are.
        sparse: whether rows of a LIBSVM file of which most numbers are 0 stay a sparse matrix; with
            ranges, which bring 0 elsewhere, they become an array.

    Raises:
        InvalidInput: if there is no such data, a row cannot be used, or a numeric column of a CSV
            file has neither a range nor a row bound.
    """
    from dpcalc.algorithms.problems.data import adult, libsvm

    schema = schema or Schema({}, {})
    path = Path(name)
    file = name not in BUILT_IN and is_there(path)
    own = file and is_table(path)
    refuse_unused(name, file, {"label": label, "positive": positive, "features": features})
    if name in BUILT_IN:
        found = built_in(name)
    elif file:
        thin = sparse and not schema.ranges
        found = from_path(path, label, positive, schema, features, sparse=thin)
    elif name == "adult":
        found = fetched(adult.fetch_adult, name)
    elif name in FETCHED:
        found = fetched(lambda: libsvm.fetch_libsvm(name), name)
    elif path.suffix or len(path.parts) > 1:
        raise InvalidInput(f"expected a file or folder; got data={name!r}, which does not exist")
    else:
        raise unknown_name("data set (and no such file)", name, [*BUILT_IN, *FETCHED])
    if schema.categories and not own:
        raise InvalidInput(
            f"expected a CSV or Parquet file for columns of categories; got data={name!r}; "
            f"leave out the categories{NAME_IT if file and path.is_file() else ''}"
        )
    if schema.decimal and not own:
        raise one_reading(name)
    if schema.ranges or (own and row_bound is None):
        return schema.scaled(found, where=repr(name))
    return found


def split(
    data: Dataset,
    *,
    held_out: float = 0.2,
    on_large: str = "rescale",
    row_bound: float | None = None,
    intercept: bool = False,
    seed: int = 0,
    in_place: bool = False,
    signed: bool = False,
) -> Split:
    """Shuffle with a public seed, hold out a share, and bring rows to norm 1.

    Args:
        data: the table.
        held_out: share of records kept for testing, in [0, 1).
        on_large: what becomes of rows longer than the bound: "rescale" or "refuse".
        row_bound: a public number by which rows are divided once none is longer; what follows from
            the ranges of the columns, or 1, if left out.
        intercept: whether a constant feature is added.
        seed: of the shuffle; not secret.
        in_place: whether the table's rows may become those of the split where they are, so that they
            are not held twice; the table is of no use afterwards.
        signed: whether rows to train on become label times row where labels are ±1: what a loss of
            that product would hold beside them. Only in place.
    """
    from dpcalc.algorithms.problems.records import bounded_rows, unit_rows

    bound = bound_of(data.row_bound, row_bound)
    order, cut = _dealt(len(data.labels), held_out, seed)
    if on_large == "refuse":
        bounded_rows(data.features, on_large, bound=bound)
    made: dict[str, Any] = {
        "names": (*data.names, INTERCEPT) if intercept else data.names,
        "source": data.source,
        "row_bound": bound,
        "intercept": intercept,
    }
    if in_place:
        return _in_place(data, order, cut, made | {"signed": signed and data.of_classes})

    train, test = order[:cut], order[cut:]

    def part(rows: NDArray[np.intp]) -> tuple[Array, Array]:
        scaled = unit_rows(data.features, bound=bound, constant=intercept, order=rows)
        return scaled, data.labels[rows]

    return Split(
        train=part(train),
        test=part(test),
        table=data,
        order=(train, test),
        clipped=None if data.clipped is None else data.clipped[test],
        **made,
    )


def _in_place(data: Dataset, order: NDArray[np.intp], cut: int, made: dict[str, Any]) -> Split:
    """The split in the memory of the table's rows."""
    from dpcalc.algorithms.problems import sparse
    from dpcalc.algorithms.problems.rows_in_place import dealt_in_place

    labels, nobody = data.labels[order], np.arange(0)
    signs = np.where(np.arange(len(order)) < cut, labels, 1.0) if made["signed"] else None
    rows, shortened = dealt_in_place(
        data.features, order, bound=made["row_bound"], constant=made["intercept"], signs=signs
    )
    labels.flags.writeable = False
    clipped = None if data.clipped is None else data.clipped[order]
    first, then = slice(cut), slice(cut, len(order))
    return Split(
        train=(sparse.consecutive(rows, first), labels[first]),
        test=(sparse.consecutive(rows, then), labels[then]),
        table=replace(data, features=rows, labels=labels, clipped=clipped),
        order=(nobody, nobody),
        clipped=None if clipped is None else clipped[then],
        shortened=shortened,
        **made,
    )


def bound_of(known: float | None, row_bound: float | None) -> float:
    """What rows are shortened to and divided by.

    Args:
        known: what follows from the ranges of the columns, if they have any.
        row_bound: what was asked for.

    Raises:
        InvalidInput: if it is longer than rows can be.
    """
    if row_bound is not None and row_bound > (known or math.inf):
        raise InvalidInput(
            f"row_bound needs at most {known:g}, which follows from the ranges of the columns; got "
            f"row_bound={row_bound:g}; leave out --row-bound"
        )
    if row_bound is not None:
        return min(known or math.inf, row_bound)
    return 1.0 if known is None else known


def dealt(count: int, held_out: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Records to train on and to test with, in a public random order; parts of one array.

    Args:
        count: of the records.
        held_out: share to test with, in [0, 1).
        seed: of the order; not secret.
    """
    order, cut = _dealt(count, held_out, seed)
    return order[:cut], order[cut:]


def _dealt(count: int, held_out: float, seed: int) -> tuple[NDArray[np.intp], int]:
    """All records in a public random order, and how many of them are to train on."""
    if not 0 <= checks.probability("held_out", held_out) < 1:
        raise InvalidInput(f"held_out needs a number in [0, 1); got held_out={held_out!r}")
    order = np.random.default_rng(seed).permutation(count)
    cut = count - round(held_out * count)
    if cut < 1:
        raise InvalidInput(f"expected a record to train on; got {count} records")
    return order, cut
