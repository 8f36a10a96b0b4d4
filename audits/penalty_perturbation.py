"""Attack on penalty perturbation (zhang2018): all broadcasts, exact densities with their Jacobians.

claimed, certified   outcomes crafted for the worst records come within 1 per cent of the
                     certified β, and stay below it
reconstruction       with a public penalty the noise averages out over the rounds, and what is
                     left is the direction of the one unknown record (appendix E)
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dpcalc.algorithms.penalty_perturbation import PenaltyPerturbation
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.audits.engine.case import Audit, Exhibit
from dpcalc.audits.engine.counterexamples import stalled
from dpcalc.audits.engine.objective import Method, cases, instance, reconstruction


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
            rows=partial(reconstruction, METHOD, 1.0, 1.0),
            note="The adversary knows all other records and the penalty. β grows with T and covers "
            "this; it says what the budget buys.",
        ),
    ),
)
