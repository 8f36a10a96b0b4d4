"""Range checks with one wording: what was expected, what was given, what to try."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpcalc.errors import InvalidInput, shortened
from dpcalc.numerals import plain, ratio


def positive(name: str, value: float, *, hint: str = "") -> float:
    """``value`` if it is a finite number above zero."""
    if not (_is_number(value) and 0 < value < math.inf):
        raise _wrong(name, value, "a finite number above 0", hint or "try a number such as 0.5")
    return plain(value)


def non_negative(name: str, value: float, *, hint: str = "") -> float:
    """``value`` if it is a finite number, zero or above."""
    if not (_is_number(value) and 0 <= value < math.inf):
        raise _wrong(name, value, "a finite number, 0 or above", hint or "try 0 or a number above")
    return plain(value) or 0.0


def non_negative_or_infinite(name: str, value: float, *, hint: str = "") -> float:
    """``value`` if it is a number, zero or above; infinity is allowed."""
    if not (_is_number(value) and value >= 0):
        raise _wrong(
            name, value, "a number, 0 or above (inf is allowed)", hint or "try 0 or a number above"
        )
    return plain(value) or 0.0


def probability(name: str, value: float, *, hint: str = "") -> float:
    """``value`` if it lies in [0, 1]."""
    if not (_is_number(value) and 0 <= value <= 1):
        raise _wrong(name, value, "a number from 0 to 1", hint or "try a number such as 0.05")
    return plain(value) or 0.0


def open_unit(name: str, value: float) -> float:
    """``value`` if it lies strictly between 0 and 1."""
    if not (_is_number(value) and 0 < value < 1):
        raise _wrong(name, value, "a number strictly between 0 and 1", "try 0.5")
    return plain(value)


def delta(value: float) -> float:
    """``value`` if it lies in [0, 1); a guarantee with δ ≥ 1 says nothing."""
    if not (_is_number(value) and 0 <= value < 1):
        raise _wrong("delta", value, "a number in [0, 1)", "typical values are below 1/n_records")
    return plain(value) or 0.0  # never -0.0


def proper_delta(value: float) -> float:
    """``value`` if it lies in (0, 1)."""
    if not (_is_number(value) and 0 < value < 1):
        raise _wrong("delta", value, "a number in (0, 1)", "typical values are below 1/n_records")
    return plain(value)


def count(name: str, value: float, *, minimum: int = 1, hint: str = "") -> int:
    """``value`` as an int if it is a whole number, ``minimum`` or above."""
    if type(value) is int and minimum <= value < 2**53:  # by far the most frequent
        return value
    if _is_number(value) and math.isfinite(value):
        top, bottom = ratio(value)
        if top % bottom == 0 and top // bottom >= minimum:
            return top // bottom
        if top // bottom >= minimum:
            hint = hint or f"try {top // bottom} or {top // bottom + 1}"
    whole = _is_number(value) and math.isfinite(value) and value == int(value)
    given = int(value) if whole else value
    raise _wrong(
        name, given, f"a whole number, {minimum} or above", hint or f"try {max(minimum, 10)}"
    )


def above_one(name: str, value: float, *, hint: str = "") -> float:
    """``value`` if it is a finite number above one."""
    if not (_is_number(value) and 1 < value < math.inf):
        raise _wrong(name, value, "a finite number above 1", hint or "try 2")
    return plain(value)


def no_bound_without(needed: str, instead: str) -> Callable[[str, float], float]:
    """A check for a positive number that says where its absence belongs.

    Args:
        needed: the value at which the quantity is absent, such as "0" or "inf".
        instead: which result answers then.
    """

    def check(name: str, value: float) -> float:
        return positive(name, value, hint=f"for {name} = {needed} {instead}")

    return check


def told_apart(*values: float) -> tuple[str, ...]:
    """The numbers to six digits, or to all of theirs where six do not tell different ones apart."""
    short = tuple(f"{value:g}" for value in values)
    return short if len(set(short)) == len(set(values)) else tuple(repr(float(v)) for v in values)


def _is_number(value: object) -> bool:
    """Whether a value is a real number that a double can stand for; it may be infinite."""
    import numbers

    if type(value) is float:
        return value == value
    if isinstance(value, bool | str) or not isinstance(value, numbers.Real):
        return False
    try:
        double = float(value)
    except OverflowError:  # beyond the doubles
        return False
    return double == double and (double != 0 or bool(value == 0))


_VECTORS = {
    "delta": "epsilons",
    "epsilon": "deltas",
    "false_positive_rate": "tradeoffs",
}
"""What answers for many values of a name at once."""


def _wrong(name: str, value: object, needed: str, hint: str) -> InvalidInput:
    if hasattr(value, "__len__") and not isinstance(value, str | bytes) and name in _VECTORS:
        hint = f"one at a time; for several there is guarantee.{_VECTORS[name]}(...)"
    if _is_beyond_doubles(value):
        needed, hint = f"{needed}, that a double can stand for (up to 1.8e308)", ""
    tail = f"; {hint}" if hint else ""
    return InvalidInput(f"{name} needs {needed}; got {name}={shortened(repr(value))}{tail}")


def _is_beyond_doubles(value: object) -> bool:
    try:
        return isinstance(value, int | Fraction) and not math.isfinite(float(value))
    except OverflowError:
        return True
