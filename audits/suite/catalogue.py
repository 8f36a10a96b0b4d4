"""The audits, found by folder."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.auditing.suite.case import Audit, Instance
from dpcalc.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcalc.auditing import Claim

_FOLDER = Path(__file__).parents[1]


@cache
def keys() -> tuple[str, ...]:
    """Short names of all audits: file names with dashes; no file is loaded."""
    names = (p.stem for p in _FOLDER.glob("*.py") if not p.stem.startswith("_"))
    return tuple(sorted(name.replace("_", "-") for name in names))


def audit_of(key: str) -> Audit:
    """The audit of that short name.

    Raises:
        InvalidInput: naming the nearest known one.
    """
    if key not in keys():
        raise unknown_name("audit", key, keys())
    module = importlib.import_module(f"dpcalc.audits.{key.replace('-', '_')}")
    audit: Audit = module.AUDIT
    return audit


def need_libraries(theorems: Iterable[str]) -> None:
    """Return if the libraries are installed that attacks on these theorems' claims need.

    Raises:
        MissingExtra: with a command that installs what is missing.
    """
    wanted = set(theorems)
    for audit in map(audit_of, keys()):
        if audit.instance_of_theorem is not None and wanted & set(audit.theorems):
            audit.need_libraries()


def instance_of_theorem(theorem: Any, claim: Claim) -> Instance | None:
    """The worst mechanism known with a theorem's parameters; None if no audit can build one."""
    for key in keys():
        found = audit_of(key)
        if theorem.key in found.theorems and found.instance_of_theorem is not None:
            return found.instance_of_theorem(theorem, claim)
    return None
