"""A claims file: many claims, judged one by one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from dpcalc.claims.tables import fields, read_toml, tables
from dpcalc.claims.verdict import Claim, claim_from
from dpcalc.errors import InvalidInput


def default_file() -> Path:
    """The five papers' own headline settings, shipped with the package."""
    return Path(str(resources.files("dpcalc.claims").joinpath("headline.toml")))


def read_claims(path: Path) -> list[Claim]:
    """All claims of a file; the first error stops, with the claim's number and name.

    Raises:
        InvalidInput: if the file cannot be read or a claim is malformed.
    """
    content = fields(str(path), read_toml(path), ("claim",), ("claim",))
    return list(_claims(tables("claim", content["claim"])))


def _claims(found: list[Any]) -> Iterator[Claim]:
    named: dict[str, int] = {}
    for number, table in enumerate(found, start=1):
        name = table.get("name") if isinstance(table, dict) else None
        where = f"claim {number}" + (f" ({name})" if name else "")
        if name and named.setdefault(str(name), number) != number:
            raise InvalidInput(
                f"{where} needs a name of its own; got that of claim {named[str(name)]}; rename one"
            )
        yield claim_from(where, table)
