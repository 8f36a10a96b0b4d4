"""Laws parted by the size of the loss: a small one, and what is large, class by class."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.contour.saddle_points import Rounds
from dpcalc.accounting.losses import UNIT_ROUNDOFF, LossDistribution, Reals
from dpcalc.accounting.losses.discrete import DiscreteLoss

_DIGITS = 64 * UNIT_ROUNDOFF
"""More than what the few operations on a weight are off by."""

_GROUPS, _LEAST = 128, 4
"""Groups of atoms that are enough to choose by, and how large they are where there are as many."""


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
    for number, (low, high) in enumerate(itertools.pairwise([*thresholds, math.inf])):
        part = _split(law, (law.losses > low) & (law.losses <= high))
        mass = math.fsum(part.masses.tolist())
        if mass > 0:
            each = DiscreteLoss(
                part.losses,
                part.masses / mass,
                mass_error=law.mass_error + _DIGITS,
                blur=part.blur / mass,
            )
            # Off as a whole it is as if mass at loss zero, which adds less, were added or taken away.
            error = law.mass_error * (1 + part.slip / mass) + _DIGITS
            large.append(Large(number, each, mass, error))
    part = _split(law, law.losses <= thresholds[0])
    small = DiscreteLoss(
        part.losses,
        part.masses,
        infinite_mass=law.infinite_mass,
        missing=law.missing + math.fsum(each.probability for each in large),
        mass_error=law.mass_error,
        blur=part.blur,
    )
    return Parted(small, tuple(large), count)


@dataclass(frozen=True, slots=True)
class _Part:
    """Atoms of a part.

    Attributes:
        losses: the values.
        masses: those of the part.
        blur: as that of a `DiscreteLoss`.
        slip: by how much, over the masses' relative error, its mass is off because a cell is cut.
    """

    losses: Reals
    masses: Reals
    blur: Reals
    slip: float


def _split(law: DiscreteLoss, held: NDArray[np.bool_]) -> _Part:
    """The atoms that are held.

    Of a cell of mass p, ξp may sit at the wrong one of two atoms. If one of them, at l, is held and the
    other is not, that moves ``ξp(e^{zl} - 1)``, which is blur over the loss itself, and the part's mass
    by ``ξp``; and ``p|l' - l|`` is at most the blur of either atom.
    """
    cut, apart = held[1:] != held[:-1], np.abs(np.diff(law.losses))
    rise = np.where(cut, 1 / np.where(apart > 0, apart, math.inf), 0.0)
    slip = law.blur * np.maximum(np.append(rise, 0.0), np.append(0.0, rise))
    blur = law.blur + np.abs(law.losses) * slip
    # Where an atom has no mass, the other of its cell has the blur.
    kept = held & (law.masses > 0)
    return _Part(law.losses[kept], law.masses[kept], blur[kept], float(slip[held].sum()))


def expected_number(laws: Sequence[Parted]) -> float:
    """How many rounds have a large loss on average, rounded up."""
    number = math.fsum(part.count * each.probability for part in laws for each in part.large)
    return number * (1 + 1e-9)


def more_than(number: int, expected: float) -> float:
    """At least the probability of more large losses: ``E C(N, k) <= E[N]^k/k!`` with k one more."""
    return expected ** (number + 1) / math.factorial(number + 1) * (1 + 1e-9)


def cases(
    laws: Sequence[Parted],
    most: int,
    negligible: float,
    coarser: Sequence[Sequence[Parted]] = (),
) -> tuple[list[Case], float]:
    """All cases of at most ``most`` large losses, and at least the weight of those left out.

    Args:
        laws: of the rounds.
        most: how many large losses are told apart.
        negligible: cases of less weight are left out.
        coarser: the same laws in other classes, for two large losses, and for three and more; what is
            small is the same.
    """
    expected = expected_number(laws)
    kept, left_out = [], more_than(most, expected)
    for many in range(most + 1):
        if many > 1 and coarser:
            laws = coarser[min(many - 2, len(coarser) - 1)]
        classes = [(k, each.number) for k, part in enumerate(laws) for each in part.large]
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


def thinned(rounds: Rounds) -> Rounds:
    """Laws of fewer atoms, about the same, to choose contours by.

    Neighbours count as two, the least and the largest of them, of the same mass and mean: that of many
    rounds then stays as it is, and what is far out is not forgotten. The last are kept as they are.
    """
    return [(_thinned(law) if isinstance(law, DiscreteLoss) else law, n) for law, n in rounds]


def _thinned(law: DiscreteLoss) -> DiscreteLoss:
    several = len(law.losses) // _GROUPS
    if several < _LEAST:
        return law
    last = len(law.losses) - _GROUPS
    first = np.concatenate([np.arange(0, last, several), np.arange(last, last + _GROUPS)])
    low, high = (find.reduceat(law.losses, first) for find in (np.minimum, np.maximum))
    mass = np.add.reduceat(law.masses, first)
    above, width = np.add.reduceat(law.masses * law.losses, first) - mass * low, high - low
    right = np.clip(above / np.where(width > 0, width, math.inf), 0.0, mass)
    return DiscreteLoss(
        np.concatenate([low, high]),
        np.concatenate([mass - right, right]),
        infinite_mass=law.infinite_mass,
        missing=law.missing,
    )
