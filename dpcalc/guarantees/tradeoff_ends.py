"""Ends of trade-off curves that are known otherwise than by lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket
from dpcalc.numerics.precise import Real, mpf, round_down, round_up

_BELOW_ONE = math.nextafter(1.0, 0.0)


class Reaching(Protocol):
    """Says how far ε matters."""

    def epsilon(self, delta: float) -> float:
        """ε at a δ."""

    def delta(self, epsilon: float) -> float:
        """δ at an ε."""


def below_chance(lower: Sequence[float], rates: Sequence[float]) -> tuple[Bracket, ...]:
    """Lower ends, and above them what guessing misses: nothing more is known."""
    method = "lower end; above it 1 - fpr alone"
    return tuple(
        Bracket(low, max(low, round_up(1 - mpf(rate))), method)
        for low, rate in zip(lower, rates, strict=True)
    )


def smallest(found: Sequence[Bracket]) -> Bracket:
    """Of curves of which some holds, unknown which: the least of either end."""
    least = min(found, key=lambda bracket: bracket.upper)
    return Bracket(min(bracket.lower for bracket in found), least.upper, least.method)


def largest(found: Sequence[Bracket]) -> Bracket:
    """Of curves that all hold: the largest of either end."""
    most = max(found, key=lambda bracket: bracket.upper)
    return Bracket(max(bracket.lower for bracket in found), most.upper, most.method)


def in_closed_form(
    curve: Callable[[Real], Real], rates: Sequence[float], failure: float = 0.0
) -> tuple[Bracket, ...]:
    """A curve with sixty digits, rounded down and up; ``failure`` as in `missed_at_least`."""
    found = []
    for each in rates:
        rate = mpf(checks.probability("false_positive_rate", each))
        missed = curve(rate)
        low = missed_at_least(missed, rate, failure)
        found.append(Bracket(low, max(0.0, round_up(missed)), "closed form"))
    return tuple(found)


def missed_at_least(missed: Real, rate: Real, failure: float = 0.0) -> float:
    """A false-negative rate known to sixty digits, rounded down.

    No test misses all where it gives false alarms, or where what is released may tell all: sixty
    digits do not hold what is missing to 1 then.

    Args:
        missed: the rate.
        rate: of false alarms.
        failure: a probability with which all is told.
    """
    low = max(0.0, round_down(missed))
    return min(low, _BELOW_ONE) if rate > 0 or failure > 0 else low
