"""A header and named arrays in one ``.npz`` file: read whole and unchanged, or refused.

Statement
    `read_arrays` returns what `write_arrays` was given, bit for bit, or refuses. A checksum
    (SHA-256) over header, names, types, shapes and bytes finds damage and careless edits; it is no
    signature. Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import struct
import tokenize
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZIP_STORED, BadZipFile

import numpy as np
from numpy.typing import NDArray

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.files import refuse_pipe, write_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

LAYOUT = 2
"""Version of the file layout."""

Values = NDArray[Any]

_DAMAGE = (
    OSError,
    LookupError,
    ValueError,
    EOFError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    BadZipFile,
    struct.error,
    tokenize.TokenError,
    zlib.error,
)
"""What numpy and zipfile raise on files of others."""


def write_arrays(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, Values],
) -> None:
    """Write a header and named arrays; a reader never sees half a file.

    Args:
        path: the file.
        header: ready for JSON.
        arrays: by name.

    Raises:
        OutputFailed: if it cannot be written.
    """
    whole = {"layout": LAYOUT, "dpcalc": dpcalc.__version__, "numpy": np.__version__, **header}
    whole["sha256"] = checksum(whole, arrays)
    contents: dict[str, Any] = {"header": np.array(json.dumps(whole)), **arrays}
    with write_atomically(path) as file:
        np.savez(file, **contents)


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Values]]:
    """Read what `write_arrays` wrote.

    Raises:
        InvalidInput: if it is anything else.
    """
    refuse_pipe(path)
    try:
        header, arrays = _read(path)
    except _DAMAGE as error:
        reason = getattr(error, "strerror", None) or "it is damaged, or holds something else"
        raise _needed(path, reason) from error
    layout, sealed = header.get("layout"), header.pop("sha256", None)
    if layout != LAYOUT:
        raise _needed(
            path, f"of layout {LAYOUT}, not {layout!r}: it was written by another version"
        )
    if sealed != checksum(header, arrays):
        raise _needed(path, "its checksum does not fit: it is damaged, or was edited")
    return header, arrays


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Values]]:
    with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        if any(entry.compress_type != ZIP_STORED for entry in file.zip.infolist()):
            raise ValueError("compressed, which dpcalc never does")
        arrays = {name: file[name] for name in file.files}
    return cast("dict[str, Any]", dict(json.loads(str(arrays.pop("header"))))), arrays


def checksum(header: Mapping[str, Any], arrays: Mapping[str, Values]) -> str:
    """SHA-256 over a header, and over names, types, shapes and bytes of arrays."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, values in sorted(arrays.items()):
        array = np.asarray(values)
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _needed(path: str | os.PathLike[str], reason: str) -> InvalidInput:
    return InvalidInput(f"expected a file written by dpcalc; got path={str(path)!r} ({reason})")
