"""Disagreement of the nodes in private dual averaging.

Statement
    (1/n) Σ E|x_i(t) - y(t)| <= a(t)(L + √m σ)/((1-β)(μA(t)+γ(t))), (1/n) Σ E|x_i(t) - y(t)|² <=
    a(t)²(L² + mσ²)/((1-β)²(μA(t)+γ(t))²)

    μ = strong_convexity, L = subgradient_bound, m = dimension, σ = sigma, β = second singular value
    of the mixing matrix, a(t) = t^weight_power, γ(t) = prox_weight + prox_growth·√t.
Source
    Liu, Johansson and Shi 2022, lemma 4

    Equations (B.1) and (B.2).
Certified
    The sums over past rounds themselves; noise of different rounds adds up in squares.
Rounding
    Doubles, inflated by a bound of the rounding errors of positive sums.
"""

from __future__ import annotations

from typing import Any

from dpcalc.theorems.authoring import finding, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.convergence._dual_averaging import PROMISES, inflated, network_values
from dpcalc.theorems.convergence.dual_averaging_convergence import EXAMPLE, ScheduledDualAveraging


@theorem(
    quantity="(1/n) Σ_i E|x_i(t) - y(t)|",
    example=EXAMPLE | {"rounds": 1000},
)
class DualAveragingConsensus(ScheduledDualAveraging):
    """Expected distance between the nodes' iterates and the auxiliary sequence."""

    findings = (
        finding(
            "The lemma's proof is omitted in the paper. It holds; the newest message has already been "
            "mixed once, which saves a factor β, and noise of different rounds adds up in squares.",
            "loose",
        ),
    )
    assumptions = PROMISES

    def claimed(self) -> Rate:
        """Eq. (B.1), with (B.2) as a number."""
        self.require(Scope.CLAIMED)
        found, gap = self.consensus(self.rounds), 1 - self.beta()
        share = float(found.weights[-1]) / (gap * float(found.stiffness[-1]))
        first, second = _printed(share, self.subgradient_bound, self.noise())
        numbers = {"second_moment": inflated(second, self.rounds), "beta": self.beta()}
        return Rate(inflated(first, self.rounds), numbers, "printed formula")

    def certified(self) -> Rate:
        """The sums over rounds; the first moment by the root of the second."""
        self.require(Scope.CERTIFIED)
        apart = float(self.consensus(self.rounds).apart[-1])
        second = inflated(apart**2, self.rounds)
        numbers = {"second_moment": second, "beta": self.beta()}
        return Rate(inflated(apart, self.rounds), numbers, "sums over rounds")

    def symbolic(self) -> tuple[Formula, ...]:
        """Eqs. (B.1) and (B.2)."""
        import sympy

        mu, big, beta, m, s, a, total, gamma = sympy.symbols(
            "mu L beta m sigma a A gamma", nonnegative=True
        )
        share = a / ((1 - beta) * (mu * total + gamma))
        found = self.consensus(self.rounds)
        values = network_values(self) | {
            "m": float(self.dimension),
            "sigma": self.sigma,
            "a": float(found.weights[-1]),
            "A": float(found.sums[-1]),
            "gamma": self.prox_weight + self.prox_growth * self.rounds**0.5,
        }
        first, second = _printed(share, big, sympy.sqrt(m) * s)
        return (
            Formula("claimed.value", first, values),
            Formula("claimed.second_moment", second, values),
        )


def _printed(share: Any, bound: Any, noise: Any) -> tuple[Any, Any]:
    """Eqs. (B.1) and (B.2), for numbers or symbols: share is ``a/((1-β)(μA + γ))``, noise √m σ."""
    return share * (bound + noise), share**2 * (bound**2 + noise**2)
