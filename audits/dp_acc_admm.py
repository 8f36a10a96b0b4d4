"""Attack on DP-AccADMM (shang2021): the cases of DP-ADMM under Nesterov's momentum.

Momentum works on released numbers alone, so the transcript's law is that of DP-ADMM; the last
iterate's is not.
"""

from __future__ import annotations

from functools import partial

from dpcalc.algorithms.dp_acc_admm import DPAccADMM
from dpcalc.auditing.suite.case import Audit, SupportingTable
from dpcalc.audits.dp_admm import cases
from dpcalc.audits.instances.gradient_perturbed_admm import exact_last_iterates

AUDIT = Audit(
    key="dp-acc-admm",
    title="DP-AccADMM",
    reference="shang2021, algorithm 3 and theorem 1",
    theorem="dp-admm",
    cases=cases(DPAccADMM),
    exhibits=(
        SupportingTable(
            key="last-iterate",
            title="Exact δ(1) of the last iterate against the claimed 1e-3",
            columns=("rounds", "printed start", "zero start", "claimed"),
            rows=partial(exact_last_iterates, DPAccADMM),
        ),
    ),
)
