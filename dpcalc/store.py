"""Finished pieces of work in one SQLite file, from which interrupted work resumes.

Statement
    A piece that `Store.write` has returned from is there after any process was killed at any moment,
    and after a power cut where the disk keeps what it says that it wrote; of other pieces nothing
    is. What `Store.read` returns is what was written, bit for bit: each piece has a checksum
    (SHA-256), which finds damage and careless edits and is no signature.
    The file belongs to one plan, one version of dpcalc, one feature release of numpy and of numba,
    or none of numba, and is held by one process at a time.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

import dpcalc
from dpcalc.archive import Values, checksum
from dpcalc.errors import InvalidInput, OutputFailed, shortened
from dpcalc.files import held_alone, is_there, refuse_pipe

__all__ = [
    "LAYOUT",
    "Store",
    "open_store",
    "plan_of",
]

LAYOUT = 1
"""Version of the table."""

_TABLE = """CREATE TABLE IF NOT EXISTS pieces (key TEXT PRIMARY KEY, header TEXT NOT NULL,
arrays BLOB NOT NULL, sha256 TEXT NOT NULL)"""
_PLAN = "plan"
_NOT_PIECES = (_PLAN, "planned")
_ANOTHER = "name another file, or repeat what began it"


@dataclass(frozen=True, slots=True)
class Store:
    """Pieces by name; those of a part of the work have names that begin alike.

    Attributes:
        path: the file.
        connection: to it.
        prefix: of all names.
    """

    path: Path
    connection: sqlite3.Connection
    prefix: str = ""

    def section(self, name: str) -> Store:
        """The pieces of a part of the work, by names of their own."""
        return Store(self.path, self.connection, f"{self.prefix}{quote(name, safe='')}/")

    def names(self) -> list[str]:
        """Names of all pieces of this section, in the order of the alphabet."""
        rows = _asked(
            self.path,
            self.connection,
            "SELECT key FROM pieces WHERE substr(key, 1, ?) = ? ORDER BY key",
            (len(self.prefix), self.prefix),
        )
        return [str(key)[len(self.prefix) :] for (key,) in rows]

    def finished(self) -> int:
        """How many pieces there are, plans left out."""
        return sum(key.rpartition("/")[2] not in _NOT_PIECES for key in self.names())

    def read(self, key: str) -> tuple[dict[str, Any], dict[str, Values]] | None:
        """Header and arrays of a piece; None if there is none.

        Raises:
            InvalidInput: if it is damaged.
        """
        rows = _asked(
            self.path,
            self.connection,
            "SELECT header, arrays, sha256 FROM pieces WHERE key = ?",
            (self.prefix + key,),
        )
        return _opened(self.path, self.prefix + key, *rows[0]) if rows else None

    def write(
        self, key: str, header: Mapping[str, Any], arrays: Mapping[str, Values] | None = None
    ) -> None:
        """Add a piece, or put it in the place of the one with its name.

        Args:
            key: its name.
            header: ready for JSON.
            arrays: by name.

        Raises:
            OutputFailed: if the disk is full or gone; all earlier pieces are there still.
        """
        arrays = arrays or {}
        text = json.dumps(dict(header))
        row = (self.prefix + key, text, _packed(arrays), checksum(json.loads(text), arrays))
        try:
            self.connection.execute("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise OutputFailed(
                f"{str(self.path)!r} could not be written: {error}; what was finished before is in "
                "it, and the same command resumes from there"
            ) from error

    def remove(self, key: str) -> None:
        """Leave out a piece, if it is there; its bytes are overwritten."""
        name = (self.prefix + key,)
        _asked(self.path, self.connection, "DELETE FROM pieces WHERE key = ?", name)

    def begin(self, plan: Mapping[str, Any]) -> None:
        """Note the plan of this section, or hold it against the one that began it.

        Args:
            plan: what decides the bits of its pieces, ready for JSON.

        Raises:
            InvalidInput: if it was begun with another plan or by another version.
        """
        wanted = json.loads(json.dumps(dict(plan)))
        found = self.read(_PLAN)
        if found is None:
            self.write(_PLAN, {"layout": LAYOUT} | _versions() | {"plan": wanted})
            return
        header = found[0]
        if header.get("layout") != LAYOUT:
            raise _needed(self.path, f"of layout {header.get('layout')!r}, not {LAYOUT}")
        _refuse_other_versions(header, self.path)
        held = header["plan"]
        names = [name for name in {**held, **wanted} if held.get(name) != wanted.get(name)]
        if names:
            listed = ", ".join(
                f"{name.replace('_', ' ')} {_short(held.get(name))} instead of "
                f"{_short(wanted.get(name))}"
                for name in names
            )
            raise InvalidInput(
                f"expected the file of this work; {str(self.path)!r} holds others: {listed}; "
                + _ANOTHER
            )


@contextlib.contextmanager
def open_store(
    path: str | os.PathLike[str],
    plan: Mapping[str, Any],
    *,
    option: str = "--checkpoint",
    resume: bool = False,
    secret: bool = False,
) -> Iterator[Store]:
    """The store of a plan, begun if there is no such file, held by this process alone.

    Args:
        path: the file.
        plan: what decides the bits of the work, ready for JSON.
        option: what the file was given to, for errors.
        resume: refuse to start over.
        secret: whether nobody but the owner may read it, where the file system knows owners.

    Raises:
        InvalidInput: if another process holds it, or it belongs to another plan or version, or is
            no store.
    """
    needed = "--resume needs work that was begun; there is {}; leave --resume out to begin".format
    if resume and not is_there(path):
        raise InvalidInput(needed(f"no {str(path)!r}"))
    refuse_pipe(path)
    with (
        held_alone(path, option.lstrip("-"), secret=secret),
        contextlib.closing(_connected(path)) as connection,
    ):
        store = Store(Path(path), connection)
        if resume and store.read(_PLAN) is None:
            raise InvalidInput(needed(f"none in {str(path)!r}"))
        store.begin(plan)
        yield store


def plan_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The plan that a store belongs to; None if there is no such file, or nothing in it.

    Raises:
        InvalidInput: if the file holds something else.
    """
    if not is_there(path) or Path(path).stat().st_size == 0:
        return None
    refuse_pipe(path)
    with contextlib.closing(_connected(path)) as connection:
        found = Store(Path(path), connection).read(_PLAN)
    return None if found is None else dict(found[0]["plan"])


def _refuse_other_versions(header: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Refuse to resume from a file of another dpcalc, or of a library that may give other bits."""
    now = _versions()
    held = {name: header.get(name) for name in now}
    if any(_feature(name, held[name]) != _feature(name, now[name]) for name in now):
        before, here = (
            " and ".join(f"{k} {v}" if v else f"no {k}" for k, v in of.items())
            for of in (held, now)
        )
        raise InvalidInput(
            f"expected the versions that began {str(path)!r}, {before}; got {here}: the rest could "
            "come out with other bits; go on with those, or start over with another file"
        )


def _versions() -> dict[str, str | None]:
    """Of what decides the last digits; None for a library that is not installed."""
    numba = importlib.metadata.version("numba") if importlib.util.find_spec("numba") else None
    return {"dpcalc": dpcalc.__version__, "numpy": np.__version__, "numba": numba}


def _feature(name: str, version: object) -> list[str]:
    """With numpy a seed's numbers stay within one, such as 2.4; numba sums in its own order."""
    return str(version).split(".")[: None if name == "dpcalc" else 2]


def _short(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value))


def _connected(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """A connection that writes every piece at once and waits until the disk has it."""
    begun = is_there(path) and Path(path).stat().st_size > 0
    file = Path(path).absolute()  # ":memory:" would be no file
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    try:
        others = connection.execute("SELECT 1 FROM sqlite_master WHERE tbl_name <> 'pieces'")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        if not (foreign := others.fetchone()):
            connection.execute(_TABLE)
        # A piece that the index lost would be taken for one that was never finished.
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if not begun:  # nothing in it that could be damaged
            raise OutputFailed(f"{str(path)!r} could not be written: {error}") from error
        raise _needed(path, str(error)) from error
    if foreign or found != "ok":
        connection.close()
        raise _needed(path, "of something else" if foreign else f"it is damaged: {found}")
    return connection


def _asked(
    path: Path, connection: sqlite3.Connection, question: str, given: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    try:
        return connection.execute(question, given).fetchall()
    except sqlite3.DatabaseError as error:
        raise _needed(path, str(error)) from error


def _packed(arrays: Mapping[str, Values]) -> bytes:
    if not arrays:
        return b""
    file = io.BytesIO()
    np.savez(file, **dict(arrays))  # type: ignore[arg-type] # names are ours, none is allow_pickle
    return file.getvalue()


def _opened(
    path: Path, key: str, text: str, packed: bytes, sha256: str
) -> tuple[dict[str, Any], dict[str, Values]]:
    try:
        header = json.loads(text)
        arrays: dict[str, Values] = {}
        if packed:
            with np.load(io.BytesIO(packed), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        whole = checksum(header, arrays) == sha256
    except Exception as error:
        raise _needed(path, f"its piece {key!r} is damaged") from error
    if not whole:
        raise _needed(path, f"the checksum of its piece {key!r} does not fit: it is damaged")
    return header, arrays


def _needed(path: str | os.PathLike[str], reason: str) -> InvalidInput:
    return InvalidInput(
        f"expected a file of finished work; got {str(path)!r} ({reason}); {_ANOTHER}"
    )
