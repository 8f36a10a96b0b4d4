"""Composition of guarantees, those of different kinds through the strongest form they share.

Statement
    Adaptive composition. Guarantees with known losses (pure, approximate, Gaussian, mechanisms)
    compose by summing the losses, which is tight for their worst cases. Guarantees known only
    through Rényi divergences add the divergences; a mixture of both kinds goes through Rényi
    divergences, with the failure probabilities of approximate guarantees kept apart.
Source
    Zhu, Dong and Wang 2022 (losses); Mironov 2017 (divergences).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.accounting.composition import (
    DeltaCurve,
    certain_delta,
    certain_epsilon,
    worst_delta,
    worst_epsilon,
)
from dpcalc.accounting.composition.neighbours import Neighbours, current_neighbours
from dpcalc.accounting.contour.shared import is_shared
from dpcalc.accounting.enclosure import Bracket, Search, current_search, relative_width
from dpcalc.accounting.gaussian import total_mu
from dpcalc.accounting.losses import RandomisedResponseLoss
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.claimed import ClaimedCurve
from dpcalc.guarantees.counted_parts import counted_part, shared_relation
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.mixed import MixedReleases, mixed
from dpcalc.guarantees.pure import ApproxDP, PureDP
from dpcalc.guarantees.pure_rounds import pure_rounds
from dpcalc.guarantees.renyi import ZCDP
from dpcalc.guarantees.through_renyi import concentrated, through_renyi
from dpcalc.guarantees.tradeoff import curve_below, curve_ends
from dpcalc.guarantees.two_valued import TWO_VALUED, few_rounds
from dpcalc.guarantees.worst import WorstOf
from dpcalc.numerals import at_most
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.kept import kept_within
from dpcalc.numerics.precise import any_of, mpf, round_up

if TYPE_CHECKING:
    from dpcalc.accounting.losses.density_pair import PrivacyLoss
    from dpcalc.guarantees.base import Directions
    from dpcalc.guarantees.tradeoff import Ends

_MOST_WAYS = 200


@own_arithmetic
def compose(*parts: Guarantee | tuple[Guarantee, int]) -> Guarantee:
    """The guarantee of releases that may each depend on those before.

    Example::

        import dpcalc
        print(dpcalc.compose((dpcalc.PureDP(0.1), 100), dpcalc.GDP(0.5)).epsilon(1e-6))

    Args:
        parts: guarantees, or pairs of one and how often it is used; all about the same neighbours.
            What says under which relation it holds (`Guarantee.under`, a theorem's bound, a
            mechanism that asks for one) says so of all.

    Returns:
        The guarantee of all of them together, each of which may be chosen in view of earlier
        releases as long as its own guarantee holds.

    Raises:
        InvalidInput: for anything else; if one of them is a mere claim, or known in a form that
            cannot be composed; or if they say that they hold under different relations.

    Source: composition of dominating pairs, Zhu, Dong and Wang 2022, theorem 10; of Gaussian
    trade-offs, Dong, Roth and Su 2022; of Rényi divergences, Mironov 2017.
    """
    counted = [counted_part(part) for part in parts]
    total, relation = _composed(_flattened(counted)), shared_relation(counted)
    return total.under(relation) if relation else total


def _composed(flat: list[tuple[Guarantee, int]]) -> Guarantee:
    if not flat:
        return PureDP(0.0)
    if len(flat) == 1 and flat[0][1] == 1 and not isinstance(flat[0][0], WorstOf):
        return flat[0][0]
    if all(isinstance(part, TWO_VALUED) for part, _ in flat):
        return Composition(tuple(flat))
    for k, (part, n) in enumerate(flat):
        if isinstance(part, WorstOf):
            return _over_cases(part, n, flat[:k] + flat[k + 1 :])
    if len(flat) == 1:
        rounds = flat[0][0].repeated(flat[0][1])
        if rounds is not None:
            return rounds
    if all(isinstance(part, GDP) for part, _ in flat):
        return GDP(total_mu((part.mu, n) for part, n in flat if isinstance(part, GDP)))
    known = [(part, n) for part, n in flat if isinstance(part, ZCDP | GDP)]
    with_losses = sum(part.losses() is not None for part, _ in flat)
    if len(known) == len(flat) and not with_losses:
        return concentrated(known)
    if with_losses == len(flat):
        return Composition(tuple(flat))
    return mixed(tuple(flat), Composition) if with_losses else through_renyi(flat)


def _over_cases(worst: WorstOf, count: int, rest: list[tuple[Guarantee, int]]) -> Guarantee:
    """The worst of all ways in which the releases can be of this or that case.

    Nothing says that the differing record sits at the same place in every release. Where the ways
    are too many, the divergences of the worst case at every order add up, which holds for each.
    """
    if math.comb(count + len(worst.cases) - 1, count) > _MOST_WAYS:
        return through_renyi([(worst, count), *rest])
    cases: list[tuple[int, Guarantee]] = []
    for way in combinations_with_replacement(worst.cases, count):
        used = Counter(guarantee for _, guarantee in way)
        cases.append((way[0][0], compose(*used.items(), *rest)))
    return WorstOf(tuple(cases))


@dataclass(frozen=True, slots=True)
class Composition(Guarantee):
    """Releases whose losses are all known, composed by summing the losses.

    Args:
        parts: guarantees with the number of releases each describes.
    """

    notion: ClassVar[str] = "composition"
    parts: tuple[tuple[Guarantee, int], ...]

    def epsilon(self, delta: float) -> float:
        """The upper end of `bracket`; at δ = 0 the sum of the parts' own ε."""
        return self.bracket(delta).upper

    def bracket(self, delta: float) -> Bracket:
        """An enclosure of the smallest ε that holds for the worst case of the parts."""
        few = few_rounds(self.parts, delta)
        if few is not None:
            return few
        meant, pure = checks.delta(delta), pure_rounds(self.parts)
        delta = at_most(meant)
        if pure is not None and delta > 0:
            return pure.epsilon(meant)
        if delta == 0:
            total = mpf(0)
            for part, n in self.parts:
                each = part.epsilon(0.0)
                total += mpf(each) * n if math.isfinite(each) else mpf("inf")
            upper = round_up(total)
            lower = pure.epsilon(0.0).lower if pure else certain_epsilon(self.losses() or ())
            return Bracket(min(lower, upper), upper, "plain sum")
        width = relative_width(len(self.parts))
        found = _cached_epsilon(
            self, delta, width, current_search(), current_neighbours(), is_shared()
        )
        simple = self._plain_sum()
        if simple is not None and mpf(meant) >= mpf(simple.failure) and simple.bound < found.upper:
            return Bracket(min(found.lower, simple.bound), simple.bound, "plain sum")
        return found

    def delta(self, epsilon: float) -> float:
        """The upper end of the enclosure of δ(ε)."""
        return self.delta_bracket(epsilon).upper

    def delta_bracket(self, epsilon: float) -> Bracket:
        """An enclosure of the smallest δ that holds for the worst case of the parts."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        if epsilon == math.inf:
            return Bracket(0.0, 0.0, "plain sum")
        pure = pure_rounds(self.parts)
        if pure is not None:
            return pure.delta(epsilon)
        return worst_delta(self.losses() or (), at_most(epsilon))

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """Upper bounds of δ at several ε, to four digits; one contour serves many of them."""
        asked = [at_most(checks.non_negative_or_infinite("epsilon", e)) for e in epsilons]
        finite = sorted({e for e in asked if e < math.inf})
        ends = self._delta_ends()(finite) if finite else []
        known = {epsilon: high for epsilon, (_, high) in zip(finite, ends, strict=True)}
        return tuple(known.get(e, 0.0) for e in asked)

    def tradeoff(self, false_positive_rate: float) -> float:
        """A lower bound of any attack's false-negative rate at a false-positive rate."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The same at several rates, from the upper bounds of δ at some hundred ε."""
        return curve_below(self, self._delta_ends(), false_positive_rates)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the trade-off curve of the worst case of the parts, at several rates.

        It is the largest convex and symmetric one below those of all dominating pairs and orders.
        """
        ends, certain = self._delta_ends(both=True), certain_delta(self.losses() or ())
        return curve_ends(self, ends, false_positive_rates, certain)

    def _delta_ends(self, *, both: bool = False) -> Callable[[Sequence[float]], list[Ends]]:
        """Bounds of δ at finite ε, from sums that are made once."""
        pure = pure_rounds(self.parts)
        if pure is None:
            return DeltaCurve.of(self.losses() or (), both=both).ends
        return lambda epsilons: [(d.lower, d.upper) for d in pure.deltas(epsilons)]

    def parameters(self) -> Mapping[str, float]:
        """How many releases were composed."""
        return {"releases": float(sum(n for _, n in self.parts))}

    def renyi(self, order: float) -> float:
        """The sum of the parts' divergences."""
        checks.above_one("order", order)
        return math.fsum(part.renyi(order) * n for part, n in self.parts) * (1 + 1e-15)

    def losses(self) -> Directions | None:
        """All the parts' losses."""
        known = [(part.losses(), n) for part, n in self.parts]
        width = max((len(directions or ()) for directions, _ in known), default=1)
        return tuple(tuple(_merged(known, d)) for d in range(width))

    def _plain_sum(self) -> ApproxDP | None:
        """Largest losses and failure probabilities added up, where all parts say both."""
        total = mpf(0)
        failing: list[tuple[float, int]] = []
        for part, n in self.parts:
            largest = part.bound if isinstance(part, ApproxDP) else part.epsilon(0.0)
            if math.isinf(largest):
                return None
            total += mpf(largest) * n
            if isinstance(part, ApproxDP) and part.failure > 0:
                failing.append((part.failure, n))
        alone = [failure for failure, n in failing if len(failing) == n == 1]
        return ApproxDP(round_up(total), *(alone or [round_up(any_of(failing))]))


@kept_within(2**26)
def _cached_epsilon(
    composition: Composition,
    delta: float,
    width: float,
    search: Search | None,
    neighbours: Neighbours | None,
    shared: bool,
) -> Bracket:
    """What a search settles for is its own, and what a line of questions helped with or shares."""
    del search, neighbours, shared
    return worst_epsilon(composition.losses() or (), delta, relative_width=width)


def _merged(
    known: Sequence[tuple[Directions | None, int]], direction: int
) -> list[tuple[PrivacyLoss, int]]:
    """The losses of one direction, rounds of randomised response gathered into one law."""
    found: list[tuple[PrivacyLoss, int]] = []
    rounds: dict[float, int] = {}
    for directions, n in known:
        for loss, k in (directions or ((),))[min(direction, len(directions or ((),)) - 1)]:
            if isinstance(loss, RandomisedResponseLoss):
                for epsilon, count in zip(loss.epsilons, loss.counts, strict=True):
                    rounds[epsilon] = rounds.get(epsilon, 0) + count * k * n
            else:
                found.append((loss, k * n))
    if rounds:
        found.append((RandomisedResponseLoss.of(rounds), 1))
    return found


def _flattened(parts: Iterable[tuple[Guarantee, int]]) -> list[tuple[Guarantee, int]]:
    """Parts with equal guarantees added up and compositions opened."""
    counts: dict[Guarantee, int] = {}
    for part, n in parts:
        if isinstance(part, ClaimedCurve):
            raise InvalidInput(
                "a certified guarantee is needed for composition; got a paper's claim; "
                "try the theorem's certified() guarantee"
            )
        inner = part.parts if isinstance(part, Composition | MixedReleases) else ((part, 1),)
        for guarantee, k in inner:
            if n:
                counts[guarantee] = counts.get(guarantee, 0) + k * n
    return list(counts.items())
