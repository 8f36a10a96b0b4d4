"""Attack on penalty perturbation (zhang2018): all broadcasts, exact densities with their Jacobians.

claimed, certified   outcomes crafted for the worst records come within 1 per cent of the
                     certified β, and stay below it
reconstruction       the noise averages out over the rounds, and what is left is the direction of
                     the one unknown record (appendix E); a private penalty only delays it
rate                 equation (23) promises a contraction that a triangle does not have
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dpcalc.algorithms.penalty_perturbation import PenaltyPerturbation
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.auditing.suite.case import Audit, Case, ClaimSource, SupportingTable, planted
from dpcalc.auditing.verdict import Outcome
from dpcalc.audits.bugs.objective_perturbation import (
    LaplacePerCoordinate,
    WrongRadius,
    drawn_as,
    early_stopped,
    half_the_rounds,
    without_jacobian,
)
from dpcalc.audits.evidence.convergence_counterexamples import m_admm_stalls, printed_rate
from dpcalc.audits.evidence.reconstruction import with_private_penalty, with_public_penalty
from dpcalc.audits.instances.objective_perturbation import (
    CURVED,
    STRONG,
    Method,
    claimed,
    instance,
    instance_of_theorem,
)

DELTA = 1e-6


def cases(method: Method) -> tuple[Case, ...]:
    """All cases of a method of objective perturbation."""
    quiet = (Outcome.NOT_REFUTED, Outcome.UNDERPOWERED)

    def case(key: str, title: str, role: ClaimSource, made: Any, expected: Any) -> Case:
        return Case(key=key, title=title, role=role, instance=made, expected=expected)

    return (
        case("claimed", "the printed β", ClaimSource.PAPER, lambda: claimed(method), quiet),
        case(
            "certified",
            "the certified β where the Jacobian is free",
            ClaimSource.CERTIFIED,
            lambda: instance(method, *STRONG),
            quiet,
        ),
        case(
            "certified-curved",
            "the certified β where the Jacobian costs",
            ClaimSource.CERTIFIED,
            lambda: instance(method, *CURVED),
            quiet,
        ),
        case(
            "composed",
            "the certified composition at δ = 1e-6",
            ClaimSource.CERTIFIED,
            lambda: instance(method, *STRONG, delta=DELTA),
            quiet,
        ),
        planted("no-jacobian", "the Jacobian left out", lambda: without_jacobian(method)),
        planted("half-the-rounds", "half of the rounds charged", lambda: half_the_rounds(method)),
        planted(
            "laplace-per-coordinate",
            "independent Laplace coordinates for the exponential norm",
            lambda: drawn_as(method, LaplacePerCoordinate),
        ),
        planted(
            "short-radius",
            "a Gamma(1) radius for Gamma(d)",
            lambda: drawn_as(method, WrongRadius),
        ),
        planted("hasty-solver", "an inner solver that stops early", lambda: early_stopped(method)),
    )


def _make(problem: ConsensusProblem, penalty: float, linear_rate: float, rounds: int) -> Any:
    return PenaltyPerturbation(
        problem,
        rounds=rounds,
        penalty=penalty,
        dual_step=penalty,
        noise_rate=2 * penalty * linear_rate,
        initial="random",
    )


METHOD = Method(
    theorem="penalty-perturbation",
    noisy=3,
    make=_make,
    rate=lambda penalty, linear_rate: 2 * penalty * linear_rate,
)

AUDIT = Audit(
    key="penalty-perturbation",
    title="Penalty perturbation for ADMM on a network",
    reference="zhang2018, algorithm 1, theorem 4.1, appendix E",
    theorem="penalty-perturbation",
    libraries=("networkx",),
    cases=cases(METHOD),
    instance_of_theorem=partial(instance_of_theorem, METHOD),
    exhibits=(
        SupportingTable(
            key="stalled",
            title="M-ADMM with growing penalties: distance from the optimum",
            columns=("rounds", "distance", "product of 2η/(1 + 2η)"),
            rows=m_admm_stalls,
            note="Penalties with summable inverses stop the method short of it; theorem 3.1 has them.",
        ),
        SupportingTable(
            key="reconstruction",
            title="Cosine of the reconstructed with the true direction of the unknown record",
            columns=("rounds T", "median", "worst of 8"),
            rows=partial(with_public_penalty, METHOD, 1.0, 1.0),
            note="The adversary knows all other records and the penalty. β grows with T and covers "
            "this; it says what the budget buys.",
        ),
        SupportingTable(
            key="private-penalty",
            title="The same with a penalty that nobody published, on three nodes",
            columns=("rounds T", "penalty η", "its estimate", "cosine", "with a guess of 2η"),
            rows=with_private_penalty,
            note="Medians of 8 runs. The broadcasts tell the penalty, and over many rounds even a "
            "wrong guess of it will do: keeping it private is no protection (section 6.2 says it is).",
        ),
        SupportingTable(
            key="rate",
            title="M-ADMM on a triangle, η = 1, θ = ½: contraction δ of equation (23)",
            columns=("curvature m = M", "δ of (23)", "largest δ of (21)-(22)", "slowest quadratic"),
            rows=printed_rate,
            note="(23) is printed as a lower bound of the δ of (21)-(22). Where it exceeds the last "
            "column, a network contracts more slowly than it promises.",
        ),
    ),
)
