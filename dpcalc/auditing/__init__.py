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
from dpcalc.auditing.design import METHODS, Plan
from dpcalc.auditing.evidence import Access, Evidence, Finding, Severity
from dpcalc.auditing.experiment import Experiment, Progress
from dpcalc.auditing.neighbour_search import Candidate, ranked
from dpcalc.auditing.recorded import judge_canaries, judge_counts, judge_guesses, judge_scores
from dpcalc.auditing.sampling.observations import Counts, Observations, from_scores
from dpcalc.auditing.scores import read_labelled_scores, read_scores
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.auditing.targets.target import Noise, Shift, Target, Tilted, World, features, mechanism
from dpcalc.auditing.verdict import Outcome, Verdict

__all__ = [
    "METHODS",
    "Access",
    "Candidate",
    "Claim",
    "Counts",
    "Evidence",
    "Experiment",
    "Finding",
    "Noise",
    "Observations",
    "Outcome",
    "Plan",
    "Progress",
    "Quantity",
    "Severity",
    "Shift",
    "Target",
    "Tilted",
    "Verdict",
    "World",
    "algorithm_target",
    "audit",
    "audit_all",
    "features",
    "from_scores",
    "judge_canaries",
    "judge_counts",
    "judge_guesses",
    "judge_scores",
    "mechanism",
    "ranked",
    "read_labelled_scores",
    "read_scores",
]
