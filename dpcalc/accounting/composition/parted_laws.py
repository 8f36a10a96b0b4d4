"""Laws parted by the size of the loss: a small one, and what is large, class by class.

A loss near the place where two classes meet belongs to either with a probability that rises smoothly:
the parts add up to the law as they would if it were cut there, and their characteristic functions fall
fast, which takes few nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.contour.saddle_points import Rounds
from dpcalc.accounting.losses import UNIT_ROUNDOFF, LossDistribution, Reals
from dpcalc.accounting.losses.discrete import DiscreteLoss

_DIGITS = 64 * UNIT_ROUNDOFF
"""More than what the few operations on a weight are off by."""

_ENOUGH = 256
"""Atoms that are enough to choose by."""

_SOFTNESS, _REACH = 0.12, 6.5
"""Standard deviation of the logarithm of where a loss becomes large, and up to how many of them it may
do so; beyond, the probability is zero or one."""


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
    """A law parted around increasing thresholds; one known in closed form stays whole.

    With masses m the moment function is ``1 - P + Σ m(e^{zl} - 1) + Σ m' e^{zl'}``, the first sum over
    what is small, the second over what is large, of mass P: nothing is approximated. The masses of two
    parts are a double and what it leaves of another, rounded once.
    """
    if not isinstance(law, DiscreteLoss):
        return Parted(law, (), count)
    above = law.masses * _large(law.losses, thresholds[0])
    small, large = _split(law, law.masses - above), []
    for number, threshold in enumerate([*thresholds[1:], math.inf]):
        beyond = above * _large(law.losses, threshold)
        part = _split(law, above - beyond)
        above = beyond
        mass = math.fsum(part.masses.tolist())
        if mass > 0:
            # Errors of masses over their sum are those of the masses and those of the sum.
            error = part.error * (1 + part.slip / mass) + _DIGITS
            each = DiscreteLoss(
                part.losses, part.masses / mass, mass_error=2 * error, blur=part.blur / mass
            )
            large.append(Large(number, each, mass, error))
    rest = DiscreteLoss(
        small.losses,
        small.masses,
        infinite_mass=law.infinite_mass,
        missing=law.missing + math.fsum(each.probability for each in large),
        mass_error=small.error,
        blur=small.blur,
    )
    return Parted(rest, tuple(large), count)


def _large(losses: Reals, threshold: float) -> Reals:
    """With what probability losses count as larger than a threshold."""
    if threshold == math.inf:
        return np.zeros(len(losses))
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        place = np.log(np.maximum(losses / threshold, 0.0)) / _SOFTNESS
    chance = np.asarray(ndtr(np.clip(place, -_REACH, _REACH)))
    chance[place <= -_REACH], chance[place >= _REACH] = 0.0, 1.0
    return chance


@dataclass(frozen=True, slots=True)
class _Part:
    """Atoms of a part.

    Attributes:
        losses: the values.
        masses: those of the part.
        blur: as that of a `DiscreteLoss`.
        slip: by how much, over the masses' relative error, its mass is off because atoms share a cell.
        error: relative error of the masses.
    """

    losses: Reals
    masses: Reals
    blur: Reals
    slip: float
    error: float


def _split(law: DiscreteLoss, masses: Reals) -> _Part:
    """What part of a law has these masses.

    Of a cell of mass p, ξp may sit at the wrong one of two atoms, of which shares f and f' are in the
    part. That moves ``ξpf'(e^{zl'} - e^{zl}) + ξp(f' - f)(e^{zl} - 1)``, and the part's mass by
    ``ξp(f' - f)``: the first is blur, at the larger of the shares, the second is blur over the loss
    itself, and ``p|l' - l|`` is at most the blur of either atom.
    """
    held = masses > 0
    whole = np.where(law.masses > 0, law.masses, 1.0)
    share = np.minimum(masses / whole, 1.0)
    near = np.maximum(share, np.maximum(np.append(share[1:], 0.0), np.append(0.0, share[:-1])))
    apart = np.abs(np.diff(law.losses))
    rise = np.abs(np.diff(share)) / np.where(apart > 0, apart, math.inf)
    steep = np.maximum(np.append(rise, 0.0), np.append(0.0, rise))
    slip = law.blur * steep
    blur = law.blur * near + np.abs(law.losses) * slip
    error = law.mass_error + 4 * UNIT_ROUNDOFF
    return _Part(law.losses[held], masses[held], blur[held], float(slip.sum()), error)


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

    Neighbours count as the largest of them, so that what is far out is not forgotten.
    """
    return [(_thinned(law) if isinstance(law, DiscreteLoss) else law, n) for law, n in rounds]


def _thinned(law: DiscreteLoss) -> DiscreteLoss:
    several = len(law.losses) // _ENOUGH
    if several < 2:
        return law
    first = np.arange(0, len(law.losses), several)
    return DiscreteLoss(
        np.maximum.reduceat(law.losses, first),
        np.add.reduceat(law.masses, first),
        infinite_mass=law.infinite_mass,
        missing=law.missing,
    )
