"""Parameters of a theorem: dataclass fields that know their range, their help and their option.

The command line, the claims file and the documentation are generated from these, so a parameter is
described once, where it is declared.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from dpcalc import checks
from dpcalc.errors import InvalidInput, shortened, unknown_name
from dpcalc.numerals import Written, hint_of
from dpcalc.numerals import number as parsed
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Release

_KEY = "dpcalc.parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What is known of one parameter.

    Attributes:
        kind: "number", "count", "choice", "flag", "schedule", "graph" or "matrix".
        help: one line: what it is, its unit, its symbol in the paper.
        convert: from (name, value as given) to the checked value; raises `InvalidInput`.
        choices: the words a choice may be.
        symbol: the paper's symbol as formulas spell it, such as "sigma"; empty if there is none.
    """

    kind: str
    help: str
    convert: Callable[[str, Any], Any]
    choices: tuple[str, ...] = ()
    symbol: str = ""


def number(
    help_: str,
    symbol: str = "",
    *,
    check: Callable[[str, float], float] = checks.positive,
    default: Any = dataclasses.MISSING,
) -> Any:
    """A real number; ``check`` states its range, ``symbol`` what formulas call it."""

    def convert(name: str, value: Any) -> float | None:
        if value is None and default is None:
            return None
        checked = check(name, _read(name, value))
        return checked if isinstance(checked, Written) else float(checked)

    return _field(Parameter("number", _with_symbol(help_, symbol), convert, (), symbol), default)


def count(
    help_: str, symbol: str = "", *, minimum: int = 1, default: Any = dataclasses.MISSING
) -> Any:
    """A whole number."""

    def convert(name: str, value: Any) -> int | None:
        if value is None and default is None:
            return None
        return checks.count(name, _read(name, value), minimum=minimum)

    return _field(Parameter("count", _with_symbol(help_, symbol), convert, (), symbol), default)


_LETTERS = {
    "Delta": "Δ",
    "beta": "β",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "gamma": "γ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "norm_A": "‖A‖",
    "nu": "ν",
    "rho": "ρ",
    "sigma": "σ",
    "theta": "θ",
}


def _with_symbol(help_: str, symbol: str) -> str:
    """The help with the symbol at its end, unless it is there already."""
    stem, _, index = symbol.partition("_")
    letter = _LETTERS.get(symbol) or "_".join(filter(None, (_LETTERS.get(stem, stem), index)))
    there = re.search(rf"(?<!\w){re.escape(letter)}(?!\w)", help_)
    return help_ if not symbol or there else f"{help_}, {letter}"


def _read(name: str, value: Any) -> Any:
    """A number that is written as text, such as "1/3", as a number; all else unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parsed(value)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(
            f"{name} needs a number such as 0.5, 1e-5 or 1/3; got {name}={shortened(repr(value))}"
            + hint_of(value)
        ) from None


def choice(
    help_: str,
    choices: tuple[str, ...] = (),
    *,
    default: Any = dataclasses.MISSING,
    also: Callable[[object], bool] = lambda _: False,
) -> Any:
    """One of several words; in Python, or what ``also`` says yes to.

    Without ``choices`` the words are those of the field's annotation, a ``Literal``.
    """

    def convert(name: str, value: Any) -> Any:
        if also(value):
            return value
        if str(value) not in choices:
            raise unknown_name(f"{name.replace('_', '-')}", str(value), choices)
        return str(value)

    return _field(Parameter("choice", help_, convert, choices), default)


def release(help_: str, *releases: str) -> Any:
    """What the adversary sees: one of a theorem's releases, the first unless said."""
    known = tuple(map(Release, releases))
    choices = tuple(one.replace(" ", "-") for one in known)

    def convert(name: str, value: Any) -> Release:
        word = str(value).replace(" ", "-")
        if word not in choices:
            raise unknown_name(name, str(value), choices)
        return known[choices.index(word)]

    return _field(Parameter("choice", help_, convert, choices), known[0])


def weak_convexity() -> Any:
    """The parameter of results that hold without convexity."""
    return number(
        "how far every loss or user's function may be from convex: no Hessian has an eigenvalue "
        "below minus this (0: convex; the smoothness: any smooth one)",
        check=checks.non_negative,
        default=0.0,
    )


def flag(help_: str) -> Any:
    """A yes or no, no unless said."""

    def convert(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} needs true or false; got {name}={value!r}")
        return value

    return _field(Parameter("flag", help_, convert), default=False)


def schedule(
    help_: str,
    symbol: str = "",
    *,
    check: Callable[[str, float], float] = checks.positive,
    default: Any = dataclasses.MISSING,
) -> Any:
    """A value per round and node: a number, START:FACTOR, or a table; see `Schedule`."""

    def convert(name: str, value: Any) -> Schedule | None:
        if value is None and default is None:
            return None
        made = Schedule.of(name, value)
        made.check(lambda x: check(name, x))
        return made

    return _field(Parameter("schedule", _with_symbol(help_, symbol), convert, (), symbol), default)


def graph(help_: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A communication graph: ring:5, complete:3, star:6, path:4 or @file."""

    def convert(name: str, value: Any) -> Any:
        from dpcalc.theorems.graph import Graph

        return None if value is None and default is None else Graph.of(name, value)

    return _field(Parameter("graph", help_, convert), default)


def matrix(help_: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A matrix: @file with comma-separated rows, or a number for a multiple of the identity."""

    def convert(name: str, value: Any) -> Any:
        from dpcalc.theorems.matrix import Matrix

        return None if value is None and default is None else Matrix.of(name, value)

    return _field(Parameter("matrix", help_, convert), default)


def releases_of(owner: type) -> tuple[Release, ...] | None:
    """What a theorem's own parameter ``release`` says that the adversary may see, if it has one."""
    field = vars(owner).get("release")
    known = field.metadata.get(_KEY) if isinstance(field, dataclasses.Field) else None
    return None if known is None else tuple(known.convert("release", c) for c in known.choices)


def complete_choices(owner: type) -> None:
    """Give every choice without words those of its annotation; before a dataclass is made.

    Raises:
        TypeError: if the annotation is no ``Literal`` of words.
    """
    for name, field in list(vars(owner).items()):
        known = field.metadata.get(_KEY) if isinstance(field, dataclasses.Field) else None
        if known is not None and known.kind == "choice" and not known.choices:
            words = _words(inspect.get_annotations(owner)[name])
            if not words:
                raise TypeError(f"{owner.__name__}.{name} needs a Literal of words, or choices")
            setattr(owner, name, choice(known.help, words, default=field.default))


def _words(annotation: Any) -> tuple[str, ...]:
    """The words of a ``Literal``, which ``from __future__ import annotations`` leaves as text."""
    if not isinstance(annotation, str):
        return tuple(word for word in get_args(annotation) if isinstance(word, str))
    nodes = ast.walk(ast.parse(annotation, mode="eval"))
    return tuple(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _field(parameter: Parameter, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={_KEY: parameter})


def parameters(owner: type) -> dict[str, Parameter]:
    """The parameters of a dataclass by name, in order."""
    return {
        field.name: field.metadata[_KEY]
        for field in dataclasses.fields(owner)
        if _KEY in field.metadata
    }


def required(owner: type) -> set[str]:
    """Names of the parameters without a default."""
    return {
        field.name
        for field in dataclasses.fields(owner)
        if _KEY in field.metadata
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    }


def default_of(owner: type, name: str) -> Any:
    """The default of a parameter; None if it has none."""
    (found,) = [f for f in dataclasses.fields(owner) if f.name == name]
    return None if found.default is dataclasses.MISSING else found.default


def converted(instance: Any) -> None:
    """Check and convert every parameter of a frozen dataclass in place; for ``__post_init__``."""
    for name, parameter in parameters(type(instance)).items():
        object.__setattr__(instance, name, parameter.convert(name, getattr(instance, name)))
