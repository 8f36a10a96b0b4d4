"""The summed loss of rounds of randomised response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcalc.accounting.losses.distribution import (
    LOG1P_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossDistribution,
    Reals,
    TiltedDistribution,
    log1p,
)
from dpcalc.numerics.products import product

_TABLE = 1_000_000
_MOST_OUTCOMES = 100_000
_MOST_ROUNDS = 1000  # of one kind: from 1030 on binomial coefficients leave the doubles
_UNDERFLOW = 1e-302  # more than all probabilities that round to zero, or lose digits, add up to


@lru_cache(maxsize=8)
def _outcomes(epsilons: tuple[float, ...], counts: tuple[int, ...]) -> tuple[Reals, Reals]:
    """Every value of the sum of losses with its probability."""
    losses, masses = np.zeros(1), np.ones(1)
    for epsilon, n in zip(epsilons, counts, strict=True):
        k = np.arange(n + 1)
        binomials = np.array([float(math.comb(n, int(j))) for j in k])
        odds = math.exp(-epsilon)
        p, q = 1 / (1 + odds), odds / (1 + odds)
        mass = binomials * p**k * q ** (n - k)
        losses = np.add.outer(losses, (2 * k - n) * epsilon).ravel()
        masses = np.multiply.outer(masses, mass).ravel()
    return losses, masses


@dataclass(frozen=True, slots=True)
class RandomisedResponseLoss(LossDistribution):
    """The summed loss of many rounds of randomised response.

    A round's loss is ±ε with odds e^ε: ``M(z) = p e^{zε} + (1-p) e^{-zε}``.

    Args:
        epsilons: ε of the rounds, each listed once.
        counts: how many rounds have each.
    """

    epsilons: tuple[float, ...]
    counts: tuple[int, ...]
    supremum: float
    infinite_mass: float = 0.0

    @property
    def total_variation_bound(self) -> float:
        """1 - Π(1 - tanh(ε/2))^n, tanh(ε/2) being a round's own."""
        each = [(math.tanh(e / 2), n) for e, n in zip(self.epsilons, self.counts, strict=True)]
        if any(variation >= 1 for variation, _ in each):
            return 1.0
        return -math.expm1(sum(n * math.log1p(-t) for t, n in each)) * (1 + 1e-12)

    @property
    def expected_events(self) -> float:
        """How many rounds on average differ between the neighbours."""
        return sum(n * math.tanh(e / 2) for e, n in zip(self.epsilons, self.counts, strict=True))

    @property
    def mass_at_supremum(self) -> float:  # type: ignore[override] # a value like the others
        """Probability that every round has its larger loss."""
        e, n = np.array(self.epsilons), np.array(self.counts, dtype=np.float64)
        return float(np.exp(-product(n, np.log1p(np.exp(-e))) * (1 + 1e-12))) * (1 - 1e-12)

    def delta(self, epsilon: float) -> tuple[float, float] | None:
        """The sum over all outcomes, if they are few."""
        outcomes = math.prod(n + 1 for n in self.counts)
        if outcomes > _MOST_OUTCOMES or max(self.counts) > _MOST_ROUNDS:
            return None
        losses, masses = _outcomes(self.epsilons, self.counts)
        value = float((masses * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum())
        # Each loss is a sum with an error; where ε is next to it, that is all there is.
        slip = 2 * UNIT_ROUNDOFF * (len(self.counts) + 2) * self.supremum
        shift = float(masses[losses > epsilon - slip].sum()) * slip
        error = 1e-13 * len(self.counts) + 1e-15 * sum(self.counts)
        low, high = value * (1 - error) - shift, value * (1 + error) + shift
        return max(low, 0.0), high * (1 + error) + _UNDERFLOW

    @classmethod
    def of(cls, rounds: Mapping[float, int]) -> RandomisedResponseLoss:
        """The law for a mapping from ε to the number of rounds."""
        total = math.fsum(e * n for e, n in rounds.items())
        return cls(tuple(rounds), tuple(rounds.values()), total * (1 + 1e-15))

    def tilted(self, c: float) -> TiltedDistribution:
        """Two points with odds e^{(2c+1)ε}, in closed form."""
        counts = np.array(
            self.counts, dtype=np.float64
        )  # they may be beyond the whole numbers of C
        return _TiltedResponses(np.array(self.epsilons), counts, c)

    def cumulants(self, orders: Reals) -> Reals:
        """Sums over the rounds."""
        e, n = np.array(self.epsilons)[:, None], np.array(self.counts, dtype=np.float64)
        slope = np.tanh(e * (orders + 0.5))
        moment, variance = _two_point_log_moment(e, orders), 1 - slope**2
        return np.stack([product(n, part) for part in (moment, e * slope, e * (e * variance))])


def _two_point_log_moment(epsilon: Reals, c: Reals | float) -> Reals:
    """Ln M(c) = cε + ln[1 - (1-p)(1 - e^{-2cε})], and for small cε without cancellation."""
    odds = np.exp(-epsilon)
    rare = odds / (1 + odds)  # 1 - p
    x = c * epsilon
    small = np.minimum(x, 0.5)
    # p(e^x - 1) + (1-p)(e^{-x} - 1) = 2 sinh²(x/2) + (p - (1-p)) sinh x
    excess = 2 * np.sinh(small / 2) ** 2 + np.tanh(epsilon / 2) * np.sinh(small)
    return np.where(x <= 0.5, np.log1p(excess), x + np.log1p(rare * np.expm1(-2 * x)))


class _TiltedResponses(TiltedDistribution):
    def __init__(self, epsilons: Reals, counts: Reals, c: float) -> None:
        self._epsilons, self._counts, self.size = epsilons, counts, len(epsilons)
        self._bias = np.tanh(epsilons * (c + 0.5))
        self._rarity = 1 / np.cosh(np.minimum(epsilons * (c + 0.5), 300.0)) ** 2
        moments = _two_point_log_moment(epsilons, c)
        self.log_moment = float(product(counts, moments))
        self.mean = float(product(counts, epsilons * self._bias))
        self.variance = float(product(counts, epsilons**2 * self._rarity))
        self.spread = math.sqrt(self.variance) * (1 + 1e-9)
        size = np.minimum(1.0, c * epsilons) * (1 + epsilons)
        self.rounding = (64 + self.size) * UNIT_ROUNDOFF
        self.rounding *= float(product(counts, size + np.abs(moments)))

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """Σ n ln(cos(yε) + i t sin(yε)), t the tilted bias; the error is that of yε near a zero."""
        del uses
        y = step * np.arange(start, stop)
        total = np.zeros(len(y), dtype=np.complex128)
        relative = np.zeros(len(y))
        rows = max(1, _TABLE // max(len(y), 1))
        for k in range(0, len(self._epsilons), rows):
            part = slice(k, k + rows)
            angle = np.multiply.outer(self._epsilons[part], y)
            sine, half = np.sin(angle), np.sin(angle / 2)
            change = -2 * half * half + 1j * self._bias[part, None] * sine
            logarithm = log1p(change)
            total += product(self._counts[part], logarithm)
            modulus = np.abs(1 + change)
            error = 32 * UNIT_ROUNDOFF * angle / np.maximum(modulus, 1e-300)
            error += (LOG1P_ERROR + UNIT_ROUNDOFF * self.size) * np.abs(logarithm)
            relative += product(self._counts[part], np.log1p(error))
        return total, np.expm1(np.minimum(relative, 700.0))

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """|φ(y)|² = 1 - sech²(ε(c+½)) sin²(yε), bounded by the least sine in the interval."""
        del level
        bound = np.zeros(len(edges) - 1)
        rows = max(1, _TABLE // len(edges))
        for k in range(0, len(self._epsilons), rows):
            part = slice(k, k + rows)
            turns = np.multiply.outer(self._epsilons[part] / np.pi, edges)
            sines = np.abs(np.sin(np.pi * turns)) - 1e-12 * (1 + turns)
            whole = np.floor(turns)
            least = np.maximum(np.minimum(sines[:, :-1], sines[:, 1:]), 0.0)
            least[whole[:, 1:] > whole[:, :-1]] = 0.0
            rare = self._rarity[part, None] * least**2 * (1 - 1e-12)
            bound += product(self._counts[part], np.log1p(-rare)) / 2
        return bound
