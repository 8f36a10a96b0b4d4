"""A release whose worst cases are known as pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpcalc import checks
from dpcalc.accounting.renyi import renyi_divergence
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees.base import Guarantee

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.guarantees.base import Directions


@dataclass(frozen=True, slots=True, repr=False)
class DominatedMechanism(Guarantee):
    """A release that is dominated by known pairs, one for each direction.

    Args:
        directions: losses with their numbers of rounds; one direction if it is symmetric.
        described: what it is, for reports.
        largest: ε at δ = 0; infinite where the loss is unbounded, or not known to be bounded.
        attained: whether the pairs are those of some mechanism that is covered, in every number of
            rounds; if not, no mechanism need reach what the pairs do.
        typed: the mechanism's own parameters as they were given, for certificates; the pairs have
            the neighbouring doubles on the safe side.
    """

    notion: ClassVar[str] = "privacy loss"
    directions: Directions
    described: str
    largest: float = math.inf
    attained: bool = True
    typed: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"DominatedMechanism({self.described})"

    def epsilon(self, delta: float) -> float:
        """The upper end of `bracket`."""
        return self.bracket(delta).upper

    def bracket(self, delta: float) -> Bracket:
        """An enclosure of ε(δ) of the dominating pair."""
        from dpcalc.accounting.composition import certain_epsilon
        from dpcalc.accounting.enclosure import Bracket
        from dpcalc.guarantees.composition import Composition

        if checks.delta(delta) == 0:
            lower = min(certain_epsilon(self.directions), self.largest)
            return Bracket(lower, self.largest, "largest loss")
        try:
            found = Composition(((self, 1),)).bracket(delta)
        except NumericalFailure:
            if self.largest == math.inf:
                raise
            return Bracket(0.0, self.largest, "weaker: largest loss")
        return found.narrowed(0.0, self.largest)

    def delta(self, epsilon: float) -> float:
        """The upper end of `delta_bracket`."""
        return self.delta_bracket(epsilon).upper

    def delta_bracket(self, epsilon: float) -> Bracket:
        """An enclosure of δ(ε) of the dominating pair."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).delta_bracket(epsilon)

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """Upper bounds of δ at several ε, to four digits; one contour serves many of them."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).deltas(epsilons)

    def tradeoff(self, false_positive_rate: float) -> float:
        """A lower bound of any attack's false-negative rate at a false-positive rate."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The same at several rates."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).tradeoffs(false_positive_rates)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the trade-off curve of the dominating pair; see `Composition`."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).tradeoff_brackets(false_positive_rates)

    def parameters(self) -> Mapping[str, float]:
        """None: the pair is a pair of functions."""
        return {}

    def losses(self) -> Directions:
        """The pairs."""
        return self.directions

    def renyi(self, order: float) -> float:
        """The larger divergence of the two directions; infinite if an infinite loss is possible."""
        checks.above_one("order", order)
        return max(renyi_divergence(losses, order) for losses in self.directions)
