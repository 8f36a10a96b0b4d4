"""Data by name or from a file, split into what is trained on and what is held out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.files import is_there

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.algorithms.problems.data.dataset import Dataset
    from dpcalc.algorithms.problems.records import Records

Array = NDArray[np.float64]

BUILT_IN = ("builtin", "builtin-regression")
"""Generated, the same on every machine."""

FETCHED = ("adult", "a9a", "a8a", "ijcnn1")
"""Fetched from OpenML by scikit-learn once, then taken from its cache."""

_RECORDS, _FEATURES = 6000, 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Records to train on, and records that no algorithm sees.

    Attributes:
        train: rows of norm at most 1; shapes (n, d) and (n,).
        test: the same, held out; may be empty.
        names: of the features.
        source: where they came from and what was left out.
    """

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    names: tuple[str, ...]
    source: str

    def records(self, nodes: int = 1) -> Records:
        """The training records dealt out to nodes."""
        from dpcalc.algorithms.problems.records import split

        return split(*self.train, nodes)


def load(
    name: str,
    *,
    label: str | None = None,
    positive: str | None = None,
    categories: Sequence[str] = (),
    features: int | None = None,
) -> Dataset:
    """A data set by name, or the file or folder of that path.

    Args:
        name: one of `BUILT_IN` or `FETCHED`; a folder with the files of UCI Adult; a CSV file with
            a header line; or a LIBSVM file. Files may be packed as .xz or .gz.
        label: of a CSV file, the label column; the last one if left out.
        positive: of a CSV file, the label value that is +1.
        categories: of a CSV file, ``column=A|B|C`` for every column that is not numeric.
        features: of a LIBSVM file, how many there are.

    Raises:
        InvalidInput: if there is no such data, or a row cannot be used.
    """
    from dpcalc.algorithms.problems.data import adult, libsvm

    if name in BUILT_IN:
        return _built_in(name)
    path = Path(name)
    if is_there(path):
        return _from_path(path, label, positive, categories, features)
    if name == "adult":
        return _fetched(adult.fetch_adult, name)
    if name in FETCHED:
        return _fetched(lambda: libsvm.fetch_libsvm(name), name)
    if path.suffix or len(path.parts) > 1:
        raise InvalidInput(f"a file or folder was needed; got data={name!r}, which does not exist")
    raise unknown_name("data set (and no such file)", name, [*BUILT_IN, *FETCHED])


def split(
    data: Dataset,
    *,
    held_out: float = 0.2,
    on_large: str = "rescale",
    row_bound: float = 1.0,
    seed: int = 0,
) -> Split:
    """Shuffle with a public seed, hold out a share, and bring rows to norm 1.

    Args:
        data: the table.
        held_out: share of records kept for testing, in [0, 1).
        on_large: what becomes of rows longer than the bound: "rescale" or "refuse".
        row_bound: a public number by which rows are divided once none is longer.
        seed: of the shuffle; not secret.
    """
    from dpcalc.algorithms.problems.records import bounded_rows

    if not 0 <= checks.probability("held_out", held_out) < 1:
        raise InvalidInput(f"held_out needs a number in [0, 1); got held_out={held_out!r}")
    rows = bounded_rows(data.features, on_large, bound=row_bound) / row_bound
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = len(rows) - round(held_out * len(rows))
    if cut < 1:
        raise InvalidInput(f"a record to train on was needed; got {len(rows)} records")
    train, test = order[:cut], order[cut:]
    return Split(
        train=(rows[train], data.labels[train]),
        test=(rows[test], data.labels[test]),
        names=data.names,
        source=data.source,
    )


def _built_in(name: str) -> Dataset:
    from dpcalc.algorithms.problems import builtin
    from dpcalc.algorithms.problems.data.dataset import Dataset

    kind = builtin.regression if name.endswith("regression") else builtin.classification
    records = kind(_RECORDS, _FEATURES)
    return Dataset(
        features=records.features,
        labels=records.labels,
        names=tuple(f"x{k}" for k in range(_FEATURES)),
        source=f"{name}, {_RECORDS} generated records",
    )


def _from_path(
    path: Path,
    label: str | None,
    positive: str | None,
    categories: Sequence[str],
    features: int | None,
) -> Dataset:
    from dpcalc.algorithms.problems.data import adult, libsvm, tables
    from dpcalc.delimited import refuse_unless_text

    if path.is_dir() or path.name.startswith(adult.FILES):
        return adult.load_adult(path)
    refuse_unless_text(path)
    if any(suffix in (".csv", ".tsv") for suffix in path.suffixes):
        delimiter = "\t" if ".tsv" in path.suffixes else None
        column = _last_column(path, delimiter) if label is None else label
        known = dict(_category_list(text) for text in categories)
        return tables.load_table(
            path, column, categories=known, positive=positive, delimiter=delimiter
        )
    return libsvm.load_libsvm(path, features=features)


def _category_list(text: str) -> tuple[str, tuple[str, ...]]:
    column, found, tail = text.partition("=")
    values = tuple(value.strip() for value in tail.split("|"))
    if not found or not all(values):
        raise InvalidInput(
            f"categories needs column=A|B|C; got categories={text!r}; name every value that "
            "the column may have"
        )
    return column.strip(), values


def _last_column(path: Path, delimiter: str | None) -> str:
    """Name of the last column.

    A first line that ends in a number is most likely a record, which would be lost without a word;
    it is refused unless its numbers count the columns, as pandas writes columns without names.
    """
    from dpcalc.delimited import Row, is_number, rows

    header = next(rows(path, delimiter=delimiter, comments=False), Row(1, ())).cells
    if not header:
        raise InvalidInput(f"a header line was needed; got an empty file {str(path)!r}")
    counted = len(header) > 2 and all(
        name == str(k) for k, name in enumerate(header) if is_number(name)
    )
    if is_number(header[-1]) and not counted:
        shown = (delimiter or ",").join(
            header if len(header) < 6 else [*header[:2], "...", *header[-2:]]
        )
        raise InvalidInput(
            f"a line of column names was needed first in {str(path)!r}; got {shown!r}, which looks "
            "like a record; put the names of the columns above it, or, if these are the names, say "
            f"which one is the label: --label {header[-1]}"
        )
    return header[-1]


def _fetched(fetch: object, name: str) -> Dataset:
    import urllib.error
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one per retry; the last failure is an error below
            data: Dataset = fetch()  # type: ignore[operator] # one of the two fetchers
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", error)
        raise InvalidInput(
            f"a connection to OpenML was needed for data={name!r}; got {reason}; "
            "give the path of the file instead"
        ) from error
    return data
