"""Attack on private R-ADMM (zhang2019): noise in odd rounds, even rounds recycle what was broadcast.

Even rounds are functions of the broadcasts before them, so the exact likelihood ratio has a term per
odd round only; outcomes crafted for the worst records come within 1 per cent of the certified β.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dpcalc.algorithms.private_r_admm import PrivateRADMM
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.audits.engine.case import Audit, Exhibit
from dpcalc.audits.engine.objective import Method, cases, instance
from dpcalc.audits.engine.reconstruction import with_public_penalty


def _make(problem: ConsensusProblem, penalty: float, linear_rate: float, noisy: int) -> Any:
    return PrivateRADMM(
        problem,
        rounds=2 * noisy,
        penalty=penalty,
        noise_rate=linear_rate,
        proximal_weight=0.5,
        initial="random",
    )


METHOD = Method(
    theorem="recycled-admm", noisy=2, make=_make, rate=lambda _, linear_rate: linear_rate
)

AUDIT = Audit(
    key="private-r-admm",
    title="Private R-ADMM on a network",
    reference="zhang2019, algorithm 3, theorem V.1",
    theorem="recycled-admm",
    cases=cases(METHOD),
    instance=partial(instance, METHOD),
    exhibits=(
        Exhibit(
            key="reconstruction",
            title="Cosine of the reconstructed with the true direction of the unknown record",
            columns=("noisy rounds K", "median", "worst of 8"),
            rows=partial(with_public_penalty, METHOD, 1.0, 1.0),
        ),
    ),
)
