"""Every error that dpcalc raises on purpose.

    DpcalcError
    ├── InvalidInput          a value is outside its range, a name is unknown, a file cannot be read
    ├── AssumptionViolated    the parameters contradict what a theorem needs
    ├── Unattested            a promise that only the caller can make has not been made
    ├── Infeasible            no noise meets the budget; says what to change
    ├── MissingExtra          a library that the base installation leaves out is needed
    └── NumericalFailure      a computation could not be carried to a certified answer

A message reads: what was needed; ``name=value`` that was given; what to try.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DpcalcError(Exception):
    """Base of all errors raised on purpose; its text is meant for the user."""


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


class NumericalFailure(DpcalcError):
    """A computation ended without a certified answer; no number is returned."""


def shortened(text: str) -> str:
    """What was given, cut where an error message would drown in it."""
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def unknown_name(kind: str, given: object, known: Iterable[str]) -> InvalidInput:
    """The error for a misspelt name, with the nearest known one."""
    names = sorted(known)
    if not isinstance(given, str):
        return InvalidInput(f"the name of a {kind} was needed; got {given!r}; try {names[0]!r}")
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    return InvalidInput(f"unknown {kind} {given!r}; {hint}")
