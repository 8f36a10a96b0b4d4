"""Rows of records in a file, of which a block at a time is in memory.

Blocks are read, not mapped: the pages of a mapped file count as memory of the process for as long
as nobody else wants it. What needs all rows at once refuses such rows in one line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[np.float64]

_BLOCK = 2**25
"""Bytes of a block of rows that somebody mapped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredRows:
    """A matrix of shape (n, d) in a file, row after row.

    Attributes:
        path: the file.
        shape: (n, d).
        block: the most rows that are in memory at once, 1 or above.
        stored: type of the numbers in the file; they are read in double precision.
        offset: bytes of the file before the first row.
        factors: what every row is multiplied with when it is read; shape (n,), or None for ones.
        basis: L, where every row is read as L⁻¹·row; shape (d, d), or None for the identity.
    """

    path: Path
    shape: tuple[int, int]
    block: int
    stored: np.dtype[Any] = np.dtype(np.float64)  # noqa: RUF009 - types of numbers never change
    offset: int = 0
    factors: Array | None = None
    basis: Array | None = None

    @classmethod
    def of_mapped(cls, rows: np.memmap[Any, Any]) -> Self:
        """The rows of a mapped file, such as ``np.load(path, mmap_mode="r")``.

        Raises:
            InvalidInput: if their numbers do not lie in the file row after row, as they are.
        """
        mode = getattr(rows, "mode", None)
        plain = rows.ndim == 2 and rows.flags.c_contiguous and rows.dtype.kind in "biuf"
        if not plain or mode not in ("r", "r+", "w+") or getattr(rows, "filename", None) is None:
            raise InvalidInput(
                "expected a mapped table of numbers, row after row, such as np.load('rows.npy', "
                f"mmap_mode='r'); got {type(rows).__name__}, shape={rows.shape!r}, mode={mode!r}"
            )
        start = rows.offset + rows.__array_interface__["data"][0] - _mapped_from(rows)
        width = max(rows.shape[1] * 8, 1)
        return cls(
            path=Path(str(rows.filename)),
            shape=(rows.shape[0], rows.shape[1]),
            block=max(_BLOCK // width, 1),
            stored=rows.dtype,
            offset=start,
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the rows as they are read."""
        return np.dtype(np.float64)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> Self:
        """Some consecutive rows, still in the file."""
        start, stop, step = part.indices(self.shape[0])
        if step != 1:
            self._refuse()
        return replace(
            self,
            shape=(max(stop - start, 0), self.shape[1]),
            offset=self.offset + start * self._width,
            factors=None if self.factors is None else self.factors[start:stop],
        )

    def times(self, factors: Array) -> Self:
        """Every row times a factor of its own, multiplied when it is read."""
        return replace(self, factors=factors if self.factors is None else self.factors * factors)

    def solved(self, basis: Array) -> Self:
        """L⁻¹·row for every row, solved when it is read."""
        return replace(self, basis=basis if self.basis is None else self.basis @ basis)

    def read(self) -> Array:
        """All of these rows as an array, which should be a block of larger ones.

        Raises:
            InvalidInput: if the file is gone, or shorter than it was.
        """
        return self._scaled(self._read(0, self.shape[0]), slice(None))

    def take(self, index: NDArray[np.integer[Any]], axis: int = 0) -> Array:
        """Rows of these numbers; shape (*index.shape, d)."""
        del axis
        flat = index.ravel()
        found = np.concatenate([self._read(int(k), 1) for k in flat])
        return self._scaled(found, flat).reshape(*index.shape, self.shape[1])

    def blocks(self) -> Iterator[Array]:
        """All rows, a block at a time."""
        for start in range(0, self.shape[0], self.block):
            yield self[start : start + self.block].read()

    @property
    def _width(self) -> int:
        """Bytes of a row in the file."""
        return self.shape[1] * self.stored.itemsize

    def _read(self, start: int, rows: int) -> Array:
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self.offset + start * self._width)
                found = np.fromfile(file, self.stored, rows * self.shape[1])
        except OSError as error:
            raise self._gone(str(error)) from error
        if len(found) < rows * self.shape[1]:
            raise self._gone("the file is shorter than it was")
        return found.reshape(rows, self.shape[1]).astype(np.float64, copy=False)

    def _gone(self, reason: str) -> InvalidInput:
        return InvalidInput(
            f"expected rows in {str(self.path)!r}; got {reason}; other machines have no such "
            "file, so leave out --scheduler or --memory"
        )

    def _scaled(self, rows: Array, which: Any) -> Array:
        scaled = rows if self.factors is None else rows * self.factors[which, None]
        if self.basis is None:
            return scaled
        return np.ascontiguousarray(np.linalg.solve(self.basis, scaled.T).T, dtype=np.float64)

    def __array__(self, *_: object, **__: object) -> Array:
        self._refuse()

    @property
    def T(self) -> Array:  # noqa: N802 - as that of arrays
        """Refused: of the transpose no block is a block of rows."""
        self._refuse()

    def __matmul__(self, _: object) -> Array:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInput(
            f"expected rows in memory, which this method needs; got those of the file "
            f"{str(self.path)!r}, which are read in blocks; leave out --memory, or load them whole"
        )


def is_stored(rows: object) -> TypeGuard[StoredRows]:
    """Whether these are rows in a file."""
    return isinstance(rows, StoredRows)


def in_memory(rows: Any) -> Any:
    """The rows themselves, read if they are in a file."""
    return rows.read() if is_stored(rows) else rows


def check_finite(name: str, rows: StoredRows) -> None:
    """Refuse numbers that are not finite, with the first row that holds one."""
    first = 0
    for block in rows.blocks():
        whole = np.isfinite(block).all(axis=1)
        if not whole.all():
            row = int(np.argmin(whole))
            raise InvalidInput(
                f"{name} needs finite numbers; row {first + row} holds {block[row]!r}; drop or "
                "complete it"
            )
        first += len(block)


def _mapped_from(rows: np.memmap[Any, Any]) -> int:
    """The address of the first byte behind ``rows.offset`` of the file."""
    base: Any = rows
    while isinstance(base.base, np.memmap):
        base = base.base
    return int(base.__array_interface__["data"][0])
