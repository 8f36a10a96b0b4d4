"""Laws parted by the size of the loss: a small one, and what is large, class by class."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpcalc.accounting.contour.saddle_points import Rounds
from dpcalc.accounting.losses import UNIT_ROUNDOFF, LossDistribution
from dpcalc.accounting.losses.discrete import DiscreteLoss

_DIGITS = 64 * UNIT_ROUNDOFF
"""More than what the few operations on a weight are off by."""


@dataclass(frozen=True, slots=True)
class Large:
    """A round's losses within one class.

    Attributes:
        number: of the class.
        law: what the loss is, given that it is in the class.
        probability: of the class.
        error: bound on the relative error of the probability.
    """

    number: int
    law: DiscreteLoss
    probability: float
    error: float


@dataclass(frozen=True, slots=True)
class Parted:
    """A round's law as a sum of measures.

    Attributes:
        small: the law without what is large; its mass is one minus theirs.
        large: the others.
        count: how many rounds there are.
    """

    small: LossDistribution
    large: tuple[Large, ...]
    count: int


Key = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """How many rounds have a large loss of each class, and which.

    Attributes:
        key: part and class of every large loss, in order.
        weight: bounds of the probability of the classes, the rounds' order included.
        rounds: what the sum is made of then; the mass of what is small counts.
    """

    key: Key
    weight: tuple[float, float]
    rounds: Rounds

    @property
    def many(self) -> int:
        """How many large losses there are."""
        return len(self.key)


def parted(law: LossDistribution, count: int, thresholds: Sequence[float]) -> Parted:
    """A law parted at increasing thresholds; one known in closed form stays whole.

    With masses m the moment function is ``1 - P + Σ m(e^{zl} - 1) + Σ m' e^{zl'}``, the first sum over
    what is small, the second over what is large, of mass P: nothing is approximated.
    """
    if not isinstance(law, DiscreteLoss):
        return Parted(law, (), count)
    large = []
    edges = [*thresholds, math.inf]
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        held = (law.losses > low) & (law.losses <= high) & (law.masses > 0)
        mass = math.fsum(law.masses[held].tolist())
        if mass <= 0:
            continue
        each = DiscreteLoss(
            law.losses[held],
            law.masses[held] / mass,
            mass_error=law.mass_error + _DIGITS,
            blur=law.blur[held] / mass,
        )
        large.append(Large(number, each, mass, law.mass_error + _DIGITS))
    held = law.losses <= thresholds[0]
    small = DiscreteLoss(
        law.losses[held],
        law.masses[held],
        infinite_mass=law.infinite_mass,
        missing=law.missing + math.fsum(each.probability for each in large),
        mass_error=law.mass_error,
        blur=law.blur[held],
    )
    return Parted(small, tuple(large), count)


def expected_number(laws: Sequence[Parted]) -> float:
    """How many rounds have a large loss on average, rounded up."""
    number = math.fsum(part.count * each.probability for part in laws for each in part.large)
    return number * (1 + 1e-9)


def more_than(number: int, expected: float) -> float:
    """At least the probability of more large losses: ``E C(N, k) <= E[N]^k/k!`` with k one more."""
    return expected ** (number + 1) / math.factorial(number + 1) * (1 + 1e-9)


def cases(laws: Sequence[Parted], most: int, negligible: float) -> tuple[list[Case], float]:
    """All cases of at most ``most`` large losses, and at least the weight of those left out.

    Args:
        laws: of the rounds.
        most: how many large losses are told apart.
        negligible: cases of less weight are left out.
    """
    expected = expected_number(laws)
    kept, left_out = [], more_than(most, expected)
    classes = [(k, each.number) for k, part in enumerate(laws) for each in part.large]
    for many in range(most + 1):
        for key in itertools.combinations_with_replacement(classes, many):
            case = _case(laws, key, expected)
            if case is None:
                continue
            if key and case.weight[1] < negligible:
                left_out += case.weight[1] * (1 + 1e-9)
            else:
                kept.append(case)
    return kept, left_out


def _drawn(rounds: int, number: int, probability: float) -> float:
    """Binomial coefficient times power, of which either alone may leave the doubles."""
    factors = (probability * ((rounds - k) / (k + 1)) for k in range(number))
    return math.prod(factors)


def _case(laws: Sequence[Parted], key: Key, expected: float) -> Case | None:
    """The case; None if a part has fewer rounds."""
    weight, error = 1.0, 0.0
    rounds: list[tuple[LossDistribution, int]] = []
    for k, part in enumerate(laws):
        rest = part.count
        for each in part.large:
            number = key.count((k, each.number))
            if number > rest:
                return None
            if number:
                weight *= _drawn(rest, number, each.probability)
                rounds.append((each.law, number))
            rest -= number
            error = max(error, each.error)
        if rest:
            rounds.append((part.small, rest))
    slack = (len(key) + expected + 1) * (error + _DIGITS) * 2
    return Case(key, (weight * (1 - slack), weight * (1 + slack)), tuple(rounds))
