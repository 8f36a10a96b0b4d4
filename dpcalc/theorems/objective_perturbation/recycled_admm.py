"""Recycled ADMM (R-ADMM, MR-ADMM) on a network.

Statement
    β = max_i Σ_k (2C/B_i)(1.4c₁/(ρ/N + 2η_i(2k-1)V_i) + α_i(k)), if 2c₁ < (B_i/C)(ρ/N + 2η_i(1)V_i)
    and η_i does not decrease

    In odd rounds node i minimises its data term plus (2λ + ε)ᵀf plus a penalty, ε with density
    ∝ exp(-α|ε|), and broadcasts the minimiser; even rounds compute from what odd rounds released; K odd
    rounds are β-differentially private.
    η = penalty, α = noise_rate, V = degree, B = n_records, C = loss_weight, ρ = regularization,
    N = n_nodes, K = rounds, c₁ = curvature.
Source
    Zhang, Khalili and Liu 2019, lemma V.1 and theorem V.1

    R-ADMM has constant penalties, MR-ADMM non-decreasing ones.
Certified
    Even rounds are post-processing (lemma V.1 holds). The noise is linear, its effective rate is α.
    The cost of an odd update is that of `dpcalc.theorems.objective_perturbation._update`; with a
    dimension its law is that of `dpcalc.accounting.losses.objective_perturbation`.
Rounding
    Extended precision, inflated by its error bound and rounded up.
"""

from __future__ import annotations

from typing import Any

from dpcalc.theorems.authoring import assume, finding, theorem
from dpcalc.theorems.objective_perturbation._assumptions import (
    BEYOND,
    COMPOSED,
    INCREASING,
    PROMISES,
    REPLACED,
    too_curved,
)
from dpcalc.theorems.objective_perturbation._formulas import network_formulas
from dpcalc.theorems.objective_perturbation._network import NetworkTheorem
from dpcalc.theorems.objective_perturbation._update import Fixed
from dpcalc.theorems.statements import Formula


def _too_curved(theorem: RecycledADMM) -> str | None:
    first = theorem.penalty.rounds("penalty", theorem.rounds, theorem.cases)[0][0]
    return too_curved(theorem, first, "η(1)")


@theorem(
    status="loose",
    example={
        "n_records": 8000,
        "n_nodes": 5,
        "degree": 3,
        "loss_weight": 1750,
        "regularization": 0.22,
        "penalty": 1,
        "noise_rate": 1,
        "rounds": 25,
        "dimension": 105,
    },
)
class RecycledADMM(NetworkTheorem):
    """Linear noise in odd rounds, free even rounds; every iterate is released."""

    findings = (
        finding(
            "The two Hessians differ by a rank-one term on each side of a common part, so the "
            "determinants' ratio is at most 1 + κc₁; the paper pays twice 1.4κc₁.",
            "loose",
        ),
        finding(
            "For the logistic loss the gradient and the curvature of a record are tied, which makes "
            "the Jacobian free whenever α is at least 1/(ρ/N + 2ηV).",
            "loose",
            lambda t: t.loss == "logistic",
        ),
        COMPOSED,
        finding(
            "The advantage over conventional ADMM was measured against twice as many noisy rounds; "
            "stopped after as many noisy rounds, conventional ADMM with the same linear noise has "
            "the same bound.",
            "remark",
        ),
        BEYOND,
    )
    assumptions = (
        *PROMISES,
        INCREASING,
        REPLACED,
        assume("curvature", "2c₁ < (B/C)(ρ/N + 2η(1)V) at every node.", "claimed", _too_curved),
    )

    def effective_rate(self, noise_rate: Any, pull: Any) -> Any:
        """α."""
        return noise_rate

    def printed_term(self, noise_rate: Any, pull: Any, n_records: Any, fixed: Fixed) -> Any:
        """(2C/B)(1.4c₁/(ρ/N + 2ηV) + α)."""
        curvature = 7 * fixed.curvature / 5 / (fixed.ridge + 2 * pull)
        return 2 * fixed.loss_weight / n_records * (curvature + noise_rate)

    def symbolic(self) -> tuple[Formula, ...]:
        """The printed sum and the certified sum, for the first round of the first node."""
        return network_formulas(self)
