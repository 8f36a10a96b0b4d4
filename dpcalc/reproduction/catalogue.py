"""Experiments found by folder: a new file is a new experiment, and nothing else is edited."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from dpcalc.errors import unknown_name

if TYPE_CHECKING:
    from dpcalc.reproduction.experiment import Experiment


@cache
def names() -> tuple[str, ...]:
    """The names of all experiments, such as ``zhang2018-figure-1``; none is imported."""
    from dpcalc.reproduction import figures as folder

    found = (module.name for module in iter_modules(folder.__path__))
    return tuple(sorted(name.replace("_", "-") for name in found if not name.startswith("_")))


def chosen(name: str) -> tuple[str, ...]:
    """The experiments meant by a name: itself, all of a paper, or ``all``.

    Raises:
        InvalidInput: if there is none; names the nearest.
    """
    if name == "all":
        return names()
    found = tuple(known for known in names() if known == name or known.startswith(name + "-"))
    if not found:
        raise unknown_name("experiment", name, [*names(), "all"])
    return found


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in names():
        raise unknown_name("experiment", name, names())
    module = import_module(f"dpcalc.reproduction.figures.{name.replace('-', '_')}")
    found: Experiment = module.EXPERIMENT
    return found
