"""Attack on private R-ADMM (zhang2019): noise in odd rounds, even rounds recycle what was broadcast.

See `engine.objective` for the attack.
"""

from __future__ import annotations

from functools import partial

from dpcalc.algorithms.private_r_admm import PrivateRADMM
from dpcalc.auditing.suite.case import Audit, SupportingTable
from dpcalc.audits.evidence.reconstruction import with_public_penalty
from dpcalc.audits.instances.objective_perturbation import instance_of_theorem, recycled
from dpcalc.audits.penalty_perturbation import cases

METHOD = recycled(PrivateRADMM)

AUDIT = Audit(
    key="private-r-admm",
    title="Private R-ADMM on a network",
    reference="zhang2019, algorithm 3, theorem V.1",
    theorem="recycled-admm",
    libraries=("networkx",),
    cases=cases(METHOD),
    instance_of_theorem=partial(instance_of_theorem, METHOD),
    exhibits=(
        SupportingTable(
            key="reconstruction",
            title="Cosine of the reconstructed with the true direction of the unknown record",
            columns=("noisy rounds K", "median", "worst of 8"),
            rows=partial(with_public_penalty, METHOD, 1.0, 1.0),
        ),
    ),
)
