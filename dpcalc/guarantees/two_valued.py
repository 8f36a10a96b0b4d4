"""Guarantees whose worst loss has two values next to a failure, composed where they are few."""

from __future__ import annotations

from collections.abc import Sequence

from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.pure.few_rounds import few_rounds_epsilon
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.pure import ApproxDP, PureDP

TWO_VALUED = (ApproxDP, PureDP)

_WHOLE = 2**53
"""Whole numbers up to here are doubles."""


def few_rounds(parts: Sequence[tuple[Guarantee, int]], delta: float) -> Bracket | None:
    """An enclosure of ε at next to no cost; None for other guarantees, many rounds, or odd numbers.

    Those are numbers that are no plain doubles or out of range. Equal rounds without failures, which
    have a sharper answer, are left to it.

    Args:
        parts: guarantees with the number of releases each describes.
        delta: what is asked for, whatever it is.
    """
    rounds: dict[float, int] = {}
    failures: dict[float, int] = {}
    for part, n in parts:
        if isinstance(part, ApproxDP):
            failure = _double(part.failure)
            if failure is None or failure >= 1:
                return None
            if failure:
                failures[failure] = failures.get(failure, 0) + n
        elif not isinstance(part, PureDP):
            return None
        bound = _double(part.bound)
        if bound is None:
            return None
        if bound:
            rounds[bound] = rounds.get(bound, 0) + n
    asked = _double(delta)
    if asked is None or not 0 < asked < 1 or len(rounds) + len(failures) < 2:
        return None
    return few_rounds_epsilon(rounds, failures, asked)


def _double(number: object) -> float | None:
    """A plain double, or one that a whole number is; None for what knows decimals or fractions."""
    if type(number) is float:
        return number
    if type(number) is int and abs(number) <= _WHOLE:
        return float(number)
    return None
