"""A verdict on recorded transcripts: what runs with and without a record released.

Some runs of each kind teach a score what to look at, others choose among the scores that were learnt;
neither are counted. The rest have one score each and are judged as recorded scores are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.rule_choice import Promise, promised
from dpcalc.auditing.learning.choice import best, candidates
from dpcalc.auditing.recorded import audit_scores
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.auditing.sampling.runner import new_seed
from dpcalc.auditing.targets.target import features
from dpcalc.auditing.verdict import ALPHA, DEFAULT_DETECTABLE_RATIO, Verdict
from dpcalc.errors import InvalidInput
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.transcript import Transcript

Array = NDArray[np.float64]

FEWEST = 50
"""Runs of each kind."""

_TAUGHT = 0.3
"""Share of the runs of each kind from which scores are learnt, or among which one is chosen."""


@own_arithmetic
def audit_transcripts(
    claim: Claim,
    first: Transcript,
    second: Transcript,
    *,
    alpha: float = ALPHA,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    seed: int | None = None,
) -> Verdict:
    """The verdict from what independent runs released, with the record and without it.

    Args:
        claim: what is tested; its release is that of the transcripts.
        first: runs with the record.
        second: runs without it.
        alpha: probability of refuting a true claim.
        detectable_ratio: see `Verdict`.
        seed: of the choice of runs, of the shuffle and the coins; one is made and reported if left
            out.

    Raises:
        InvalidInput: if the transcripts are not of one algorithm, release and shape, there are too
            few runs, or the claim is about another release.
    """
    _check(claim, first, second)
    seed = new_seed() if seed is None else seed
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    numbers = [draw.permutation(features(kind)) for kind in (first, second)]
    taught = [int(_TAUGHT * len(rows)) // 2 for rows in numbers]
    scores = candidates(*(rows[:k] for rows, k in zip(numbers, taught, strict=True)))
    each = min(taught)  # of one kind more would choose what answers that kind
    tried = [rows[k : k + each] for rows, k in zip(numbers, taught, strict=True)]
    counted = [rows[k + each :] for rows, k in zip(numbers, taught, strict=True)]
    flags = np.repeat([True, False], each)
    terms: dict[str, Any] = {
        "delta": claim.delta,
        "alpha": alpha,
        "curve": claim.quantity is not Quantity.EPSILON,
        "counted": sum(len(rows) for rows in counted),
    }

    def promise(values: Array) -> Promise:
        return promised(Observations(is_in=flags, score=values), **terms)

    name, score = best(scores, np.concatenate(tried), flags, promise)
    return audit_scores(
        claim,
        *(score(rows) for rows in counted),
        alpha=alpha,
        detectable_ratio=detectable_ratio,
        seed=seed,
        name=f"transcripts of {first.algorithm}, by {name}",
    )


def _check(claim: Claim, first: Transcript, second: Transcript) -> None:
    kinds = [
        (t.algorithm, str(t.release), t.rounds, {n: s.values.shape[1:] for n, s in t.released.items()})
        for t in (first, second)
    ]  # fmt: skip
    if kinds[0] != kinds[1]:
        raise InvalidInput(
            f"expected transcripts of one algorithm, release and shape; got {kinds[0]} and "
            f"{kinds[1]}"
        )
    if claim.release.value != first.release.value:
        raise InvalidInput(
            f"expected a claim about {first.release}, which the transcripts hold; got one about "
            f"{claim.release}"
        )
    if min(first.runs, second.runs) < FEWEST:
        raise InvalidInput(
            f"expected {FEWEST} runs of each kind; got {first.runs} and {second.runs}; record more"
        )
