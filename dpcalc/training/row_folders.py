"""Folders for rows that stay on the disk while they are used.

Statement
    A folder is removed when its block ends, also by an error. One whose process was killed is
    removed when the next is made by the same user in the same folder of temporary files: a lock of
    the operating system, which ends with the process, tells it from those in use.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc.errors import OutputFailed

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["row_folder"]

PREFIX = "dpcalc-rows-"
LOCK = ".lock"

_ATTEMPTS = 10
"""How often a new folder is made where another process took it for one that was left."""


@contextmanager
def row_folder() -> Iterator[Path]:
    """A new folder of this process in that of temporary files (``TMPDIR``).

    Raises:
        OutputFailed: if none can be made.
    """
    _remove_left(Path(tempfile.gettempdir()))
    folder, lock = _held()
    try:
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _held() -> tuple[Path, BaseFileLock]:
    """A folder and its lock; between the two another process may have removed it."""
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _locked(folder)
        if lock is not None and (folder / LOCK).exists():
            return folder, lock
    raise OutputFailed(f"no folder for rows could be held in {tempfile.gettempdir()!r}")


def _locked(folder: Path) -> BaseFileLock | None:
    """Its lock; None if another process has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except (OSError, NotImplementedError) as error:  # the latter where a file system has no locks
        raise OutputFailed(f"{str(folder)!r} could not be held: {error}") from error
    return lock


def _remove_left(parent: Path) -> None:
    """Remove what processes of the same user left that were killed; of others nothing is touched."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, OutputFailed):
            if folder.is_symlink() or not (folder / LOCK).is_file() or not _own(folder):
                continue
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()


def _own(folder: Path) -> bool:
    """Whether it is this user's, where the system knows users."""
    user = getattr(os, "getuid", None)
    return user is None or folder.stat().st_uid == user()
