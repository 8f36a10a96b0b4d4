"""Rate of dual averaging without noise.

Statement
    (1/n) Σ E|x̃_i(t) - x*|² <= (16/(t+1))(L²(ln t + 1)/(μ²(1-β)²t) + M/μ²), M = L²/2 + 2L²/(1-β)

    With a(t) = t, γ = 0 and σ = 0.
    μ = strong_convexity, L = subgradient_bound, β = second singular value of the mixing matrix,
    t = rounds.
Source
    Liu, Johansson and Shi 2022, corollary 2, eq. (12)
Certified
    ``(√spread + √(2·suboptimality/μ))²`` with the sums of the proof.
Rounding
    Doubles, inflated by a bound of the rounding errors of positive sums; closed forms with sixty
    digits.
"""

from __future__ import annotations

import numpy as np

from dpcalc.theorems.authoring import Numbers, Real, count, finding, theorem
from dpcalc.theorems.base import Scope
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.convergence._dual_averaging import (
    PROMISES,
    Consensus,
    DualAveragingResult,
    check_rounds,
)
from dpcalc.theorems.convergence.dual_averaging_utility import combined


@theorem(
    quantity="(1/n) Σ_i E|x̃_i(t) - x*|²",
    example={
        "strong_convexity": 0.0005,
        "subgradient_bound": 1,
        "graph": "ring:20",
        "rounds": 60000,
    },
)
class DualAveragingRate(DualAveragingResult):
    """Expected squared distance of the nodes' averages to the optimum, without noise."""

    findings = (
        finding(
            "The sums of the proof are smaller than their closed bounds, and the two errors can be "
            "combined with the best weights instead of twice each.",
            "loose",
        ),
    )
    assumptions = PROMISES

    rounds: int = count("rounds", "t")

    def _check_together(self) -> None:
        check_rounds(self.rounds)
        DualAveragingResult._check_together(self)  # noqa: SLF001 # super() fails with slots

    def consensus(self, rounds: int) -> Consensus:
        """Weights and disagreement up to a round."""
        return self.consensus_of(np.arange(1.0, rounds + 1), np.zeros(rounds), 0.0)

    def claimed_value(self, x: Numbers) -> tuple[Real, str, dict[str, float]]:
        """Eq. (12)."""
        t, square, gap = x.rounds, x.subgradient_bound**2, 1 - x.named("beta", self.beta())
        constant = square / 2 + 2 * square / gap
        spread = square * (x.log(t) + 1) / (gap**2 * t)
        value = 16 / (t + 1) * (spread + constant) / x.strong_convexity**2
        return value, "printed formula (12)", {"beta": self.beta()}

    def certified(self) -> Rate:
        """The two errors of the proof, combined by Minkowski's inequality."""
        self.require(Scope.CERTIFIED)
        return combined(self, self.consensus(self.rounds), 0.0, {"beta": self.beta()})
