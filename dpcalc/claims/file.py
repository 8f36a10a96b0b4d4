"""A claims file: many claims, judged one by one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from dpcalc.claims.reading import claim_from
from dpcalc.claims.system import is_system, system_claim_from
from dpcalc.claims.tables import fields, read_toml, tables
from dpcalc.claims.verdict import AnyClaim
from dpcalc.errors import InvalidInput


def default_file() -> Path:
    """The five papers' own headline settings, shipped with the package."""
    return Path(str(resources.files("dpcalc.claims").joinpath("headline.toml")))


def read_claims(path: Path) -> list[AnyClaim]:
    """All claims of a file; the first error stops, with the claim's number and name.

    Raises:
        InvalidInput: if the file cannot be read or a claim is malformed.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        raise InvalidInput(
            f"expected a claims file in TOML; got the table {str(path)!r}; name it in a claim: "
            f"rounds = {path.name!r}, or try: dpcalc compose {path} --delta 1e-6"
        )
    content = read_toml(path, begun_by="dpcalc new claim NAME")
    if "claim" not in content and {"release", "rounds"} & content.keys():
        raise InvalidInput(
            f"expected a claims file; {str(path)!r} is a composition file; try: dpcalc compose "
            f"{path}; in a claims file its releases are [[claim.release]] tables of a [[claim]]"
        )
    content = dict(fields(str(path), content, ("claim",), ("claim",)))
    return list(_claims(tables("claim", content["claim"]), path))


def _claims(found: list[Any], path: Path) -> Iterator[AnyClaim]:
    named: dict[str, int] = {}
    for number, table in enumerate(found, start=1):
        name = table.get("name") if isinstance(table, dict) else None
        where = f"claim {number}" + (f" ({name})" if name else "")
        if name and named.setdefault(str(name), number) != number:
            raise InvalidInput(
                f"{where} needs a name of its own; got that of claim {named[str(name)]}; rename one"
            )
        if isinstance(table, dict) and not {"theorem", "release", "rounds"} & table.keys():
            raise InvalidInput(
                f"{where} needs the field 'theorem', or releases ([[claim.release]] tables, or rounds "
                f"= 'file.csv'); got {', '.join(sorted(table)) or 'no field'}"
            )
        if is_system(table):
            yield system_claim_from(where, table, path)
        else:
            yield claim_from(where, table)
