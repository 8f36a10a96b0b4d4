"""A header and named arrays in one ``.npz`` file: read whole and unchanged, or refused.

Statement
    `read_arrays` returns what `write_arrays` was given, bit for bit, or refuses. A checksum
    (SHA-256) over header, names, types, shapes and bytes finds damage and careless edits; it is no
    signature. Nothing in a file is executed.
    A file that is gone on from (a checkpoint) is held by one process at a time, by a lock of the
    operating system that ends with the process, whatever ended it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import tokenize
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZIP_STORED, BadZipFile

import numpy as np
from numpy.typing import NDArray

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.files import check_output, refuse_pipe, remove_remains, write_atomically

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
    *,
    secret: bool = False,
) -> None:
    """Write a header and named arrays; a reader never sees half a file.

    Args:
        path: the file.
        header: ready for JSON.
        arrays: by name.
        secret: whether nobody but the owner may read it, where the file system knows owners.

    Raises:
        OutputFailed: if it cannot be written.
    """
    whole = {"layout": LAYOUT, "dpcalc": dpcalc.__version__, "numpy": np.__version__, **header}
    whole["sha256"] = checksum(whole, arrays)
    contents: dict[str, Any] = {"header": np.array(json.dumps(whole)), **arrays}
    with write_atomically(path, secret=secret) as file:
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


def refuse_other_versions(header: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Refuse to go on from a file of another dpcalc, or of a numpy that may draw other numbers.

    numpy keeps the numbers of a seed within a feature release, such as 2.4.
    """
    held = {name: str(header.get(name)) for name in ("dpcalc", "numpy")}
    now = {"dpcalc": dpcalc.__version__, "numpy": np.__version__}
    if held["dpcalc"] != now["dpcalc"] or _feature(held["numpy"]) != _feature(now["numpy"]):
        before, here = (" and ".join(f"{k} {v}" for k, v in of.items()) for of in (held, now))
        raise InvalidInput(
            f"the versions that began {str(path)!r} were needed, {before}; got {here}: the rest could "
            "come out with other bits; go on with those, or begin anew with another file"
        )


@contextlib.contextmanager
def held_alone(path: str | os.PathLike[str], option: str = "checkpoint") -> Iterator[None]:
    """Hold a file that is gone on from, so that no other process does.

    Args:
        path: the file, which need not exist yet; a hidden file ending in .lock is made beside it.
        option: what it was given to, for the error.

    Raises:
        InvalidInput: if another process holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    check_output(path, option)
    lock = FileLock(Path(path).with_name(f".{Path(path).name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InvalidInput(
            f"{option} needs a file that no other process goes on from; {str(path)!r} is held by one; "
            "wait for it, or name another file"
        ) from None
    except (OSError, NotImplementedError) as error:
        raise InvalidInput(
            f"{option} needs a file beside which a lock can be held; got {str(path)!r} ({error})"
        ) from error
    try:
        remove_remains(path)
        yield
    finally:
        lock.release()


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


def _feature(version: str) -> list[str]:
    return version.split(".")[:2]


def _needed(path: str | os.PathLike[str], reason: str) -> InvalidInput:
    return InvalidInput(f"a file written by dpcalc was needed; got path={str(path)!r} ({reason})")
