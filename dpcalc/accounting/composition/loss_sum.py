"""The privacy losses of all rounds in one direction, and what is known of their sum at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from dpcalc.accounting.contour.saddle_points import Rounds, infinite_mass
from dpcalc.accounting.contour.shared import kept
from dpcalc.accounting.losses import (
    GaussianLoss,
    LossDistribution,
    RandomisedResponseLoss,
    disclosure,
)
from dpcalc.accounting.losses.density_pair import DensityPair, PrivacyLoss
from dpcalc.accounting.losses.discretisation import coarse_upper
from dpcalc.accounting.losses.reversal import reversed_loss
from dpcalc.errors import NumericalFailure

SMALLEST_TAIL = 1e-280
"""P-mass that is left outside the window of a round where nothing asks for more."""

_LARGEST_SIGNAL = 60
_ROUNDED, _POWER = 1e-12, 1e-15
"""Relative, more than what probabilities of largest and infinite losses are rounded by, and a power of
one for every factor."""

_CERTAIN = 1e-9
"""More than what probabilities of infinite losses are rounded by."""

_MOST_ROUNDS = 10**13
_SMALLEST_LOSS, _LARGEST_LOSS = 1e-100, 1e12


@dataclass(frozen=True)
class LossSum:
    """The sum of independent losses, equal ones counted.

    Args:
        parts: privacy losses with the number of rounds each is used.
    """

    parts: tuple[tuple[PrivacyLoss, int], ...]
    _coarse: dict[float, Rounds] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, losses: Iterable[tuple[PrivacyLoss, int]]) -> LossSum:
        """Equal losses added up, all Gaussian ones made one."""
        counts: Counter[PrivacyLoss] = Counter()
        mus: list[tuple[float, int]] = []
        for loss, count in losses:
            if isinstance(loss, GaussianLoss):
                mus.append((loss.mu, count))
            elif count:
                counts[loss] += count
        parts: list[tuple[PrivacyLoss, int]] = list(counts.items())
        largest = max((mu for mu, n in mus if n), default=0.0)
        if largest > 0:  # squares of tiny numbers would vanish
            total = math.sqrt(math.fsum(n * (mu / largest) ** 2 for mu, n in mus))
            parts.append((GaussianLoss(largest * total * (1 + 1e-15)), 1))
        return cls(tuple(parts))

    @cached_property
    def rounds(self) -> int:
        """How many rounds there are, Gaussian ones counted as one."""
        return sum(count for _, count in self.parts)

    @property
    def kind(self) -> tuple[type, ...]:
        """What the sums of one direction have in common at all places of a search."""
        return tuple(type(loss) for loss, _ in self.parts)

    @cached_property
    def expected_events(self) -> float:
        """How many rounds on average differ between the neighbours, at most."""
        return sum(
            count * loss.expected_events
            if isinstance(loss, RandomisedResponseLoss)  # rounds gathered into one law
            else count * loss.total_variation_bound
            for loss, count in self.parts
        )

    @cached_property
    def total_variation_bound(self) -> float:
        """1 - Π(1 - r)^n for rounds of total variation r."""
        rates = [(loss.total_variation_bound, n) for loss, n in self.parts]
        if any(rate >= 1 for rate, _ in rates):
            return 1.0
        return -math.expm1(sum(n * math.log1p(-rate) for rate, n in rates)) * (1 + 1e-12)

    @cached_property
    def largest(self) -> float:
        """At least the largest finite value of the sum."""
        return sum(n * loss.supremum for loss, n in self.parts) * (1 + 1e-12)

    @cached_property
    def exact(self) -> Rounds:
        """The losses whose distributions are known without discretisation."""
        return [(loss, count) for loss, count in self.parts if isinstance(loss, LossDistribution)]

    @cached_property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss, as far as it is known exactly, rounded up."""
        certain = [(law, count) for law, count in self.exact if law.infinite_mass > 0]
        alone = len(certain) == 1 and certain[0][1] == 1
        return certain[0][0].infinite_mass if alone else infinite_mass(self.exact)

    @property
    def certain_mass(self) -> float:
        """At most the probability of an infinite loss, as far as it is known."""
        return self.infinite_mass * (1 - _CERTAIN)

    def epsilon_of_largest(self, delta: float) -> float:
        """The ε at which infinite losses and the largest finite one, of probability p, give δ.

        It is sup + ln(1 - (δ - δ(∞))/p), and sup where δ(∞) is δ or more.
        """
        if len(self.exact) < len(self.parts):
            return 0.0
        top = math.prod(law.mass_at_supremum**count for law, count in self.exact)
        top *= max(1 - _ROUNDED - _POWER * self.rounds, 0.0)
        spare = max(delta - self.infinite_mass * (1 - _ROUNDED), 0.0) * (1 + _ROUNDED)
        largest = math.fsum(count * law.supremum for law, count in self.exact) * (1 - 1e-14)
        return max(0.0, largest + math.log1p(-spare / top)) if top > spare else 0.0

    @property
    def turned(self) -> LossSum | None:
        """The sum of the losses of the reversed pairs; None unless all of them are known."""
        each = [(reversed_loss(loss), count) for loss, count in self.parts]
        known = tuple((loss, count) for loss, count in each if loss is not None)
        return LossSum(known) if len(known) == len(each) else None

    def coarse_upper(self, tail: float) -> Rounds:
        """Distributions that dominate the losses', cheap and coarse.

        Args:
            tail: P-mass that may be left outside the window of a round.
        """
        if tail not in self._coarse:
            self._coarse[tail] = [
                (loss if isinstance(loss, LossDistribution) else _coarse(loss, tail), count)
                for loss, count in self.parts
            ]
        return self._coarse[tail]

    @property
    def with_disclosure(self) -> LossSum | None:
        """A sum that dominates: what has next to no noise tells everything where it tells anything.

        Two laws of total variation r have a part of mass 1 - r in common, and are told apart no better
        than by revealing, with probability r, which one it was. None where there is enough noise.
        """
        parts = [
            (disclosure(loss.total_variation_bound), count)
            if _too_little_noise(loss)
            else (loss, count)
            for loss, count in self.parts
        ]
        return (
            LossSum(tuple(parts))
            if any(_too_little_noise(loss) for loss, _ in self.parts)
            else None
        )

    def require_tractable(self) -> None:
        """Leave to closed forms what numerical integration cannot follow.

        With next to no noise losses vary by thousands within a cell, with next to no loss its square
        is zero, and beyond some number of rounds the sum's moments outgrow the doubles.
        """
        if any(_too_little_noise(loss) for loss, _ in self.parts):
            raise NumericalFailure(
                f"the noise must be at least 1/{_LARGEST_SIGNAL} of the sensitivity"
            )
        if self.rounds > _MOST_ROUNDS:
            raise NumericalFailure(f"at most {_MOST_ROUNDS} rounds can be composed numerically")
        losses = [p.mu if isinstance(p, GaussianLoss) else p.supremum for p, _ in self.parts]
        if any(_LARGEST_LOSS < loss < math.inf for loss in losses):
            raise NumericalFailure(f"losses must be at most {_LARGEST_LOSS:g}")
        if max(losses, default=1) < _SMALLEST_LOSS:
            raise NumericalFailure(f"losses must be at least {_SMALLEST_LOSS}")


def _too_little_noise(loss: PrivacyLoss) -> bool:
    return isinstance(loss, DensityPair) and loss.signal_to_noise > _LARGEST_SIGNAL


def _coarse(loss: DensityPair, tail: float) -> LossDistribution:
    return kept((coarse_upper, loss, tail), lambda: coarse_upper(loss, tail))
