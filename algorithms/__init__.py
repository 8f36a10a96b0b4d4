"""What runs: reference implementations of private ADMM and dual averaging. They compute no budget.

One file per algorithm; its key is the file's name with dashes. Files are found by listing the
folder and imported when asked for.

    from dpcalc.algorithms import catalogue, load

    catalogue()                     # ('acc-admm', 'admm', ..., 'r-admm')
    PrivateMRADMM = load("private-mr-admm")
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from dpcalc.errors import unknown_name

__all__ = [
    "catalogue",
    "load",
]

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm


@cache
def catalogue() -> tuple[str, ...]:
    """The keys of all algorithms, sorted; nothing is imported."""
    found = (module.name for module in iter_modules(__path__) if not module.ispkg)
    return tuple(sorted(name.replace("_", "-") for name in found if not name.startswith("_")))


def load(key: str) -> type[Algorithm]:
    """The algorithm with that key.

    Raises:
        InvalidInput: if there is none; names the nearest.
    """
    if key not in catalogue():
        raise unknown_name("algorithm", key, catalogue())
    module = import_module(f"{__name__}.{key.replace('-', '_')}")
    algorithm: type[Algorithm] = module.ALGORITHM
    return algorithm
