"""Reading TOML with errors that say where and what."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from dpcalc.errors import InvalidInput, shortened, unknown_name
from dpcalc.files import read_text
from dpcalc.numerals import hint_of, nearest, number, ratio

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""What such a text begins with."""


def read_toml(path: Path, *, begun_by: str = "") -> dict[str, Any]:
    """The contents of a TOML file.

    Args:
        path: of the file.
        begun_by: a command that writes one to begin with, for the error of a missing file.

    Raises:
        InvalidInput: if it cannot be read, with the reason.
    """
    try:
        return tomllib.loads(read_text(path), parse_float=number)
    except InvalidInput:
        raise
    except FileNotFoundError:
        begin = f"; {begun_by} writes one to begin with" if begun_by and str(path) != "-" else ""
        raise InvalidInput(
            f"expected a readable TOML file; there is no {str(path)!r}{_stream(path)}{begin}"
        ) from None
    except IsADirectoryError:
        raise InvalidInput(
            f"expected a readable TOML file; {str(path)!r} is a folder; name a file in it"
        ) from None
    except UnicodeDecodeError as error:
        found = "UTF-16 text" if error.object[:2] in _UTF_16 else f"not UTF-8 text ({error.reason})"
        raise InvalidInput(
            f"expected a readable TOML file; {str(path)!r} is {found}; save it as UTF-8"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"expected a readable TOML file; cannot read {str(path)!r} ({error.strerror or error})"
        ) from error
    except (ValueError, RecursionError) as error:
        said = str(error).replace("Cannot overwrite a value", "a field that stands there already")
        raise InvalidInput(f"{path} is not valid TOML: {said}") from error


NAMED_STREAMS = os.name == "posix"
"""Whether standard input is a file with a name."""


def _stream(path: Path) -> str:
    """What to say to those who mean standard input."""
    if str(path) != "-":
        return ""
    said = "for standard input try /dev/stdin" if NAMED_STREAMS else "standard input is not read"
    return f"; {said}"


def fields(
    where: str, table: object, known: Iterable[str], required: Iterable[str] = ()
) -> Mapping[str, Any]:
    """A table with only known fields and all required ones.

    Raises:
        InvalidInput: for an unknown field (with the nearest known one) or a missing one.
    """
    names = list(known)
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where} needs to be a table of name = value; got {table!r}")
    for name in table:
        if name not in names:
            raise InvalidInput(f"{where}: {unknown_name('field', name, names)}")
    for name in required:
        if name not in table:
            found = ", ".join(sorted(table)) or "no field"
            raise InvalidInput(f"{where} needs the field {name!r}; got {found}")
    return table


def tables(where: str, value: object) -> list[Any]:
    """An array of tables."""
    if not isinstance(value, list) or not value:
        found = f"one [{where}] table" if isinstance(value, Mapping) else f"{where} = {value!r}"
        raise InvalidInput(
            f"at least one [[{where}]] table is needed; got {found}; try double brackets"
        )
    return value


def as_real(name: str, value: Any) -> float:
    """A number of any real type, NumPy's among them, or one written as text such as "1/3"."""
    if type(value) is float:
        return value + 0.0  # never -0.0
    try:
        if isinstance(value, str):
            return number(value)
        if not isinstance(value, bool) and isinstance(value, Real):
            return nearest(*ratio(value)) if math.isfinite(value) else float(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise InvalidInput(
        f"{name} needs a number such as 0.5, 1e-5 or 1/3; got {shortened(repr(value))}"
        + (hint_of(value) if isinstance(value, str) else "")
    )
