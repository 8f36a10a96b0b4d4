"""Reading TOML with errors that say where and what."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpcalc.errors import InvalidInput, unknown_name


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file.

    Raises:
        InvalidInput: if it cannot be read, with the reason.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"a readable TOML file was needed; there is no {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"a readable TOML file was needed; cannot read {str(path)!r} ({error})"
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}") from error


def fields(
    where: str, table: object, known: Iterable[str], required: Iterable[str] = ()
) -> Mapping[str, Any]:
    """A table with only known fields and all required ones.

    Raises:
        InvalidInput: for an unknown field (with the nearest known one) or a missing one.
    """
    names = list(known)
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where} needs to be a table; got {table!r}")
    for name in table:
        if name not in names:
            raise InvalidInput(f"{where}: {unknown_name('field', name, names)}")
    for name in required:
        if name not in table:
            raise InvalidInput(f"{where} needs the field {name!r}; it has {sorted(table)}")
    return table


def tables(where: str, value: object) -> list[Any]:
    """An array of tables."""
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"{where} needs at least one [[{where}]] table")
    return value
