"""Files: read with a limit, written whole or not at all.

Statement
    `write_atomically` leaves either the old file or the whole new one, also if the disk is full or
    the machine stops: the content goes to a temporary file with a name of its own in the same
    folder, is flushed to the disk, and takes the other's place in one step. What fails leaves no
    temporary file behind; what is killed may.
    `read_bytes` never reads more than a limit, and never waits for somebody to write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dpcalc.errors import InvalidInput, OutputFailed

LARGEST_TEXT = 2**26
"""Bytes of a text file that is read at once."""

_STREAMS = ("/dev/", "/proc/")
_PARTIAL = ".partial"


def refuse_pipe(path: str | os.PathLike[str]) -> None:
    """Refuse a named pipe, which may never be written to, and a name that no file can have.

    A pipe already open, /dev/stdin, is fine.
    """
    file = Path(path)
    if "\0" in str(file):
        raise InvalidInput(f"expected the name of a file; got a NUL character in {str(file)!r}")
    if file.is_fifo() and not str(file.absolute()).startswith(_STREAMS):
        raise InvalidInput(
            f"expected a regular file; {str(file)!r} is a pipe; try: cat PIPE | ... /dev/stdin"
        )


def read_bytes(path: str | os.PathLike[str], *, most: int = LARGEST_TEXT) -> bytes:
    """The content of a file.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        InvalidInput: if it has more, or is a named pipe.
        OSError: if it cannot be read.
    """
    refuse_pipe(path)
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InvalidInput(f"expected at most {most} bytes; {str(path)!r} has more")
    return content


def read_text(path: str | os.PathLike[str], *, most: int = LARGEST_TEXT) -> str:
    """The UTF-8 text of a file, without a byte-order mark; raises as `read_bytes`, and ValueError."""
    return read_bytes(path, most=most).decode("utf-8-sig")


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file; a name that no file can have names none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def check_output(path: str | os.PathLike[str], option: str) -> None:
    """Refuse a file that cannot be written, before anything is computed for it.

    Args:
        path: the file; it is not changed, and not made.
        option: what it was given to, for the error.

    Raises:
        InvalidInput: if the file or its folder cannot be written.
    """
    try:
        target = _target(path)
        if target.is_file():
            with target.open("ab"):
                pass
        if _replaceable(target):
            temporary, descriptor = _begun(target, secret=True)
            os.close(descriptor)
            temporary.unlink()
    except OSError as error:
        raise InvalidInput(
            f"{option} needs a file that can be written; got {str(path)!r} ({_reason(error)}); "
            "name another file, or make its folder"
        ) from error


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str], *, secret: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends well.

    A device or a pipe is written to as it is. A link is followed.

    Args:
        path: the file.
        secret: whether nobody but the owner may read it, where the file system knows owners; else
            it keeps the permissions that it had.

    Raises:
        OutputFailed: if it cannot be written; what was there before is there still.
    """
    try:
        target = _target(path)
        if not _replaceable(target):
            with target.open("wb") as file:
                yield file
            return
        temporary, descriptor = _begun(target, secret=secret)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if not secret and target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        _flush_folder(target.parent)
    except OutputFailed:
        raise
    except OSError as error:
        raise OutputFailed(
            f"{str(path)!r} could not be written: {_reason(error)}; what was there before is "
            "unchanged"
        ) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text by `write_atomically`."""
    with write_atomically(path) as file:
        file.write(text.encode("utf-8"))


def remove_remains(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of writers of ``path`` that were killed; call it with a lock held."""
    target = _target(path)
    for left in target.parent.iterdir():
        if left.name.startswith(f".{target.name[:_NAME]}.") and left.name.endswith(_PARTIAL):
            left.unlink(missing_ok=True)


@contextlib.contextmanager
def held_alone(
    path: str | os.PathLike[str], option: str, *, secret: bool = False
) -> Iterator[None]:
    """Hold a file from which work is resumed, so that no other process uses it until this one ends.

    Locks of the operating system, which end with the process, whatever ended it: one of the name, and
    one of the file itself, which may have other names (hard links).

    Args:
        path: the file, made empty if it is not there; a link is followed. A hidden file ending in
            .lock is made beside it.
        option: what it was given to, for the error.
        secret: whether nobody but the owner may read a file that is made.

    Raises:
        InvalidInput: if another process holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    check_output(path, option)
    target = _target(path)
    lock = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise _held(path, option) from None
    except (OSError, NotImplementedError) as error:  # the latter where a file system has no locks
        raise InvalidInput(
            f"{option} needs a file beside which a lock can be held; got {str(path)!r} ({error})"
        ) from error
    try:
        remove_remains(path)
        with _whole_held(path, target, option, 0o600 if secret else 0o666):
            yield
    finally:
        lock.release()


@contextlib.contextmanager
def _whole_held(
    path: str | os.PathLike[str], target: Path, option: str, mode: int
) -> Iterator[None]:
    """A lock of the file by whatever name it is opened; where there is none, it has one name only."""
    try:
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT, mode)
    except OSError as error:
        raise OutputFailed(f"{str(path)!r} could not be written: {_reason(error)}") from error
    try:
        if sys.platform == "win32":
            _refuse_other_names(path, option)
        else:
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _held(path, option) from None
            except OSError:  # a file system without such locks
                _refuse_other_names(path, option)
        yield
    finally:
        os.close(descriptor)


def _refuse_other_names(path: str | os.PathLike[str], option: str) -> None:
    names = Path(path).stat().st_nlink
    if names > 1:
        raise InvalidInput(
            f"{option} needs a file with one name, where the system cannot hold all of them; "
            f"{str(path)!r} has {names} (hard links); make a copy, and name that"
        )


def _held(path: str | os.PathLike[str], option: str) -> InvalidInput:
    return InvalidInput(
        f"{option} needs a file that no other process holds; {str(path)!r} is held by another; "
        "wait for it, or name another file"
    )


_NAME = 100
"""Characters of a file's name in that of its temporary file."""


def _target(path: str | os.PathLike[str]) -> Path:
    """The file behind all links."""
    return Path(os.path.realpath(path))


def _replaceable(target: Path) -> bool:
    """Whether another file may take its place: not that of a device or a pipe."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return target.is_file() or not target.exists()


def _begun(target: Path, *, secret: bool) -> tuple[Path, int]:
    """A new temporary file beside the target, and its descriptor."""
    name = f".{target.name[:_NAME]}.{secrets.token_hex(8)}{_PARTIAL}"
    temporary = target.with_name(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return temporary, os.open(temporary, flags, 0o600 if secret else 0o666)


def _flush_folder(folder: Path) -> None:
    """Make the new name last; file systems that cannot flush a folder keep it their own way."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
