"""What the author of a result imports: ten names.

    from dpcalc.theorems.authoring import (
        Numbers, Real, Theorem, assume, choice, count, finding, number, release, theorem,
    )

A result is one class in one file: ``@theorem(...)`` says what is released and how much is known, the
module's docstring says what is stated and where, and formulas such as `Theorem.certified_mu` are
written once, for sixty-digit numbers and for symbols. `docs/adding-a-paper.md` goes through one.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, dataclass_transform

from dpcalc.theorems.base import Theorem
from dpcalc.theorems.construction import by_name
from dpcalc.theorems.numbers import Numbers, Real
from dpcalc.theorems.parameters import (
    choice,
    complete_choices,
    count,
    graph,
    matrix,
    number,
    release,
    releases_of,
    schedule,
)
from dpcalc.theorems.result import Result
from dpcalc.theorems.statements import Assumption, Finding, Scope
from dpcalc.vocabulary import Adjacency, Bearing, Release, Status

__all__ = [
    "Numbers",
    "Real",
    "Theorem",
    "assume",
    "choice",
    "count",
    "finding",
    "number",
    "release",
    "theorem",
]

R = TypeVar("R", bound=Result)
_Bearing = Literal["proof fails", "incomplete", "loose", "remark"]
_Status = Literal["sound", "loose", "false for some settings"]
_Scope = Literal["claimed", "certified", "both"]


def finding(text: str, bears: _Bearing, when: Callable[[Any], bool] = lambda _: True) -> Finding:
    """Something a careful reading found.

    Args:
        text: what is so, in one or two sentences.
        bears: what it says of the printed statement or its proof where it applies.
        when: whether it concerns an instance; all of them unless said.
    """
    return Finding(text, Bearing[bears.upper().replace(" ", "_")], when)


def assume(
    key: str,
    text: str,
    scope: _Scope = "both",
    violated: Callable[[Any], str | None] | None = None,
) -> Assumption:
    """Something that must hold: a promise of the caller, unless the parameters decide it.

    Args:
        key: a short name, used to attest it.
        text: what must hold, in one sentence.
        scope: which bound needs it.
        violated: the reason why it fails for an instance, or None.
    """
    return Assumption(key, text, Scope(scope), violated)


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(number, count, choice, schedule, graph, matrix),
)
def theorem(
    *,
    example: Mapping[str, Any] | None = None,
    status: _Status | None = None,
    noise: str | None = None,
    releases: str | None = None,
    adjacency: str | None = None,
    quantity: str | None = None,
    **further: Any,
) -> Callable[[type[R]], type[R]]:
    """Make a frozen, keyword-only dataclass with slots of a result, or of what several share.

    A class with an example is a result. Its key is the name of its file with dashes; its title is the
    first line of the module's docstring, its statement and its reference are the first paragraphs of
    the sections Statement and Source.

    Args:
        example: parameters of a typical instance; without one the class is what others derive from.
        status: the status of the printed statement in general.
        noise: the parameter that says how much noise is added.
        releases: what the adversary may be assumed to see, where the caller has no choice.
        adjacency: when two inputs are neighbours, where the caller has no choice.
        quantity: what the rates of a convergence result bound.
        further: other class attributes of the result's base.
    """
    given = {
        "noise": noise,
        "quantity": quantity,
        "status": None if status is None else Status(status),
        "adjacency": None if adjacency is None else Adjacency(adjacency),
        "releases": None if releases is None else (Release(releases),),
        **further,
    }

    def made(described: type[R]) -> type[R]:
        complete_choices(described)
        given["releases"] = given["releases"] or releases_of(described)
        if example is not None:
            given.update(_printed(described.__module__), example=dict(example))
        for name, value in given.items():
            if value is not None:
                setattr(described, name, value)
        result = dataclass(frozen=True, kw_only=True, slots=True, repr=False)(described)
        _mend_super(described, result)
        result.__init__ = by_name(result.__init__)  # type: ignore[method-assign] # as PEP 681 has it
        _attest_last(result)
        return result

    return made


def _printed(module: str) -> dict[str, str]:
    """Key, title, statement and reference from a module's name and docstring."""
    text = inspect.cleandoc(_docstring(module))
    sections = dict(
        re.findall(r"^(Statement|Source)\n((?:    .*\n|\n)+)", text + "\n", re.MULTILINE)
    )
    if set(sections) != {"Statement", "Source"}:
        raise TypeError(f"{module} needs a docstring with the sections Statement and Source")
    first = {name: inspect.cleandoc(body).split("\n\n")[0] for name, body in sections.items()}
    return {
        "key": module.rpartition(".")[2].replace("_", "-"),
        "title": text.splitlines()[0].removesuffix("."),
        "statement": " ".join(first["Statement"].split()),
        "reference": " ".join(first["Source"].split()),
    }


def _docstring(module: str) -> str:
    """A module's docstring, which ``python -OO`` leaves in the file alone."""
    found = sys.modules[module]
    if found.__doc__ is not None or found.__file__ is None:
        return found.__doc__ or ""
    return ast.get_docstring(ast.parse(Path(found.__file__).read_text(encoding="utf-8"))) or ""


def _attest_last(result: type) -> None:
    """In the signature that is shown while a call is typed; every result inherits it first."""
    _, *named = inspect.signature(result.__init__).parameters.values()  # type: ignore[misc] # of this class alone
    given = sorted(named, key=lambda parameter: parameter.name == "attest")
    result.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined] # as PEP 362 has it


def _mend_super(described: type, result: type) -> None:
    """A dataclass with slots is a second class, which ``super()`` does not know before Python 3.14."""
    for member in vars(result).values():
        function = inspect.unwrap(member) if inspect.isfunction(member) else None
        if function is None or "__class__" not in function.__code__.co_freevars:
            continue
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index("__class__")]
        if cell.cell_contents is described:
            cell.cell_contents = result
