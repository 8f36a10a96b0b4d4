"""Suboptimality of private dual averaging.

Statement
    E[F(ỹ(t)) - F*] <= [γ(t)d(x*) + Σ_τ a(τ)²/(μA(τ)+γ(τ)) (M + mσ²/2 + 2√m Lσ/(1-β))]/A(t), M =
    L²/2 + 2L²/(1-β)

    ỹ is the weighted average of the auxiliary sequence.
    μ = strong_convexity, L = subgradient_bound, m = dimension, σ = sigma, β = second singular value
    of the mixing matrix, a(t) = t^weight_power, γ(t) = prox_weight + prox_growth·√t,
    d(x*) = prox_distance.
Source
    Liu, Johansson and Shi 2022, theorem 2, eq. (7)
Certified
    The same chain with the sums it comes from: the noise of n nodes is averaged in the second term,
    and disagreement is summed over rounds instead of bounded by a geometric series.
Rounding
    Doubles, inflated by a bound of the rounding errors of positive sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.theorems.authoring import count, finding, number, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.convergence._dual_averaging import (
    NON_NEGATIVE_PROX,
    PROMISES,
    Consensus,
    DualAveragingResult,
    check_rounds,
    inflated,
    network_values,
)

EXAMPLE = {
    "strong_convexity": 0.0005,
    "subgradient_bound": 1,
    "graph": "ring:20",
    "dimension": 2000,
    "sigma": 0.09,
}
"""A typical network; results add their rounds."""


@theorem()
class ScheduledDualAveraging(DualAveragingResult):
    """Dual averaging with weights ``t^p`` and proximal terms ``γ₀ + γ₁√t``."""

    dimension: int = count("coordinates of x, m")
    sigma: float = number("standard deviation of the noise, σ", check=checks.non_negative)
    rounds: int = count("rounds, t")
    weight_power: float = number(
        "p in a(t) = t^p, at least 0", check=checks.non_negative, default=1.0
    )
    prox_weight: float = number("γ₀ in γ(t) = γ₀ + γ₁√t", check=checks.non_negative, default=0.0)
    prox_growth: float = number("γ₁ in γ(t) = γ₀ + γ₁√t", check=checks.non_negative, default=0.0)

    def _check_together(self) -> None:
        check_rounds(self.rounds)
        DualAveragingResult._check_together(self)  # noqa: SLF001 # super() fails with slots
        if self.weight_power * math.log(self.rounds) > 230:
            raise InvalidInput(
                f"weight_power needs to keep t^p below 1e100; got weight_power={self.weight_power:g}"
            )

    def noise(self) -> float:
        """``√m σ``."""
        return float(np.sqrt(self.dimension)) * self.sigma

    def consensus(self, rounds: int) -> Consensus:
        """Weights and disagreement up to a round."""
        t = np.arange(1.0, rounds + 1)
        prox = self.prox_weight + self.prox_growth * np.sqrt(t)
        return self.consensus_of(t**self.weight_power, prox, self.noise())


@theorem(
    quantity="E[F(ỹ(t)) - F*]",
    example=EXAMPLE | {"rounds": 60000},
)
class DualAveragingConvergence(ScheduledDualAveraging):
    """Expected suboptimality of the auxiliary sequence's weighted average."""

    findings = (
        finding(
            "Noise of n nodes enters the mean subgradient with variance mσ²/n, the bound charges mσ².",
            "loose",
            lambda result: result.sigma > 0 and result.nodes > 1,
        ),
        finding(
            "Disagreement is bounded by a geometric series with the latest weight for all rounds; the "
            "sum itself is smaller, and noise of different rounds adds up in squares.",
            "loose",
        ),
        finding(
            "Lipschitz losses on the domain of h do not bound subgradients at its boundary; the bound "
            "is a promise.",
            "remark",
        ),
    )
    assumptions = (*PROMISES, NON_NEGATIVE_PROX)

    prox_distance: float = number("d(x*)", check=checks.non_negative, default=0.0)

    def prox_term(self) -> float:
        """``γ(t)d(x*)``."""
        return (self.prox_weight + self.prox_growth * self.rounds**0.5) * self.prox_distance

    def claimed(self) -> Rate:
        """Eq. (7)."""
        self.require(Scope.CLAIMED)
        found, big, gap = self.consensus(self.rounds), self.subgradient_bound, 1 - self.beta()
        share = float((found.weights**2 / found.stiffness).sum())
        constant, noise = _printed(big, gap, self.noise())
        value = (self.prox_term() + share * (constant + noise)) / float(found.sums[-1])
        numbers = {"beta": self.beta(), "noise_share": share * noise / float(found.sums[-1])}
        return Rate(inflated(value, self.rounds), numbers, "printed formula")

    def certified(self) -> Rate:
        """The sums of the proof."""
        self.require(Scope.CERTIFIED)
        found = self.consensus(self.rounds)
        value = self.suboptimality(found, self.noise(), self.prox_term())
        return Rate(value, {"beta": self.beta()}, "sums of the proof, noise averaged over nodes")

    def symbolic(self) -> tuple[Formula, ...]:
        """Eq. (7)."""
        import sympy

        mu, big, beta, m, s, p, g0, g1, dist = sympy.symbols(
            "mu L beta m sigma p gamma_0 gamma_1 d", nonnegative=True
        )
        k, j = sympy.symbols("k j", integer=True, positive=True)
        t = sympy.Symbol("t", integer=True, positive=True)

        def total(upper: sympy.Expr) -> sympy.Expr:
            return sympy.Sum(j**p, (j, 1, upper))

        share = sympy.Sum(k ** (2 * p) / (mu * total(k) + g0 + g1 * sympy.sqrt(k)), (k, 1, t))
        constant, noise = _printed(big, 1 - beta, sympy.sqrt(m) * s)
        printed = ((g0 + g1 * sympy.sqrt(t)) * dist + share * (constant + noise)) / total(t)
        values = network_values(self) | {
            "m": float(self.dimension),
            "sigma": self.sigma,
            "p": self.weight_power,
            "gamma_0": self.prox_weight,
            "gamma_1": self.prox_growth,
            "d": self.prox_distance,
            "t": float(self.rounds),
        }
        return (Formula("claimed.value", printed, values),)


def _printed(bound: Any, gap: Any, noise: Any) -> tuple[Any, Any]:
    """What a round adds without noise and because of it, for numbers or symbols; noise is √m σ."""
    return bound**2 / 2 + 2 * bound**2 / gap, noise**2 / 2 + 2 * noise * bound / gap
