"""Attack on private MR-ADMM (zhang2019): noise in odd rounds, even rounds recycle what was broadcast.

See `instances.objective_perturbation` for the attack.
"""

from __future__ import annotations

from functools import partial

from dpcalc.algorithms.private_mr_admm import PrivateMRADMM
from dpcalc.auditing.suite.case import Audit, SupportingTable
from dpcalc.audits.evidence.convergence_counterexamples import mr_admm_limit
from dpcalc.audits.evidence.reconstruction import reconstruction
from dpcalc.audits.instances.objective_perturbation import instance_of_theorem, recycled
from dpcalc.audits.penalty_perturbation import cases

METHOD = recycled(PrivateMRADMM)

AUDIT = Audit(
    key="private-mr-admm",
    title="Private MR-ADMM on a network",
    reference="zhang2019, algorithm 3, theorem V.1",
    theorem="recycled-admm",
    libraries=("networkx",),
    cases=cases(METHOD),
    instance_of_theorem=partial(instance_of_theorem, METHOD),
    exhibits=(
        SupportingTable(
            key="other-limit",
            title="MR-ADMM with penalties that differ between nodes: where it converges to",
            columns=("rounds", "mean of the nodes", "minimiser of ΣO/η", "optimum"),
            rows=mr_admm_limit,
            note="The claimed convergence to the optimum (theorem IV.1) fails for such penalties.",
        ),
        reconstruction(METHOD),
    ),
)
