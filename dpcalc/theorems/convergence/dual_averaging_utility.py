"""Utility of private dual averaging at a budget.

Statement
    (1/n) Σ E|x̃_i(T) - x*|² <= 2·(11) + (4/μ)·(10) = O(mL² ln(1/δ)/(μ²q²ε²))

    With a(t) = t, γ = 0 and ``σ² = 12L²T ln(1/δ)/(q²ε²)``, 0 < ε <= 1, 0 < δ <= 1/3,
    (10) ``E[F(ỹ(T)) - F*] <= 4M/(μ(T+1)) + 16√(3m) ln(1/δ)L²/(μ(1-β)qε√(T+1)) +
    24mL² ln(1/δ)/(μq²ε²)`` and
    (11) ``(1/n) Σ_i E|x̃_i(T) - ỹ(T)|² <= 8(L² + mσ²)(ln T + 1)/(μ²T(T+1)(1-β)²)``.
    μ = strong_convexity, L = subgradient_bound, m = dimension, q = records_per_node, T = rounds,
    β = second singular value of the mixing matrix, M = L²/2 + 2L²/(1-β).
Source
    Liu, Johansson and Shi 2022, corollary 1, eqs. (9)-(11)
Certified
    ``(√spread + √(2·suboptimality/μ))²`` with the sums of the proof; without a number of rounds its
    limit ``48mL² ln(1/δ)/(nμ²q²ε²)``.
Rounding
    Doubles, inflated by a bound of the rounding errors of positive sums; closed forms with sixty
    digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpcalc import checks
from dpcalc.numerics.precise import round_up
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.base import Scope
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.convergence._dual_averaging import (
    PROMISES,
    Consensus,
    DualAveragingResult,
    check_rounds,
    inflated,
)
from dpcalc.theorems.numbers import Digits


def _budget_outside(result: DualAveragingUtility) -> str | None:
    if result.epsilon > 1 or result.delta > 1 / 3:
        return "the paper needs epsilon <= 1 and delta <= 1/3"
    return None


@theorem(
    quantity="(1/n) Σ_i E|x̃_i(T) - x*|²",
    example={
        "strong_convexity": 0.0005,
        "subgradient_bound": 1,
        "graph": "ring:20",
        "dimension": 2000,
        "records_per_node": 20000,
        "epsilon": 1,
        "delta": 0.01,
        "rounds": 60000,
    },
)
class DualAveragingUtility(DualAveragingResult):
    """Expected squared distance of the nodes' averages to the optimum, at the paper's noise."""

    findings = (
        finding(
            "The floor for many rounds is 96 mL² ln(1/δ)/(μ²q²ε²) by the printed constants and "
            "48/n of the same by the proof: the noise of n nodes is averaged, and the two errors are "
            "combined with the best weights.",
            "loose",
        ),
        finding(
            "The noise is that of the privacy theorem, which charges the sensitivity of a full-batch "
            "gradient; for one sampled record it hides much less. The utility stands, the budget it "
            "is said to have does not.",
            "remark",
        ),
        finding(
            "The middle term of (10) is printed with ln(1/δ); the proof gives its square root.",
            "loose",
        ),
    )
    assumptions = (
        *PROMISES,
        assume("budget", "epsilon <= 1 and delta <= 1/3.", "claimed", _budget_outside),
    )

    dimension: int = count("coordinates of x", "m")
    records_per_node: int = count("smallest number of records at a node", "q")
    epsilon: float = number("ε of the budget", "epsilon")
    delta: float = number("δ of the budget", "delta", check=checks.probability)
    rounds: int | None = count("rounds, T (the limit of many unless given)", "T", default=None)

    def _check_together(self) -> None:
        checks.proper_delta(self.delta)
        if self.rounds is not None:
            check_rounds(self.rounds)
        DualAveragingResult._check_together(self)  # noqa: SLF001 # super() fails with slots

    def variance_per_round(self, x: Numbers) -> Real:
        """``mσ²/T``, the noise of one subgradient divided by the rounds."""
        scale = x.subgradient_bound / (x.records_per_node * x.epsilon)
        return 12 * x.dimension * scale**2 * x.log(1 / x.delta)

    def noise(self, rounds: int) -> float:
        """``√m σ``, rounded up."""
        x = Digits(self)
        return round_up(x.sqrt(self.variance_per_round(x) * rounds))

    def consensus(self, rounds: int) -> Consensus:
        """Weights and disagreement up to a round."""
        t = np.arange(1.0, rounds + 1)
        return self.consensus_of(t, np.zeros(rounds), self.noise(rounds))

    def floor(self, x: Numbers) -> Real:
        """``2·(2mσ²/(μT))/μ``: half the printed limit, before it is divided by n."""
        return 4 * self.variance_per_round(x) / x.strong_convexity**2

    def claimed_value(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """Twice (11) plus 4/μ times (10), or the limit for many rounds."""
        floor = {"floor": round_up(2 * self.floor(Digits(self)))}
        if self.rounds is None:
            return 2 * self.floor(x), "limit of the printed bound for many rounds", floor
        loss, spread = self._printed_loss(x), self._printed_spread(x)
        value = 2 * spread + 4 / x.strong_convexity * loss
        numbers = {"suboptimality": loss, "spread": spread, **floor}
        return value, "printed formulas (10), (11)", numbers

    def _printed_loss(self, x: Numbers) -> Real:
        """Eq. (10)."""
        t, gap, square = x.rounds, 1 - x.named("beta", self.beta()), x.subgradient_bound**2
        logarithm, budget = x.log(1 / x.delta), x.records_per_node * x.epsilon
        first = 4 * (square / 2 + 2 * square / gap) / (t + 1)
        middle = 16 * x.sqrt(3 * x.dimension) * logarithm * square / (gap * budget * x.sqrt(t + 1))
        last = 24 * x.dimension * square * logarithm / budget**2
        return (first + middle + last) / x.strong_convexity

    def _printed_spread(self, x: Numbers) -> Real:
        """Eq. (11)."""
        t, gap = x.rounds, 1 - x.named("beta", self.beta())
        variance = x.subgradient_bound**2 + self.variance_per_round(x) * t
        return 8 * variance * (x.log(t) + 1) / (x.strong_convexity**2 * t * (t + 1) * gap**2)

    def certified(self) -> Rate:
        """The two errors of the proof, combined by Minkowski's inequality."""
        self.require(Scope.CERTIFIED)
        floor = round_up(self.floor(Digits(self)) / self.nodes)
        if self.rounds is None:
            return Rate(floor, {"floor": floor}, "limit of the certified bound for many rounds")
        noise = self.noise(self.rounds)
        return combined(self, self.consensus(self.rounds), noise, {"floor": floor})


def combined(
    result: DualAveragingResult, found: Consensus, noise: float, numbers: Mapping[str, float]
) -> Rate:
    """``(√spread + √(2·suboptimality/μ))²`` for a(t) = t, γ = 0."""
    loss = result.suboptimality(found, noise, 0.0)
    spread = result.squared_spread(found)
    value = (math.sqrt(spread) + math.sqrt(2 * loss / result.strong_convexity)) ** 2
    own = {"suboptimality": loss, "spread": spread, **numbers}
    return Rate(inflated(value, 1), own, "sums of the proof, Minkowski's inequality")
