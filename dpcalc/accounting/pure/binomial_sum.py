"""Optimal composition of pure and approximate differential privacy.

Statement
    Every ε-DP mechanism is dominated by randomised response: P = (p, 1-p), Q = (1-p, p) with
    p = e^ε/(1+e^ε). The composition of rounds with parameters ε_1..ε_T is therefore (ε, δ)-DP for the
    profile of the product of these pairs, and no smaller one holds for all such mechanisms.
Source
    Kairouz, Oh and Viswanath 2015 (equal rounds); Murtagh and Vadhan 2016 (different rounds).
Rounding
    Equal rounds: binomial terms from one sixty-digit anchor by extended-precision recurrence, all
    sums of positive terms, inflated by their error bound. Different rounds: the enclosure of
    `dpcalc.accounting.composition`. Rounds too many for either: a weaker bound that says so.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from dpcalc import checks
from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.enclosure import Bracket, relative_width
from dpcalc.accounting.losses import RandomisedResponseLoss, Reals
from dpcalc.accounting.pure.chernoff import delta_by_chernoff, epsilon_by_chernoff
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.numerics.rounding import Extended, enclose_all

_METHOD_EQUAL = "optimal composition, binomial sum"
_METHOD_SUM = "plain sum"
_CERTAIN = 700.0  # a round with a larger ε reveals all but for e^{-700}

_REVEALING = 1e6
_AT_ONCE = 500_000
"""Numbers in one table of terms by ε."""

_MOST_TERMS = 1_000_000
_MOST_ROUNDS = 2**50


def pure_epsilon(rounds: Mapping[float, int], delta: float) -> Bracket:
    """The smallest ε for which rounds of pure differential privacy compose to (ε, δ)-DP.

    Args:
        rounds: ε of a round -> number of such rounds.
        delta: in [0, 1); 0 gives the sum.
    """
    checks.delta(delta)
    positive = tuple((e, n) for e, n in rounds.items() if e > 0 and n > 0)
    return _epsilon(positive, delta, relative_width())


@lru_cache(maxsize=256)
def _epsilon(rounds: tuple[tuple[float, int], ...], delta: float, width: float) -> Bracket:
    """The enclosure aimed at a relative width, which is that of the caller's context."""
    parts = dict(rounds)
    total = _sum(parts)
    if delta == 0 or not parts:
        return Bracket(_sum(parts, round_down), total, _METHOD_SUM)
    if math.inf in parts:
        return Bracket(math.inf, math.inf, _METHOD_SUM)
    if total / 2 <= delta:  # the total variation of ε-DP is tanh(ε/2) at most, and adds up
        return Bracket(0.0, 0.0, "total variation")
    small = _without_revealing(parts)
    if len(small) < len(parts):
        rest = _epsilon(tuple(small.items()), delta, width)
        spent = _sum({e: n for e, n in parts.items() if e not in small})
        upper = min(total, round_up(mpf(spent) + mpf(rest.upper)))
        return Bracket(min(rest.lower, upper), upper, f"plain sum of the largest; {rest.method}")
    if _too_many(parts, -math.log(delta)):
        found = epsilon_by_chernoff(parts, delta)
        if found.upper >= total:
            return Bracket(min(found.lower, total), total, _METHOD_SUM)
        return found
    if len(parts) == 1:
        ((epsilon, count),) = parts.items()
        found = _Binomial(epsilon, count, -math.log(delta)).epsilon(delta)
        return Bracket(found.lower, min(found.upper, total), found.method)
    law = RandomisedResponseLoss.of(parts)
    found = bracket_epsilon([(law, 1)], delta)
    if found.upper >= total:
        return Bracket(min(found.lower, total), total, _METHOD_SUM)
    # The law of all rounds is one law to the engine, whose outcomes are those of all rounds.
    method = found.method.replace("single round, sum over its outcomes", "sum over all outcomes")
    return Bracket(found.lower, found.upper, method)


def pure_delta(rounds: Mapping[float, int], epsilon: float) -> Bracket:
    """δ(ε) of composed rounds of pure differential privacy; arguments as for `pure_epsilon`."""
    checks.non_negative_or_infinite("epsilon", epsilon)
    parts = {e: n for e, n in rounds.items() if e > 0 and n > 0}
    if not parts or epsilon >= _sum(parts):
        return Bracket(0.0, 0.0, _METHOD_SUM)
    if math.inf in parts:
        return Bracket(1.0, 1.0, _METHOD_SUM)
    small = _without_revealing(parts)
    if len(small) < len(parts):
        left = epsilon - _sum({e: n for e, n in parts.items() if e not in small})
        if left < 0:
            return Bracket(0.0, 1.0, _METHOD_SUM)
        return Bracket(0.0, pure_delta(small, math.nextafter(left, 0.0)).upper, _METHOD_SUM)
    depth = 2 * epsilon + 50
    if _too_many(parts, depth):
        weaker = delta_by_chernoff(parts, epsilon)
        depth = 50 - math.log(weaker.upper)
        if _too_many(parts, depth):
            return weaker
    if len(parts) == 1:
        ((single, count),) = parts.items()
        return _Binomial(single, count, depth).delta(epsilon)
    law = RandomisedResponseLoss.of(parts)
    alone = law.delta(epsilon)
    if alone is not None:
        return Bracket(alone[0], min(alone[1], 1.0), "sum over all outcomes")
    return bracket_delta([(law, 1)], epsilon)


def pure_deltas(rounds: Mapping[float, int], epsilons: Sequence[float]) -> list[Bracket]:
    """`pure_delta` at several ε; equal rounds are summed once for all."""
    parts = {e: n for e, n in rounds.items() if e > 0 and n > 0}
    total = _sum(parts)
    depth = 2 * max((e for e in epsilons if e < total), default=0.0) + 50
    if len(parts) != 1 or math.inf in parts or _too_many(parts, depth):
        return [pure_delta(rounds, epsilon) for epsilon in epsilons]
    ((single, count),) = parts.items()
    inside = [epsilon for epsilon in epsilons if epsilon < total]
    found = dict(zip(inside, _Binomial(single, count, depth).deltas(inside), strict=True))
    nothing = Bracket(0.0, 0.0, _METHOD_SUM)
    return [found.get(epsilon, nothing) for epsilon in epsilons]


def _sum(parts: Mapping[float, int], rounded: Callable[[Real], float] = round_up) -> float:
    total = mpf(0)
    for epsilon, count in parts.items():
        total += mpf(epsilon) * count
    return rounded(total)


def _without_revealing(parts: Mapping[float, int]) -> dict[float, int]:
    """The rounds that hide something: adding up ε is exact enough for the others.

    Equal rounds, unless they are too many, are summed exactly and stay.
    """
    if len(parts) == 1 and sum(parts.values()) <= _MOST_ROUNDS:
        return dict(parts)
    return {epsilon: count for epsilon, count in parts.items() if epsilon <= _REVEALING}


def _too_many(parts: Mapping[float, int], depth: float) -> bool:
    """Whether there are more terms, or more rounds, than the sums below can hold."""
    if sum(parts.values()) > _MOST_ROUNDS:
        return True
    if len(parts) > 1:
        return False
    ((epsilon, count),) = parts.items()
    return epsilon <= _CERTAIN and min(count, _reach(epsilon, count, depth)) > _MOST_TERMS


def _reach(epsilon: float, count: int, depth: float) -> float:
    """How many terms on either side of the mean matter next to e^{-depth}."""
    p = 1 / (1 + math.exp(-epsilon))
    return math.sqrt(2 * (depth + 60) * count * p * (1 - p)) + depth + 100


class _Binomial:
    """δ(ε) = Σ_{(2k-n)ε₀ > ε} P(K = k)(1 - e^{ε-(2k-n)ε₀}) for K binomial(n, e^{ε₀}/(1+e^{ε₀})).

    Terms are kept from ``first`` up to where what is beyond is negligible next to e^{-depth}.
    """

    def __init__(self, epsilon_0: float, count: int, depth: float) -> None:
        self._epsilon_0, self._count = epsilon_0, count
        p, rare = 1 / (1 + math.exp(-epsilon_0)), math.exp(-epsilon_0)
        reach = int(_reach(epsilon_0, count, depth))
        anchor = min(count, int(count * p))
        self._first, last = max(0, anchor - reach), min(count, anchor + reach)
        # Everything left of the window is less likely than e^{-depth-60} and counts for the upper.
        before = math.exp(-depth - 50)
        if epsilon_0 > _CERTAIN:
            self._first, before = count, count * rare
        k = np.arange(self._first, last + 1).astype(Extended)
        odds = np.exp(Extended(min(epsilon_0, _CERTAIN)))
        growth = (count - k[:-1]) / (k[:-1] + 1) * odds  # P(k+1)/P(k)
        right = np.cumprod(growth[anchor - self._first :])
        left = np.cumprod(1 / growth[: anchor - self._first][::-1])[::-1]
        self._terms = np.concatenate([left, np.ones(1, Extended), right])
        self._terms *= np.exp(self._log_probability(anchor))
        self._losses = (2 * k - count) * Extended(epsilon_0)
        decline = (count - k[-1]) / (k[-1] + 1) * odds
        self._beyond = self._terms[-1] * decline / (1 - decline) if last < count else Extended(0)
        self._before = Extended(before) if self._first > 0 else Extended(0)
        self._operations = 16 * len(k) + 64

    def delta(self, epsilon: float) -> Bracket:
        """An enclosure of δ(ε)."""
        return self.deltas([epsilon])[0]

    def deltas(self, epsilons: Sequence[float]) -> list[Bracket]:
        """Enclosures of δ at several ε."""
        together = max(_AT_ONCE // len(self._losses), 1)
        pieces = [
            self._ends(np.array(epsilons[k : k + together]))
            for k in range(0, len(epsilons), together)
        ]
        return [
            Bracket(low, min(1.0, high), _METHOD_EQUAL)
            for lows, highs in pieces
            for low, high in zip(lows.tolist(), highs.tolist(), strict=True)
        ]

    def _ends(self, epsilons: Reals) -> tuple[Reals, Reals]:
        at = epsilons.astype(Extended)[:, None]
        start = int(np.searchsorted(self._losses, at.min(), side="right"))
        gap = np.maximum(self._losses[start:] - at, 0)
        value = (self._terms[start:] * -np.expm1(-gap)).sum(axis=1)
        # A loss is rounded once; where ε is next to it, that is all there is.
        slip = np.finfo(Extended).eps * max(abs(self._losses[0]), abs(self._losses[-1]))
        near = np.searchsorted(self._losses, at[:, 0] - slip)
        mass = np.append(np.cumsum(self._terms[near.min() :][::-1])[::-1], Extended(0))
        shift = slip * mass[near - near.min()]
        beyond = shift + self._beyond + np.where(near == 0, self._before, Extended(0))
        low, high = enclose_all(value, value + beyond, self._operations)
        slipped = enclose_all(shift, shift, self._operations)[1]
        return np.maximum(low - slipped, 0.0), high

    def epsilon(self, delta: float) -> Bracket:
        """An enclosure of the smallest ε with δ(ε) <= ``delta``, to a few doubles."""
        guess = self._crossing(delta)
        lower = _step(guess, -1, lambda e: self.delta(e).lower > delta)
        upper = _step(guess, 1, lambda e: self.delta(e).upper <= delta)
        return Bracket(lower, upper, _METHOD_EQUAL)

    def _crossing(self, delta: float) -> float:
        """ε with δ(ε) = ``delta`` up to rounding: between atoms δ(ε) = A - e^{ε-L} B."""

        def at_atom(k: int) -> float:
            gaps = self._losses[k:] - self._losses[k]
            return float((self._terms[k:] * -np.expm1(-gaps)).sum())

        k = bisect_left(range(len(self._terms) - 1), True, key=lambda k: at_atom(k) <= delta)
        terms, gaps = self._terms[k:], self._losses[k:] - self._losses[k]
        inside = (terms.sum() - delta) / (terms * np.exp(-gaps)).sum()
        return max(float(self._losses[k] + np.log(inside)), 0.0) if inside > 0 else 0.0

    def _log_probability(self, k: int) -> np.longdouble:
        """Ln P(K = k), from sixty digits."""
        ctx, n = context(), self._count
        exact = ctx.loggamma(n + 1) - ctx.loggamma(k + 1) - ctx.loggamma(n - k + 1)
        eps = mpf(self._epsilon_0)
        exact += k * eps - n * ctx.log1p(ctx.exp(eps))
        head = float(exact)
        return Extended(head) + Extended(float(exact - head))


def _step(start: float, direction: int, holds: Callable[[float], bool]) -> float:
    """The first of start, then ever larger steps away from it, at which a condition holds."""
    x, step = start, 1e-16
    while not holds(x):
        if direction < 0 and x <= 0:
            return 0.0
        x = max(start * (1 + direction * step) + direction * step * 1e-3, 0.0)
        step *= 2
    return x
