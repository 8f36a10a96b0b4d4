"""Results found by folder: a new file is a new result, and nothing else is edited."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput, unknown_name

__all__ = [
    "by_class_name",
    "family",
    "key_of",
    "keys",
    "privacy_result",
    "result",
    "results",
]

if TYPE_CHECKING:
    from dpcalc.theorems.base import Result, Theorem

_ROOT = Path(__file__).parent


@cache
def _modules() -> dict[str, str]:
    """Key -> module name, from the file names; nothing is imported."""
    return {
        path.stem.replace("_", "-"): f"dpcalc.theorems.{path.parent.name}.{path.stem}"
        for path in sorted(_ROOT.glob("*/*.py"))
        if not path.stem.startswith("_")
    }


def keys(*, privacy: bool | None = None) -> list[str]:
    """Keys of all results, or of the privacy results, or of the others."""
    found = _modules()
    if privacy is None:
        return list(found)
    return [k for k, module in found.items() if (".convergence." not in module) == privacy]


def family(key: str) -> str:
    """The folder that a result stands in."""
    return _module_name(key).split(".")[2]


def result(key: str) -> type[Result]:
    """The result with a key; only its own module is imported.

    Raises:
        InvalidInput: if there is none, with the nearest key.
    """
    return _result_in(importlib.import_module(_module_name(key)))


def privacy_result(key: str) -> type[Theorem]:
    """The privacy result with a key.

    Example::

        import dpcalc
        print(dpcalc.theorem("dp-admm").statement)

    Args:
        key: as `dpcalc theorems` lists it, or a paper or method that has one result.

    Returns:
        Its class; parameters are those of its constructor.

    Raises:
        InvalidInput: if there is none, or the key is that of a convergence result.
    """
    from dpcalc.theorems.base import Theorem

    if not isinstance(key, str):
        raise InvalidInput(f"expected the name of a theorem; got {key!r}; try dp-admm")
    key = key_of(key, privacy=True)
    if key not in keys():
        raise unknown_name("theorem", key, keys(privacy=True))
    found = result(key)
    if not issubclass(found, Theorem):
        raise InvalidInput(f"expected a privacy result; {key} is not one; try: dpcalc rate {key}")
    return found


def key_of(name: str, *, privacy: bool | None = None) -> str:
    """The key that a name stands for: its own spelling, a paper such as shang2021, or a method.

    A method is named as in the parentheses of a title, such as DP-AccADMM. What stands for nothing is
    handed back as it is, for the error that names the nearest key.

    Args:
        name: in any case, with dashes, underscores or blanks.
        privacy: whether privacy results are meant, or the others; None for all.

    Raises:
        InvalidInput: for a paper or a method with several results, with their keys.
    """
    found = keys_of(name, privacy=privacy)
    if len(found) > 1:
        raise InvalidInput(
            f"expected one result; {name} has {', '.join(found)}; try: dpcalc theorems {found[0]}"
        )
    return found[0] if found else name


def keys_of(name: str, *, privacy: bool | None = None) -> list[str]:
    """All keys that a name stands for, as in `key_of`; privacy results first."""
    spelt = re.sub(r"[\s_]+", "-", name.strip().lower())
    if spelt in keys():
        return [spelt]
    found = [key for key in keys(privacy=privacy) if _is_called(result(key), spelt)]
    return sorted(found, key=lambda key: key not in keys(privacy=True))


def _is_called(found: type[Result], name: str) -> bool:
    paper, year = name[:-4], name[-4:]
    if paper.isalpha() and year.isdigit():
        return paper in found.reference.lower() and year in found.reference
    listed = re.findall(r"\(([^)]*)\)", found.title)
    return name in {word.strip().lower() for names in listed for word in names.split(",")}


def results() -> Iterator[type[Result]]:
    """All results."""
    for key in keys():
        yield result(key)


@cache
def by_class_name(name: str) -> type[Result] | None:
    """The result whose class has a name, such as DPADMM; None if there is none."""
    return next((found for found in results() if found.__name__ == name), None)


def _module_name(key: str) -> str:
    found = _modules()
    if key.lower() not in found:
        raise unknown_name("theorem", key, found)
    return found[key.lower()]


def _result_in(module: ModuleType) -> type[Result]:
    """The class with an example; what others derive from has none."""
    from dpcalc.theorems.base import Result

    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Result)
        and value.__module__ == module.__name__
        and "example" in vars(value)
    ]
    if len(found) != 1:
        named = ", ".join(kind.__name__ for kind in found) or "none"
        raise TypeError(f"{module.__name__} needs one class with an example; got {named}")
    return found[0]
