"""Rows written to a file block by block, and brought into another order there.

Neither ever has more than a block of rows in memory, and both go through files from their beginning
to their end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.stored_rows import StoredRows
from dpcalc.errors import OutputFailed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Array = NDArray[np.float64]


def written(path: Path, blocks: Iterable[Array], *, width: int, block: int) -> StoredRows:
    """Rows as a new file.

    Args:
        path: the file.
        blocks: of rows, one after the other; shapes (rows, width).
        width: numbers of a row.
        block: see `StoredRows`.

    Raises:
        OutputFailed: if they do not fit onto the disk.
    """
    rows = 0
    try:
        with path.open("xb") as file:
            for part in blocks:
                file.write(np.ascontiguousarray(part, dtype=np.float64).data)
                rows += len(part)
    except OSError as error:
        raise _failed(path, error) from error
    return StoredRows(path=path, shape=(rows, width), block=block)


def reordered(rows: StoredRows, order: NDArray[np.intp], path: Path) -> StoredRows:
    """Rows in another order, in another file.

    Rows go first to the stretch of the new file in which their place is, stretch by stretch in the
    order in which they come; then every stretch, a block of rows, is put in order by itself.

    Args:
        rows: of a file.
        order: which row comes first, second and so on; every number of a row once.
        path: the new file.

    Raises:
        OutputFailed: if they do not fit onto the disk.
    """
    size, width = rows.block, rows.shape[1] * 8
    starts = range(0, len(order), size)
    stretch_of = np.empty(len(order), dtype=np.int32)
    for number, start in enumerate(starts):
        stretch_of[order[start : start + size]] = number
    try:
        with path.open("x+b") as file:
            _deal_out(rows, stretch_of, [start * width for start in starts], file)
            for start in starts:
                wanted = order[start : start + size]
                came = np.empty((len(wanted), rows.shape[1]))
                file.seek(start * width)
                file.readinto(came.data)
                file.seek(start * width)
                file.write(came[np.searchsorted(np.sort(wanted), wanted)].data)
    except OSError as error:
        raise _failed(path, error) from error
    return StoredRows(path=path, shape=rows.shape, block=size)


def _deal_out(
    rows: StoredRows, stretch_of: NDArray[np.int32], ends: list[int], file: BinaryIO
) -> None:
    """Every row behind those that its stretch has already; ``ends`` say where that is, in bytes."""
    first = 0
    for block in rows.blocks():
        stretches = stretch_of[first : first + len(block)]
        by_stretch = np.argsort(stretches, kind="stable")
        numbers, begins = np.unique(stretches[by_stretch], return_index=True)
        for number, chosen in zip(numbers.tolist(), np.split(by_stretch, begins[1:]), strict=True):
            part = block[chosen]
            file.seek(ends[number])
            file.write(part.data)
            ends[number] += part.nbytes
        first += len(block)


def _failed(path: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"expected room for the rows in {str(path.parent)!r}; got {error}; name another folder by "
        "the environment variable TMPDIR"
    )
