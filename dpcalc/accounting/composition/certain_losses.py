"""Rounds whose loss is as good as certain, taken from the sum.

Randomised response of a huge ε answers truthfully in all rounds, as far as anybody will ever see, and
with next to no noise an added record leaves the same trace in every round that could have drawn it.
Of such rounds the losses add up to almost surely the same number. It shifts ε, and hides from general
methods what the other rounds add.

With S = C + R, C between l and h but for a probability of at most p, in which case it is below:

    (1 - p) δ_R(ε - l)  <=  δ(ε)  <=  δ_R(ε - h).

Arguments below zero, and an ε of the rest that is negative, are those of `any_argument`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.accounting.composition.any_argument import Answer, AnyArgument
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd

LOST = 1e-8
"""p at most."""

_FEW = 0.01
"""Of many answers, how many may be the other one."""

_EXCESS = 1e-9
"""How far an added record's loss may be below its supremum, as a share of that."""


@dataclass(frozen=True, slots=True)
class CertainLosses:
    """What was taken from a sum, and what is left.

    Attributes:
        rest: the other rounds.
        low: l, rounded down.
        high: h, rounded up.
        lost: p, rounded up.
    """

    rest: LossSum
    low: float
    high: float
    lost: float

    def enclose(self, query: Query, answer: Answer) -> Bracket:
        """The answer for the whole sum.

        Args:
            query: what is asked.
            answer: encloses what is asked of the rest.
        """
        rest = AnyArgument(self.rest, answer, query.relative_width)
        return (
            self._epsilon(query, rest) if isinstance(query, EpsilonAt) else self._delta(query, rest)
        )

    def _epsilon(self, query: Query, rest: AnyArgument) -> Bracket:
        tolerance = query.relative_width * self.low / 2
        above = rest.epsilon(query.at, tolerance)
        digits = 4e-16 * (self.high + abs(above.high))
        high = max(0.0, self.high + above.high + digits)
        kept = query.at / (1 - self.lost) * (1 + 1e-15)
        if kept >= 1:
            return Bracket(0.0, high, above.method)
        low = self.low + rest.epsilon(kept, tolerance).low - digits
        return Bracket(max(0.0, low), high, above.method)

    def _delta(self, query: Query, rest: AnyArgument) -> Bracket:
        digits = 4e-16 * (query.at + self.high)
        above = rest.delta(query.at - self.high - digits)
        below = rest.delta(query.at - self.low + digits)
        return Bracket(below.low * (1 - self.lost) * (1 - 4e-15), above.high, above.method)


def take_certain(total: LossSum, most: float = LOST) -> CertainLosses | None:
    """What is certain and what is left; None if nothing is, or nothing would be left.

    Args:
        total: the losses.
        most: p at most, below 1.
    """
    rest: list[tuple[PrivacyLoss, int]] = []
    taken = [(0.0, 0.0, 0.0)]
    allowed = most / max(len(total.parts), 1)
    for loss, count in total.parts:
        if isinstance(loss, RandomisedResponseLoss) and loss.infinite_mass == 0:
            remaining, *sums = _responses(loss, count, allowed)
            if remaining is not None:
                rest.append((remaining, count))
            taken.append((sums[0], sums[1], sums[2]))
        elif isinstance(loss, PoissonAdd) and (found := _added(loss, count, allowed)) is not None:
            taken.append(found)
        else:
            rest.append((loss, count))
    low, high, lost = (math.fsum(column) for column in zip(*taken, strict=True))
    if high == 0 or not rest:
        return None
    return CertainLosses(
        LossSum(tuple(rest)), low * (1 - 1e-14), high * (1 + 1e-14), lost * (1 + 1e-12)
    )


def _responses(
    loss: RandomisedResponseLoss, count: int, allowed: float
) -> tuple[RandomisedResponseLoss | None, float, float, float]:
    """What is left of the responses, least and largest sum of the others, how likely it is less.

    That is at most ``allowed``. Where it may be likely, so may be a few other answers among many: of
    mean m, more than m + √(2mt) + 2t/3 with t = -ln(allowed) are no likelier (Bernstein).
    """
    left: dict[float, int] = {}
    low, high, lost = [0.0], [0.0], 0.0
    each = allowed / len(loss.epsilons)
    for epsilon, rounds in zip(loss.epsilons, loss.counts, strict=True):
        number, mean = count * rounds, count * rounds * math.exp(-epsilon)
        others, chance = 0.0, mean
        if mean > each:
            spare = -math.log(each)
            others, chance = math.ceil(mean + math.sqrt(2 * mean * spare) + spare), each
        if others and (allowed <= LOST or others > _FEW * number):
            left[epsilon] = rounds
            continue
        low.append((number - 2 * others) * epsilon)
        high.append(number * epsilon)
        lost += chance
    remaining = RandomisedResponseLoss.of(left) if left else None
    return remaining, math.fsum(low), math.fsum(high), lost


def _added(loss: PoissonAdd, count: int, allowed: float) -> tuple[float, float, float] | None:
    """The least and the largest sum, and how likely it is less: at most half of ``allowed``.

    The loss is ``-ln(1-q) - ln(1 + e^t q/(1-q))`` with t = -(2x + 1)/(2σ²), x normal; x below -zσ has
    probability at most e^{-z²/2}/2.
    """
    if loss.rate >= 1:
        return None
    reach = math.sqrt(2 * math.log(count / allowed)) * (1 + 1e-12)
    exponent = (reach - 1 / (2 * loss.sigma)) / loss.sigma
    excess = math.exp(min(exponent, 0.0)) * loss.rate / (1 - loss.rate)
    if exponent >= 0 or excess > _EXCESS * loss.supremum:
        return None
    high = count * loss.supremum
    return high * (1 - 1e-13) - count * excess, high, allowed / 2
