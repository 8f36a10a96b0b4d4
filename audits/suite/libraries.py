"""Mechanisms that other libraries ship, found by folder: one short file, one claim, one attack."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from dpcalc.audits.instances.shipped import Shipped
from dpcalc.errors import unknown_name

_FOLDER = Path(__file__).parents[1] / "libraries"


@cache
def shipped_keys() -> tuple[str, ...]:
    """Names of all files in the folder; no file is loaded."""
    return tuple(sorted(p.stem for p in _FOLDER.glob("[!_]*.py")))


def shipped(key: str) -> Shipped:
    """The audit in the file of that name.

    Raises:
        InvalidInput: naming the nearest known one.
    """
    if key not in shipped_keys():
        raise unknown_name("audit of a library", key, shipped_keys())
    found: Shipped = importlib.import_module(f"dpcalc.audits.libraries.{key}").SHIPPED
    return found
