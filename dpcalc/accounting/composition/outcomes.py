"""Compositions of so few outcomes that all of them can be summed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses import UNIT_ROUNDOFF, DiscreteLoss, RandomisedResponseLoss, Reals
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.numerics.products import product

Whole = NDArray[np.int64]

_MOST = 100_000
_UNDERFLOW = 1e-300
"""More than all probabilities that round to zero, or lose digits, add up to."""

_MOST_TOSSES = 1000  # from 1030 on binomial coefficients leave the doubles
_MOST_KINDS = 16
"""Equal rounds with more outcomes are summed order by order."""

_NOT_ROUNDING = 1e-13
"""A law's leftover mass above this really is mass at loss zero."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Every value of a sum of losses with its probability.

    Attributes:
        losses: the values, shape (n,).
        masses: their probabilities.
        infinite: the probability of an infinite sum.
        loss_error: bound on the rounding of the values.
        mass_error: bound on the relative error of the probabilities.
        infinite_error: bound on that of the probability of an infinite sum.
    """

    losses: Reals
    masses: Reals
    infinite: float
    loss_error: float
    mass_error: float
    infinite_error: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds of δ(ε), which moves by at most the mass above ε times what a loss moves."""
        held = self.losses > epsilon - self.loss_error
        gains = -np.expm1(np.minimum(epsilon - self.losses[held], 0.0))
        # numpy adds up neighbours in pairs: 40 unit roundoffs at most, and `mass_error` has 90 of them.
        value = float((self.masses[held] * gains).sum())
        error = self.loss_error * float(self.masses[held].sum()) + self.mass_error * value
        error += _UNDERFLOW
        lower = self.infinite * (1 - self.infinite_error) + max(value - error, 0.0)
        upper = self.infinite * (1 + self.infinite_error) + value + error
        return lower * (1 - UNIT_ROUNDOFF), min(1.0, upper * (1 + 2 * UNIT_ROUNDOFF))

    @property
    def largest(self) -> float:
        """At least the largest value."""
        return max(0.0, float(self.losses.max(initial=0.0)) + self.loss_error)


def outcomes(parts: Sequence[tuple[PrivacyLoss, int]]) -> Outcomes | None:
    """All outcomes, or None if they are many or a law is continuous."""
    losses, masses = np.zeros(1), np.ones(1)
    held, size, mass_error, rounds = 0.0, 0.0, 0.0, 0
    for law, count in _separate(parts):
        if not isinstance(law, DiscreteLoss):
            return None
        atoms, weights, left_out = _with_zero(law)
        if not count * float(np.abs(atoms).max(initial=0.0)) < math.inf:
            return None
        together = _together(atoms, weights, count, _MOST // len(losses))
        if together is None:
            return None
        losses = np.add.outer(losses, together[0]).ravel()
        masses = np.multiply.outer(masses, together[1]).ravel()
        rounds += count
        size += count * float(np.abs(atoms).max())
        # A round whose loss is zero leaves the others' δ, which is at most that of all.
        mass_error += count * (law.mass_error + 8 * UNIT_ROUNDOFF + 2 * left_out)
        if 2 < len(atoms) <= _MOST_KINDS:  # of every kind a power, which is squared, and choices
            mass_error += 24 * len(atoms) * UNIT_ROUNDOFF
        held += count * math.log1p(-law.infinite_mass) if law.infinite_mass < 1 else -math.inf
    # A logarithm, a product and a sum of negative numbers, and the exponential of at most that.
    known = (16 + 2 * len(parts)) * UNIT_ROUNDOFF * (1 + min(abs(held), 1.0))
    loss_error = 2 * UNIT_ROUNDOFF * size * (len(parts) + 8 + min(rounds, 60))
    return Outcomes(losses, masses, 0.0 - math.expm1(held), loss_error, mass_error + 1e-14, known)


def _separate(parts: Sequence[tuple[PrivacyLoss, int]]) -> list[tuple[PrivacyLoss, int]]:
    """The parts with randomised response round by round."""
    found: list[tuple[PrivacyLoss, int]] = []
    for law, count in parts:
        if isinstance(law, RandomisedResponseLoss):
            found += [
                (response(e), n * count) for e, n in zip(law.epsilons, law.counts, strict=True)
            ]
        else:
            found.append((law, count))
    return found


def response(epsilon: float) -> DiscreteLoss:
    """The loss of one round of randomised response."""
    odds = math.exp(-epsilon)
    return DiscreteLoss(np.array([-epsilon, epsilon]), np.array([odds, 1.0]) / (1 + odds))


def _together(atoms: Reals, weights: Reals, count: int, most: int) -> tuple[Reals, Reals] | None:
    """Every value of ``count`` equal losses, with its probability; None if they are too many."""
    if len(atoms) == 0:
        return None
    if len(atoms) == 1:
        return atoms * count, weights ** float(count)
    if len(atoms) == 2 and count <= _MOST_TOSSES:
        if count >= most:
            return None
        k = np.arange(count + 1)
        ways = np.array([float(math.comb(count, int(j))) for j in k])
        # Square roots, so that nothing underflows that a coefficient would lift again.
        roots = weights[0] ** ((count - k) / 2), weights[1] ** (k / 2)
        masses = ways * roots[0] * roots[1] * roots[1] * roots[0]
        return atoms[0] * (count - k) + atoms[1] * k, masses
    if len(atoms) > _MOST_KINDS or count == 1:
        return _one_by_one(atoms, weights, count, most)
    if count > _MOST_TOSSES or math.comb(count + len(atoms) - 1, count) > most:
        return None
    numbers = _numbers(count, len(atoms))
    root = np.ones(len(numbers))
    for number, weight in zip(numbers.T, weights, strict=True):
        root *= weight ** (number / 2)
    return product(numbers.astype(np.float64), atoms), _ways(numbers) * root * root


def _one_by_one(atoms: Reals, weights: Reals, count: int, most: int) -> tuple[Reals, Reals] | None:
    """The same, each order of values by itself."""
    if count > 60 or len(atoms) ** count > most:
        return None
    losses, masses = np.zeros(1), np.ones(1)
    for _ in range(count):
        losses = np.add.outer(losses, atoms).ravel()
        masses = np.multiply.outer(masses, weights).ravel()
    return losses, masses


def _numbers(count: int, kinds: int) -> Whole:
    """How often each of some kinds may happen in so many rounds, shape (ways, kinds)."""
    rows, rest = np.zeros((1, 0), dtype=np.int64), np.array([count])
    for _ in range(kinds - 1):
        begins = np.cumsum(rest + 1) - rest - 1
        rows, left = np.repeat(rows, rest + 1, axis=0), np.repeat(rest, rest + 1)
        each = np.arange(len(left)) - np.repeat(begins, rest + 1)
        rows, rest = np.column_stack([rows, each]), left - each
    return np.column_stack([rows, rest])


def _ways(numbers: Whole) -> Reals:
    """In how many orders each can happen."""
    rest = numbers.sum(axis=1)
    choices = np.array(
        [[float(math.comb(n, k)) for k in range(rest[0] + 1)] for n in range(rest[0] + 1)]
    )
    found = np.ones(len(numbers))
    for number in numbers.T:
        found *= choices[rest, number]
        rest = rest - number
    return found


def _with_zero(law: DiscreteLoss) -> tuple[Reals, Reals, float]:
    """Losses and masses with what sits at zero, and the mass left out because it may be rounding."""
    rest = 1.0 - math.fsum(law.masses.tolist()) - law.infinite_mass - law.missing
    losses, masses = law.losses[law.masses > 0], law.masses[law.masses > 0]
    if rest > _NOT_ROUNDING or len(losses) == 0:
        return np.append(losses, 0.0), np.append(masses, max(rest, 0.0)), 0.0
    return losses, masses, max(rest, 0.0)
