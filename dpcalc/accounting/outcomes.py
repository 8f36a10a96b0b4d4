"""Compositions of so few outcomes that all of them can be summed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.cells import Loss
from dpcalc.accounting.laws import UNIT_ROUNDOFF, AtomicLaw, Reals
from dpcalc.numerics.products import product

_MOST = 100_000
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
    """

    losses: Reals
    masses: Reals
    infinite: float
    loss_error: float
    mass_error: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds of δ(ε), which moves by at most the mass above ε times what a loss moves."""
        held = self.losses > epsilon - self.loss_error
        gains = -np.expm1(np.minimum(epsilon - self.losses[held], 0.0))
        value = float(product(self.masses[held], gains))
        error = self.loss_error * float(self.masses[held].sum()) + self.mass_error * value
        lower = self.infinite * (1 - self.mass_error) + max(value - error, 0.0)
        return lower, min(1.0, (self.infinite + value + error) * (1 + 1e-14))

    @property
    def largest(self) -> float:
        """At least the largest value."""
        return max(0.0, float(self.losses.max(initial=0.0)) + self.loss_error)


def outcomes(parts: Sequence[tuple[Loss, int]]) -> Outcomes | None:
    """All outcomes, or None if they are many or a law is continuous."""
    losses, masses = np.zeros(1), np.ones(1)
    held, loss_error, mass_error = 0.0, 0.0, 0.0
    for law, count in parts:
        if not isinstance(law, AtomicLaw) or count > _MOST:
            return None
        atoms, weights, left_out = _with_zero(law)
        if len(atoms) == 0 or (len(atoms) > 1 and len(atoms) ** min(count, 60) > _MOST):
            return None
        for _ in range(count):
            if len(losses) * len(atoms) > _MOST:
                return None
            losses = np.add.outer(losses, atoms).ravel()
            masses = np.multiply.outer(masses, weights).ravel()
        size = float(np.abs(atoms).max())
        loss_error += 2 * UNIT_ROUNDOFF * count * size
        # A round whose loss is zero leaves the others' δ, which is at most that of all.
        mass_error += count * (law.mass_error + 4 * UNIT_ROUNDOFF + 2 * left_out)
        held += count * math.log1p(-law.infinite_mass) if law.infinite_mass < 1 else -math.inf
    loss_error *= sum(count for _, count in parts) + 1
    return Outcomes(losses, masses, 0.0 - math.expm1(held), loss_error, mass_error + 1e-14)


def _with_zero(law: AtomicLaw) -> tuple[Reals, Reals, float]:
    """Losses and masses with what sits at zero, and the mass left out because it may be rounding."""
    rest = 1.0 - math.fsum(law.masses.tolist()) - law.infinite_mass - law.missing
    if rest > _NOT_ROUNDING:
        return np.append(law.losses, 0.0), np.append(law.masses, rest), 0.0
    return law.losses, law.masses, max(rest, 0.0)
