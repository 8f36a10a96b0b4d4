"""Ends of trade-off curves that are known otherwise than by lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket
from dpcalc.numerics.precise import Real, mpf, round_down, round_up


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


def in_closed_form(curve: Callable[[Real], Real], rates: Sequence[float]) -> tuple[Bracket, ...]:
    """A curve with sixty digits, rounded down and up."""
    missed = [curve(mpf(checks.probability("false_positive_rate", rate))) for rate in rates]
    return tuple(
        Bracket(max(0.0, round_down(y)), max(0.0, round_up(y)), "closed form") for y in missed
    )
