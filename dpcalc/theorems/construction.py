"""How a result is made and shown: its parameters by name, each as one would write it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.numerals import Written, ratio
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.parameters import parameters, required
from dpcalc.theorems.schedule import Schedule

_MOST_SHOWN = 12
"""Entries of a table that are shown one by one."""


def by_name(made: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a dataclass of parameters that says what is missing, unknown or unnamed."""

    @functools.wraps(made)
    def checked(self: Any, *unnamed: Any, **given: Any) -> None:
        kind = type(self)
        if unnamed:
            raise InvalidInput(
                f"{kind.__name__} takes its parameters by name; got {_listed(map(repr, unnamed))}; "
                f"try {_call(kind, required(kind))}"
            )
        known = parameters(kind)
        for name in given:
            if name not in known and name != "attest":
                raise unknown_name(f"parameter of {kind.__name__}", name, {*known, "attest"})
        if missing := missing_names(kind, given):
            got = _listed(given) if given else "none"
            raise InvalidInput(
                f"{kind.__name__} also needs {_listed(missing)}; got {got}; "
                f"try {_call(kind, missing)}"
            )
        made(self, **given)

    return checked


def missing_names(kind: type, given: Collection[str]) -> list[str]:
    """The required parameters that are not given, in order."""
    return [name for name in parameters(kind) if name in required(kind) and name not in given]


def _call(kind: Any, names: Collection[str]) -> str:
    """A call with values of the example for some parameters."""
    example = getattr(kind, "example", {})
    shown = [
        f"{name}={example[name]!r}" for name in parameters(kind) if name in {*names} & {*example}
    ]
    left = "" if len(names) == len(required(kind)) else ", ..."
    return f"{kind.__name__}({', '.join(shown)}{left})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def as_written(value: Any) -> str:
    """A value of a parameter as one would write it in a call."""
    if isinstance(value, frozenset):
        return repr(sorted(value))
    if isinstance(value, Graph):
        return repr(value.text)
    if isinstance(value, Matrix):
        entered = value.scaled_identity or value.text.startswith("@")
        return repr(value.text) if entered else _table(value.rows)
    if isinstance(value, Schedule):
        if value.table:
            return _table(value.table)
        return (
            repr(value.start) if value.factor == 1.0 else repr(f"{value.start!r}:{value.factor!r}")
        )
    if isinstance(value, Written) and Fraction(repr(float(value))) != Fraction(*ratio(value)):
        return repr("{}/{}".format(*ratio(value)))
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _table(rows: Sequence[Sequence[float]]) -> str:
    if len(rows) * len(rows[0]) > _MOST_SHOWN:
        return f"<{len(rows)} by {len(rows[0])}>"
    return repr([list(row) for row in rows])
