"""Guarantees whose worst loss has two values next to a failure, composed where they are few."""

from __future__ import annotations

from collections.abc import Sequence

from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.pure.few_rounds import few_rounds_epsilon
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.pure import ApproxDP, PureDP

TWO_VALUED = (ApproxDP, PureDP)


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
            if type(part.failure) is not float or part.failure >= 1:
                return None
            if part.failure:
                failures[part.failure] = failures.get(part.failure, 0) + n
        elif not isinstance(part, PureDP):
            return None
        if type(part.bound) is not float:
            return None
        if part.bound:
            rounds[part.bound] = rounds.get(part.bound, 0) + n
    if type(delta) is not float or not 0 < delta < 1 or len(rounds) + len(failures) < 2:
        return None
    return few_rounds_epsilon(rounds, failures, delta)
