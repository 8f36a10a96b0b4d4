"""Every error that dpcalc raises on purpose.

    DpcalcError
    ├── InvalidInput          a value is outside its range, a name is unknown, a file cannot be read
    ├── AssumptionViolated    the parameters contradict what a theorem needs
    ├── Unattested            a promise that only the caller can make has not been made
    ├── Infeasible            no noise meets the budget; says what to change
    ├── MissingExtra          a library that the base installation leaves out is needed
    ├── OutputFailed          a result could not be written to its file
    ├── WorkersLost           processes or machines that were computing went away or hung
    └── NumericalFailure      a computation could not be carried to a certified answer

A message reads: what was expected; ``name=value`` that was given; what to try.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable

__all__ = [
    "AssumptionViolated",
    "DpcalcError",
    "Infeasible",
    "InvalidInput",
    "MissingExtra",
    "NumericalFailure",
    "OutputFailed",
    "Unattested",
    "WorkersLost",
    "missing_delta",
    "readable",
    "shortened",
    "unknown_name",
]


class DpcalcError(Exception):
    """Base of all errors raised on purpose; its text is meant for the user, and never drowns."""

    def __str__(self) -> str:
        """The message, with what was given cut where it is long, and where it happened."""
        return readable("; ".join([super().__str__(), *getattr(self, "__notes__", ())]))


class InvalidInput(DpcalcError, ValueError):
    """A value is out of range, a name is unknown, or a file cannot be read."""


class AssumptionViolated(DpcalcError):
    """The parameters contradict an assumption of the result that was asked for."""


class Unattested(DpcalcError):
    """A promise that nobody but the caller can vouch for has not been made."""


class Infeasible(DpcalcError):
    """No amount of noise meets the budget under the other parameters."""


class MissingExtra(DpcalcError, ImportError):
    """A library that the base installation leaves out is needed; says how to install it."""


class OutputFailed(DpcalcError, OSError):
    """A file could not be written; what was computed for it is not lost by that."""


class WorkersLost(DpcalcError, RuntimeError):
    """Whoever was computing went away or hung; nothing is concluded without them."""


class NumericalFailure(DpcalcError):
    """A computation ended without a certified answer; no number is returned."""


_LONGEST_WORD = 240
_LONGEST_MESSAGE = 3000


def shortened(given: str | os.PathLike[str], most: int = 60) -> str:
    """What was given, cut where an error message would drown in it."""
    text = os.fspath(given)
    return text if len(text) <= most else f"{text[: most - 20]}... ({len(text)} characters)"


def readable(message: str) -> str:
    """A message whose longest words are cut, and whose middle is if it is long all the same."""
    message = re.sub(
        rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: shortened(word[0], _LONGEST_WORD), message
    )
    if len(message) <= _LONGEST_MESSAGE:
        return message
    head, tail = message[: _LONGEST_MESSAGE - 600], message[-500:]
    return f"{head}... ({len(message)} characters) ...{tail}"


def missing_delta(what: str, *, option: str = "--delta 1e-6") -> InvalidInput:
    """The error for a question at δ = 0 that has an answer at larger δ only.

    Args:
        what: what gives no ε there.
        option: how δ is said.
    """
    name = option.split()[0]
    return InvalidInput(f"{name} above 0 is needed: {what} gives no ε at δ = 0; try {option}")


def unknown_name(
    kind: str, given: object, known: Iterable[str], *, meant: str = ""
) -> InvalidInput:
    """The error for a misspelt name, with the nearest known one or with what is ``meant``."""
    names = sorted(known)
    if not isinstance(given, str):
        article = "an" if kind[0] in "aeiou" else "a"
        return InvalidInput(
            f"expected the name of {article} {kind}; got {given!r}; try {names[0]!r}"
        )
    if meant:
        return InvalidInput(f"unknown {kind} {given!r}; {meant}")
    plain = {name.lstrip("-@"): name for name in reversed(names)}
    found = difflib.get_close_matches(given.lstrip("-@").lower(), plain, n=1, cutoff=0.6)
    near = [plain[name] for name in found]
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    return InvalidInput(f"unknown {kind} {given!r}; {hint}")
