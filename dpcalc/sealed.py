"""JSON records with a format, a version and a checksum, which are read whole or not at all.

Statement
    `opened` returns the record that `sealed` was given, or refuses: text that was cut, changed by
    hand or damaged, a key too many, too few or repeated, nan and infinity, another format or
    version.
Limits
    The checksum (SHA-256 of the record without it) finds damage and careless edits. It is no
    signature: who can write the file can write its checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpcalc.errors import InvalidInput, shortened

_SEAL = "sha256"


def sealed(kind: str, version: int, content: Mapping[str, Any]) -> str:
    """A record as text.

    Args:
        kind: what it is, such as "dpcalc accountant".
        version: of its layout.
        content: plain finite numbers, texts, lists and tables.
    """
    record = {"format": kind, "version": version, **content}
    record[_SEAL] = _checksum(record)
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)


def opened(text: str, kind: str, version: int, keys: Sequence[str]) -> dict[str, Any]:
    """The content of what `sealed` wrote.

    Args:
        text: what was written.
        kind: what it needs to be.
        version: the version it needs to have.
        keys: the keys of its content, all of them.

    Raises:
        InvalidInput: if it is anything else.
    """
    record = _parsed(text, kind)
    if not isinstance(record, dict) or record.get("format") != kind:
        raise InvalidInput(f'expected a record with "format": "{kind}"; got {shortened(text)!r}')
    given = record.get("version")
    if type(given) is not int or given != version:
        raise InvalidInput(
            f"expected a {kind} of version {version}; got version {given!r}; numbers of another "
            "version may mean something else, so make it again with this one"
        )
    needed = {"format", "version", *keys, _SEAL}
    for problem, names in (
        ("lacks", needed - record.keys()),
        ("has the unknown", record.keys() - needed),
    ):
        if names:
            listed = ", ".join(map(repr, sorted(names)))
            raise InvalidInput(f"expected a whole {kind}; this one {problem} {listed}")
    if record.pop(_SEAL) != _checksum(record):
        raise InvalidInput(
            f"expected an unchanged {kind}; its checksum does not fit, so the file is damaged or "
            "was edited; go back to a copy"
        )
    return {key: record[key] for key in keys}


def _checksum(record: Mapping[str, Any]) -> str:
    plain = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _parsed(text: str, kind: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"expected a {kind}; this is not its JSON: {error}") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shortened(twice)!r} is repeated")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shortened(text)} is beyond the doubles")
    return value
