"""Methods found by folder: a new file is a new method, and nothing else is edited."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from dpcalc.errors import Infeasible, unknown_name

__all__ = [
    "UNCOVERED",
    "method",
    "methods",
]

if TYPE_CHECKING:
    from dpcalc.training.method import Method


UNCOVERED = {
    "primal-variable-perturbation": (
        "its paper bounds what one node spends in one round",
        "dual-variable-perturbation or penalty-perturbation, which noise the same update",
    )
}
"""Private algorithms that no result here covers: what is known, and what to use instead."""


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
        Infeasible: if no result says what the algorithm spends.
    """
    if key in UNCOVERED:
        known, instead = UNCOVERED[key]
        raise Infeasible(
            "expected a result that says what a whole run spends; there is none here for "
            f"algorithm={key!r} ({known}), so no noise can be fitted to a budget; use {instead}; "
            "from Python it runs with a noise_rate of your own: "
            f"dpcalc.algorithms.load({key!r})"
        )
    if key not in methods():
        raise unknown_name("method", key, methods())
    module = import_module(f"dpcalc.training.methods.{key.replace('-', '_')}")
    found: type[Method] = module.METHOD
    return found
