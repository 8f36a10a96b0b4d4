"""A table of numbers in a ``.npy`` file: a row a record, the columns called by their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.algorithms.problems.data.dataset import Array, bad_row
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.algorithms.problems.data.parts import Part, TableParts
from dpcalc.algorithms.problems.data.tables import Columns
from dpcalc.algorithms.problems.stored_rows import StoredRows
from dpcalc.errors import InvalidInput
from dpcalc.files import refuse_pipe

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


def array_parts(
    path: str | os.PathLike[str], label: str | None = None, *, positive: str | None = None
) -> TableParts:
    """The table in a ``.npy`` file, which stays on the disk.

    Args:
        path: the file: numbers of any type in two axes, row after row.
        label: number of the label column, from "0"; the last one if left out.
        positive: the label value that becomes +1, all others -1; without it the labels are numbers,
            and two distinct ones become -1 and +1.

    Raises:
        InvalidInput: if it is anything else, or a number in it is not finite.
    """
    rows = _opened(path)
    names = tuple(str(k) for k in range(rows.shape[1]))
    columns = Columns(path, names, label or names[-1], positive, {})

    def read(at_once: int) -> Iterator[Part]:
        first, place = 1, names.index(columns.label)
        for block in replace(rows, block=at_once).blocks():
            _check(path, block, first)
            y, first = block[:, place], first + len(block)
            yield np.delete(block, place, axis=1), *_labels(y, positive)

    return TableParts(columns=columns, count=lambda: rows.shape[0], read=read)


def column_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The columns by their numbers; no value is read."""
    return tuple(str(k) for k in range(_opened(path).shape[1]))


def _opened(path: str | os.PathLike[str]) -> StoredRows:
    refuse_pipe(path)
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput(f"expected a .npy file; got {str(path)!r} ({error})") from error
    if getattr(found, "ndim", 0) != 2 or 0 in found.shape or found.shape[1] < 2:
        shape = getattr(found, "shape", None)
        raise InvalidInput(
            f"expected a table of records and columns, one of them the label, in {str(path)!r}; "
            f"got shape={shape!r}"
        )
    if not found.flags.c_contiguous:
        raise InvalidInput(
            f"expected rows one after the other in {str(path)!r}; got them column after column; "
            "save np.ascontiguousarray(table)"
        )
    return StoredRows.of_mapped(found)


def _check(path: object, block: Array, first: int) -> None:
    whole = np.isfinite(block).all(axis=1)
    if not whole.all():
        k = int(np.argmin(whole))
        column = int(np.argmin(np.isfinite(block[k])))
        needed, wrong = f"a finite number in column '{column}'", str(block[k][column])
        raise bad_row(path, first + k, needed, wrong, "take out such rows", where="row")


def _labels(y: Array, positive: str | None) -> tuple[Array, set[str]]:
    if positive is None:
        return y.copy(), {word(value) for value in np.unique(y)[:2]}
    values, place = np.unique(y, return_inverse=True)
    words = [word(value) for value in values]
    return np.array([float(word == positive) for word in words])[place], set(words)
