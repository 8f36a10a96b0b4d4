"""Methods found by folder: a new file is a new method, and nothing else is edited."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from dpcalc.errors import unknown_name

if TYPE_CHECKING:
    from dpcalc.training.method import Method


@cache
def methods() -> tuple[str, ...]:
    """The keys of all methods, sorted; none is imported."""
    from dpcalc.training import methods as folder

    names = (module.name for module in iter_modules(folder.__path__))
    return tuple(sorted(name.replace("_", "-") for name in names if not name.startswith("_")))


def method(key: str) -> type[Method]:
    """The method with that key.

    Raises:
        InvalidInput: if there is none; names the nearest.
    """
    if key not in methods():
        raise unknown_name("method", key, methods())
    module = import_module(f"dpcalc.training.methods.{key.replace('-', '_')}")
    found: type[Method] = module.METHOD
    return found
