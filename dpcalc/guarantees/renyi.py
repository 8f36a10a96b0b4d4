"""Rényi and zero-concentrated differential privacy."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.errors import InvalidInput, shortened
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.one_order import NEXT_TO_ONE, advantage_of, delta_of, epsilon_of
from dpcalc.guarantees.tradeoff_ends import below_chance, missed_at_least
from dpcalc.guarantees.two_outcomes import (
    about_concentrated,
    concentrated,
    covered_at,
    covered_from,
    least_missed,
    searched_order,
)
from dpcalc.numerals import at_least, at_most
from dpcalc.numerics.precise import (
    context,
    mpf,
    normal_cdf,
    normal_quantile,
    round_up,
)
from dpcalc.numerics.search import minimise

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket


class RenyiGuarantee(Guarantee):
    """A guarantee stated by Rényi divergences, turned into (ε, δ) at the best order.

    Source: Canonne, Kamath and Steinke 2020, proposition 12:
    ``δ <= exp((α-1)(β - ε)) (1 - 1/α)^α / (α - 1)``, hence
    ``ε = β + ln((α-1)/α) - (ln δ + ln α)/(α-1)``, never below 0.
    Rounding: every order gives a valid bound, so the search over orders may be sloppy; the formula
    at the chosen order is evaluated with sixty digits and rounded up.
    """

    __slots__ = ()

    @abstractmethod
    def renyi(self, order: float) -> float:
        """An upper bound of the Rényi divergence of an order above 1."""

    def searched_orders(self) -> tuple[float, float]:
        """ln(α-1) between which a best order is searched."""
        return math.log(1e-9), math.log(1e12)

    def epsilon(self, delta: float) -> float:
        """The conversion at the best order found; infinite at δ = 0 unless β(∞) is finite."""
        delta = at_most(checks.delta(delta))
        if delta == 0:
            limit = self.renyi(1e15)
            return 0.0 if limit == 0 else math.inf
        log_delta = math.log(delta)

        def at(log_excess: float) -> float:
            excess = math.exp(log_excess)
            beta = self.renyi(1 + excess)
            return beta - math.log1p(1 / excess) - (log_delta + math.log1p(excess)) / excess

        best, _ = minimise(at, *self.searched_orders())
        return min(self._epsilon_at(1 + math.exp(best), delta), self._kullback_epsilon(delta))

    def _epsilon_at(self, order: float, delta: float) -> float:
        return epsilon_of(self.renyi(order), order, delta)

    def _kullback_epsilon(self, delta: float) -> float:
        """0 if Pinsker's inequality already gives δ(0) <= δ."""
        return 0.0 if self._pinsker() <= delta else math.inf

    def _pinsker(self) -> float:
        """δ(0) <= √(KL/2), the divergence bounded by that of an order just above 1."""
        return advantage_of(self.renyi(NEXT_TO_ONE))

    def delta(self, epsilon: float) -> float:
        """The conversion at the best order found, at most 1."""
        epsilon = at_most(checks.non_negative_or_infinite("epsilon", epsilon))
        if epsilon == math.inf:
            return 0.0

        def at(log_excess: float) -> float:
            excess = math.exp(log_excess)
            beta = self.renyi(1 + excess)
            return excess * (beta - epsilon - math.log1p(1 / excess)) - math.log1p(excess)

        best, _ = minimise(at, *self.searched_orders())
        order = 1 + math.exp(best)
        return min(delta_of(self.renyi(order), order, epsilon), self._pinsker())

    def tradeoff(self, false_positive_rate: float) -> float:
        """What the worst mechanism with two outcomes misses, see `dpcalc.guarantees.two_outcomes`."""
        rate = checks.probability("false_positive_rate", false_positive_rate)
        if rate == 1:
            return 0.0
        if rate == 0:  # what has a finite divergence happens under both neighbours
            return float(
                any(math.isfinite(self.renyi(order)) for order in self._telling_orders(0.5))
            )
        apart = missed_at_least(1 - mpf(rate) - mpf(self._pinsker()), mpf(rate))
        return max(apart, least_missed(self.renyi, self._telling_orders(rate), rate))

    def _telling_orders(self, rate: float) -> tuple[float, ...]:
        """Some orders that say much about a rate of false alarms."""
        return (searched_order(self.renyi, *self.searched_orders(), rate),)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the least that a test misses, of all releases with these divergences."""
        guessed = below_chance(self.tradeoffs(false_positive_rates), false_positive_rates)
        each = zip(guessed, false_positive_rates, strict=True)
        return tuple(self._enclosed(chance, rate) for chance, rate in each)

    def _enclosed(self, chance: Bracket, rate: float) -> Bracket:
        most = self._covered(chance.lower, rate) if 0 < rate < 1 else 1.0
        if chance.lower == chance.upper or most >= chance.upper:
            return chance
        return chance.narrowed(0.0, most).named("two outcomes")

    def _covered(self, missed: float, rate: float) -> float:
        """A false-negative rate, near one, that a release with these divergences has; else 1."""
        del missed, rate
        return 1.0


@dataclass(frozen=True, slots=True)
class ZCDP(RenyiGuarantee):
    """ρ-zero-concentrated differential privacy: Rényi divergence at most αρ at every order α > 1.

    Source: Bun and Steinke 2016.

    Example::

        from dpcalc import ZCDP
        print(ZCDP(0.5).epsilon(1e-5))

    Args:
        rho: 0 or above.
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    notion: ClassVar[str] = "zcdp"
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checks.non_negative_or_infinite("rho", self.rho))

    def renyi(self, order: float) -> float:
        """αρ."""
        checks.above_one("order", order)
        return round_up(mpf(order) * mpf(self.rho)) if math.isfinite(self.rho) else math.inf

    def parameters(self) -> Mapping[str, float]:
        """ρ."""
        return {"rho": self.rho}

    def _covered(self, missed: float, rate: float) -> float:
        """That of Gaussian noise, or of two outcomes that surely are so."""
        if self.rho in (0.0, math.inf):
            return 1.0 if self.rho == 0 else 0.0
        mu = context().sqrt(2 * mpf(self.rho))
        gaussian = round_up(normal_cdf(-normal_quantile(mpf(rate)) - mu * (1 - mpf("1e-50"))))
        near = about_concentrated(self.rho, missed, rate)
        covers = partial(concentrated, self.rho, rate=rate)
        return min(gaussian, covered_from(covers, near, rate))

    def closed_group(self, size: int) -> ZCDP:
        """ρ grows with the square of the group's size."""
        rho = round_up(mpf(self.rho) * size**2) if math.isfinite(self.rho) else self.rho
        return ZCDP(rho)


@dataclass(frozen=True, slots=True)
class RDP(RenyiGuarantee):
    """Rényi differential privacy: a curve of divergences over real orders above 1.

    Example::

        from dpcalc import RDP
        print(RDP.from_points({2: 0.1, 16: 1}).epsilon(1e-5))

    Args:
        curve: order -> upper bound of the divergence; may be infinite.
        described: what the curve is, for reports.
        points: the pairs (order, divergence) the curve was made from, if any.
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    notion: ClassVar[str] = "rdp"
    curve: Callable[[float], float] = field(repr=False)
    described: str = "curve"
    points: tuple[tuple[float, float], ...] = field(default=())

    def __post_init__(self) -> None:
        curve: object = self.curve
        if not callable(curve):
            got = shortened(repr(curve))
            raise InvalidInput(f"RDP needs a function of the order; got {got}; try RDP.from_points")

    @classmethod
    def from_points(cls, points: Mapping[float, float]) -> RDP:
        """The curve known at finitely many orders.

        Between two of them (α-1)β(α) is convex, hence below its chord; below the first, β is at
        most that of the first, since divergences increase with the order; beyond the last it is
        unknown.

        Args:
            points: order above 1 -> divergence, 0 or above.
        """
        if not points or not isinstance(points, Mapping):
            raise InvalidInput(
                f"RDP needs at least one order with its divergence; got {points!r}; try {{2: 0.1}}"
            )
        pairs = tuple(sorted(_point(order, beta) for order, beta in points.items()))
        return cls(_Chords(pairs), f"{len(pairs)} orders", pairs)

    def renyi(self, order: float) -> float:
        """The curve at an order."""
        checks.above_one("order", order)
        return self.curve(order)

    def parameters(self) -> Mapping[str, float]:
        """The points the curve was made from, as ``divergence at order``."""
        return {f"divergence at order {order:g}": beta for order, beta in self.points}

    def epsilon(self, delta: float) -> float:
        """The conversion at the best order, the given ones among them."""
        searched = RenyiGuarantee.epsilon(self, delta)
        if delta == 0:
            return searched
        return min([searched, *(self._epsilon_at(order, delta) for order, _ in self.points)])

    def _telling_orders(self, rate: float) -> tuple[float, ...]:
        """The orders given say all there is."""
        given = tuple(order for order, _ in self.points)
        return given or (searched_order(self.renyi, *self.searched_orders(), rate),)

    def _covered(self, missed: float, rate: float) -> float:
        """That of two outcomes which surely have the divergences given."""
        if not self.points:
            return 1.0
        return covered_from(partial(covered_at, self.points, rate=rate), missed, rate)

    def searched_orders(self) -> tuple[float, float]:
        """Up to the largest order given, beyond which nothing is known."""
        if not self.points:
            return RenyiGuarantee.searched_orders(self)
        return math.log(1e-9), math.log(self.points[-1][0] - 1)


def _point(order: float, divergence: float) -> tuple[float, float]:
    """Both as doubles on the safe side: divergences increase with the order."""
    order = checks.above_one("order", at_most(checks.above_one("order", order)))
    name = f"divergence at order {order}"
    return order, at_least(checks.non_negative_or_infinite(name, divergence))


@dataclass(frozen=True, slots=True)
class _Chords:
    """The chords of (α-1)β(α) between points; two that join the same points are equal."""

    pairs: tuple[tuple[float, float], ...]

    def __call__(self, order: float) -> float:
        k = bisect_left(self.pairs, order, key=itemgetter(0))
        if k == len(self.pairs):
            return math.inf
        right_order, right = self.pairs[k]
        if k == 0 or order == right_order or not math.isfinite(right):
            return right
        left_order, left = self.pairs[k - 1]
        a, b = mpf(left_order) - 1, mpf(right_order) - 1
        x = mpf(order) - 1
        chord = (a * left * (b - x) + b * right * (x - a)) / (b - a)
        return round_up(chord / x)
