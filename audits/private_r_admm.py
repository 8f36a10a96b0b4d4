"""Attack on private R-ADMM (zhang2019): noise in odd rounds, even rounds recycle what was broadcast.

See `instances.objective_perturbation` for the attack.
"""

from __future__ import annotations

from functools import partial

from dpcalc.algorithms.private_r_admm import PrivateRADMM
from dpcalc.auditing.suite.case import Audit
from dpcalc.audits.evidence.reconstruction import reconstruction
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
    exhibits=(reconstruction(METHOD),),
)
