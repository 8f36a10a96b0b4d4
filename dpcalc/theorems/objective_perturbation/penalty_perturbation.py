"""Penalty perturbation for ADMM on a network.

Statement
    β = max_i Σ_t C(1.4c₁ + α_i(t)) / (η_i(t) V_i B_i), if 2c₁ < (B_i/C)(ρ/N + 2θV_i) and η_i(t) >=
    θ

    Node i minimises its data term plus 2λᵀf plus ``η Σ_j |f + ε - (f_i + f_j)/2|²``, ε with density
    ∝ exp(-α|ε|), and broadcasts the minimiser; T rounds are β-differentially private.
    η = penalty, α = noise_rate, V = degree, B = n_records, C = loss_weight, ρ = regularization,
    N = n_nodes, T = rounds, c₁ = curvature, θ = dual_step.
Source
    Zhang, Khalili and Liu 2018, theorem 4.1

    Dual-variable perturbation (Zhang and Zhu 2017) is the case of a constant penalty η = θ.
Certified
    The noise enters linearly with coefficient 2ηV, so its effective rate is α/(2ηV); noise of rate α
    added to the dual variable itself enters with coefficient 2, effective rate α/2. The cost of an
    update is that of `dpcalc.theorems.objective_perturbation._update`, without side condition;
    with a dimension its law is that of `dpcalc.accounting.losses.objective_perturbation`.
Rounding
    Extended precision, inflated by its error bound and rounded up.
"""

from __future__ import annotations

from typing import Any, Literal

from dpcalc.theorems.authoring import assume, choice, finding, number, theorem
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


def _step_too_large(theorem: PenaltyPerturbation) -> str | None:
    smallest = min(theorem.penalty.rounds("penalty", theorem.rounds, theorem.cases)[0][0])
    if theorem.dual_step is not None and theorem.dual_step > smallest:
        return (
            f"penalties must be at least dual_step={theorem.dual_step:g}; the first is {smallest:g}"
        )
    return None


def _too_curved(theorem: PenaltyPerturbation) -> str | None:
    first = theorem.penalty.rounds("penalty", theorem.rounds, theorem.cases)[0][0]
    theta = theorem.dual_step
    return too_curved(theorem, first if theta is None else (theta,) * theorem.cases, "θ")


@theorem(
    status="loose",
    example={
        "n_records": 9045,
        "n_nodes": 5,
        "degree": 2,
        "loss_weight": 1750,
        "regularization": 1,
        "penalty": "0.5:1.02",
        "noise_rate": "3:1.01",
        "rounds": 50,
        "dimension": 105,
    },
)
class PenaltyPerturbation(NetworkTheorem):
    """Noise in the penalty term, or in the dual variable; every iterate is released."""

    findings = (
        finding(
            "The two Hessians differ by a rank-one term on each side of a common part, so the "
            "determinants' ratio is at most 1 + κc₁; the paper pays twice 1.4κc₁ and then drops ρ "
            "from κ.",
            "loose",
        ),
        finding(
            "For the logistic loss the gradient and the curvature of a record are tied, which makes "
            "the Jacobian free whenever α/(2ηV) is at least 1/(ρ/N + 2ηV).",
            "loose",
            lambda t: t.loss == "logistic",
        ),
        COMPOSED,
        BEYOND,
    )
    assumptions = (
        *PROMISES,
        INCREASING,
        REPLACED,
        assume(
            "penalty-at-least-dual-step",
            "Penalties are at least the dual step θ.",
            "claimed",
            _step_too_large,
        ),
        assume("curvature", "2c₁ < (B/C)(ρ/N + 2θV) at every node.", "claimed", _too_curved),
    )

    dual_step: float | None = number(
        "step of the dual update, θ (the first penalty unless given)", default=None
    )
    noise_on: Literal["penalty", "dual"] = choice(
        "where noise of rate noise_rate is added: the penalty term, or the dual variable itself",
        default="penalty",
    )

    def effective_rate(self, noise_rate: Any, pull: Any) -> Any:
        """α/(2ηV), or α/2 for noise on the dual variable."""
        return noise_rate / 2 if self.noise_on == "dual" else noise_rate / (2 * pull)

    def printed_term(self, noise_rate: Any, pull: Any, n_records: Any, fixed: Fixed) -> Any:
        """C(1.4c₁ + α)/(ηVB); noise of rate α on the dual variable is penalty noise of rate αηV."""
        rate = noise_rate * pull if self.noise_on == "dual" else noise_rate
        return fixed.loss_weight * (7 * fixed.curvature / 5 + rate) / (pull * n_records)

    def symbolic(self) -> tuple[Formula, ...]:
        """The printed sum and the certified sum, for the first round of the first node."""
        return network_formulas(self)
