"""What evidence says about a privacy claim: attacks that refute, or say what they would have seen.

    from dpcalc.auditing import Claim, audit, mechanism

    def release(data, generator, runs):            # runs first; all randomness from the generator
        return data.sum() + generator.laplace(scale=1.0, size=runs)

    target = mechanism(release, with_record, without_record, adjacency="add-remove")
    print(audit(target, Claim.of(epsilon=1, adjacency="add-remove"), runs=20_000))

A verdict is REFUTED, NOT REFUTED, UNDERPOWERED or PRECONDITION FAILED; never "is private".
"""

from __future__ import annotations

from dpcalc.auditing.audit import audit, audit_all
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.design import METHODS, AuditDesign
from dpcalc.auditing.evidence import AdversaryAccess, Evidence, Finding, Severity
from dpcalc.auditing.experiment import Experiment, Progress
from dpcalc.auditing.neighbour_search import RankedTarget, rank_neighbours
from dpcalc.auditing.recorded import audit_canaries, audit_counts, audit_guesses, audit_scores
from dpcalc.auditing.sampling.observations import Counts, Observations, from_scores
from dpcalc.auditing.scores import read_labelled_scores, read_scores
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.auditing.targets.target import (
    ImportanceSample,
    Noise,
    ReplayDistances,
    Target,
    World,
    features,
    mechanism,
)
from dpcalc.auditing.verdict import Outcome, Verdict

__all__ = [
    "METHODS",
    "AdversaryAccess",
    "AuditDesign",
    "Claim",
    "Counts",
    "Evidence",
    "Experiment",
    "Finding",
    "ImportanceSample",
    "Noise",
    "Observations",
    "Outcome",
    "Progress",
    "Quantity",
    "RankedTarget",
    "ReplayDistances",
    "Severity",
    "Target",
    "Verdict",
    "World",
    "algorithm_target",
    "audit",
    "audit_all",
    "audit_canaries",
    "audit_counts",
    "audit_guesses",
    "audit_scores",
    "features",
    "from_scores",
    "mechanism",
    "rank_neighbours",
    "read_labelled_scores",
    "read_scores",
]
