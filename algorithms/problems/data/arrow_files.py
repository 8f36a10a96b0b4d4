"""Parquet and Arrow files as they lie on the disk: their columns, and rows in batches."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

ARROW = (".arrow", ".feather", ".ipc")
"""How the names of Arrow files end."""

_BUFFER = 2**16
"""Bytes of a column that are read ahead."""


class ParquetTable:
    """A Parquet file, whose columns are read a little at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        self.schema = self._file.schema_arrow
        self.close = self._file.close

    def count(self) -> int:
        """How many rows it has."""
        return int(self._file.metadata.num_rows)

    def largest(self) -> int:
        """Bytes of the largest group of rows."""
        groups = range(self._file.metadata.num_row_groups)
        sizes = (self._file.metadata.row_group(k).total_byte_size for k in groups)
        return max(map(int, sizes), default=0)

    def batches(self, at_once: int) -> Iterator[Any]:
        """All rows in order, at most so many at once."""
        yield from self._file.iter_batches(batch_size=at_once, use_threads=False)


class ArrowTable:
    """A file of record batches, of which one is in memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa

        self._source = pa.OSFile(str(path))
        self._file = pa.ipc.open_file(self._source)
        self.schema = self._file.schema
        self.close = self._source.close

    def count(self) -> int:
        """How many rows it has."""
        numbers = range(self._file.num_record_batches)
        return sum(int(self._file.get_batch(k).num_rows) for k in numbers)

    def largest(self) -> int:
        """Bytes of the largest group of rows."""
        numbers = range(self._file.num_record_batches)
        return max((int(self._file.get_batch(k).nbytes) for k in numbers), default=0)

    def batches(self, at_once: int) -> Iterator[Any]:
        """All rows in order, at most so many at once."""
        for number in range(self._file.num_record_batches):
            batch = self._file.get_batch(number)
            for start in range(0, batch.num_rows, at_once):
                yield batch.slice(start, at_once)


def opened(path: str | os.PathLike[str]) -> ParquetTable | ArrowTable:
    """The file, to be closed after use."""
    is_arrow = Path(path).suffix.lower() in ARROW
    kind = "an Arrow file" if is_arrow else "a Parquet file"
    need("pyarrow", purpose=f"reading {kind}")
    import pyarrow as pa

    try:
        return ArrowTable(path) if is_arrow else ParquetTable(path)
    except (OSError, pa.ArrowInvalid) as error:
        hint = _hint(path)
        raise InvalidInput(f"expected {kind}; got {str(path)!r} ({_said(error)}){hint}") from error


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[None]:
    """What is read within is refused where the file is damaged."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(
            f"expected a whole file; {str(path)!r} is cut or damaged ({_said(error)}); write it anew"
        ) from error


def _said(error: Exception) -> str:
    """What pyarrow says of a file, on one line."""
    return " ".join(str(error).split())


def _hint(path: str | os.PathLike[str]) -> str:
    """What to try with a file that is none of its name, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    for start, hint in _OTHERS.items():
        if head.startswith(start):
            return f"; {hint}"
    text = head and b"\0" not in head
    return "; if this is CSV, give the file a name that ends in .csv" if text else ""


_HEAD = 2**9  # bytes that tell text from other files

_OTHERS = {
    b"PAR1": "it is cut or damaged: write it anew",
    b"ARROW1": "it is cut or damaged: write it anew",
    b"PARE": "it is encrypted: write it without encryption",
    b"FEA1": "it is Feather of version 1: write it with version 2",
    b"\xff\xff\xff\xff": "it is an Arrow stream: write it as a file, by pyarrow.ipc.new_file",
}
"""How files begin that are not read here, and what to do with them."""


def plain(column: Any) -> Any:
    """A column whose values stand one after the other, in a type that can be filtered."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    elif str(column.type).startswith("run_end_encoded"):
        column = pa.compute.run_end_decode(column)
    views = {"string_view": pa.string(), "binary_view": pa.binary()}
    return column.cast(views[str(column.type)]) if str(column.type) in views else column


def value_type(kind: Any) -> Any:
    """The type of what is in a column, whether or not it is written as a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind
