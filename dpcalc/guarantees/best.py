"""Several guarantees of one release that all hold: every answer is the best of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.accounting.enclosure import Bracket, relative_width, with_relative_width
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.best_count import question
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.tradeoff_ends import largest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcalc.guarantees.base import Directions

_COARSE = 0.1
"""Relative width that tells whether a bound may be the smallest."""


@dataclass(frozen=True, slots=True)
class BestOf(Guarantee):
    """What follows from several bounds that were proved for the same release.

    Args:
        bounds: at least one; the first that knows its losses is the one that composes.
    """

    notion: ClassVar[str] = "best of several"
    bounds: tuple[Guarantee, ...]

    def epsilon(self, delta: float) -> float:
        """The smallest of the bounds'."""
        return self.bracket(delta).upper

    def bracket(self, delta: float) -> Bracket:
        """An enclosure of the smallest of the bounds' exact ε."""
        return _smallest([question(bound, "bracket", delta) for bound in self.bounds])

    def delta(self, epsilon: float) -> float:
        """The smallest of the bounds'."""
        return self.delta_bracket(epsilon).upper

    def delta_bracket(self, epsilon: float) -> Bracket:
        """An enclosure of the smallest of the bounds' exact δ."""
        return _smallest([question(bound, "delta_bracket", epsilon) for bound in self.bounds])

    def renyi(self, order: float) -> float:
        """The smallest of the bounds'."""
        return min(bound.renyi(order) for bound in self.bounds)

    def tradeoff(self, false_positive_rate: float) -> float:
        """The largest of the bounds'."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The largest of the bounds' at each rate."""
        each = [bound.tradeoffs(false_positive_rates) for bound in self.bounds]
        return tuple(max(at) for at in zip(*each, strict=True))

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The largest ends of the bounds'."""
        each = [bound.tradeoff_brackets(false_positive_rates) for bound in self.bounds]
        return tuple(largest(at) for at in zip(*each, strict=True))

    def parameters(self) -> Mapping[str, float]:
        """How many bounds there are."""
        return {"bounds": float(len(self.bounds))}

    def losses(self) -> Directions | None:
        """Those of the first bound that knows its own."""
        known = (bound.losses() for bound in self.bounds)
        return next((losses for losses in known if losses is not None), None)

    def closed_group(self, size: int) -> BestOf:
        """Every bound for the group."""
        bounds = tuple(group(bound, size) for bound in self.bounds)
        return BestOf(bounds)


def _smallest(questions: Sequence[Callable[[], Bracket]]) -> Bracket:
    """The enclosure of the least: a bound that is surely larger is enclosed coarsely only."""
    first, *rest = questions
    found = [first()]
    for enclosed in rest:
        with with_relative_width(max(_COARSE, relative_width())):
            coarse = enclosed()
        larger = coarse.lower > min(bracket.upper for bracket in found)
        narrow = coarse.relative_width <= relative_width()
        found.append(coarse if larger or narrow else enclosed())
    best = min(found, key=lambda bracket: bracket.upper)
    return Bracket(min(bracket.lower for bracket in found), best.upper, best.method)
