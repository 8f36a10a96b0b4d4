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
from dpcalc.audits.engine.case import Audit, Exhibit
from dpcalc.audits.engine.counterexamples import printed_rate, stalled
from dpcalc.audits.engine.objective import Method, instance
from dpcalc.audits.engine.objective_cases import cases
from dpcalc.audits.engine.reconstruction import with_private_penalty, with_public_penalty


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
    instance=partial(instance, METHOD),
    exhibits=(
        Exhibit(
            key="stalled",
            title="M-ADMM with growing penalties: distance from the optimum",
            columns=("rounds", "distance", "product of 2η/(1 + 2η)"),
            rows=stalled,
            note="Penalties with summable inverses stop the method short of it; theorem 3.1 has them.",
        ),
        Exhibit(
            key="reconstruction",
            title="Cosine of the reconstructed with the true direction of the unknown record",
            columns=("rounds T", "median", "worst of 8"),
            rows=partial(with_public_penalty, METHOD, 1.0, 1.0),
            note="The adversary knows all other records and the penalty. β grows with T and covers "
            "this; it says what the budget buys.",
        ),
        Exhibit(
            key="private-penalty",
            title="The same with a penalty that nobody published, on three nodes",
            columns=("rounds T", "penalty η", "its estimate", "cosine", "with a guess of 2η"),
            rows=with_private_penalty,
            note="Medians of 8 runs. The broadcasts tell the penalty, and over many rounds even a "
            "wrong guess of it will do: keeping it private is no protection (section 6.2 says it is).",
        ),
        Exhibit(
            key="rate",
            title="M-ADMM on a triangle, η = 1, θ = ½: contraction δ of equation (23)",
            columns=("curvature m = M", "δ of (23)", "largest δ of (21)-(22)", "slowest quadratic"),
            rows=printed_rate,
            note="(23) is printed as a lower bound of the δ of (21)-(22). Where it exceeds the last "
            "column, a network contracts more slowly than it promises.",
        ),
    ),
)
