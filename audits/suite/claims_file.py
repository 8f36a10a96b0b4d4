"""Evidence for a judged claim: the worst mechanism known with its parameters, attacked."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

from dpcalc.auditing import AuditDesign, Claim
from dpcalc.auditing.audit import run_audit
from dpcalc.auditing.result import AuditResult
from dpcalc.audits.suite.catalogue import instance_of_theorem
from dpcalc.claims.verdict import Claim as JudgedClaim
from dpcalc.execution import in_order, is_enough
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.claims.verdict import Judgement
    from dpcalc.store import Store


def attack_claims(
    judgements: Iterable[Judgement],
    *,
    count: int,
    alpha: float,
    runs: int,
    seed: int,
    memory: float | None = None,
    checkpoint: Store | None = None,
    executor: Executor | None = None,
) -> list[AuditResult | None]:
    """Every claim attacked on the worst mechanism known; None where there is none.

    Args:
        judgements: of the claims.
        count: how many they are; α is split evenly over them.
        alpha: probability that any true claim is refuted.
        runs: counted runs of each attack.
        seed: of all of them.
        memory: bytes for the releases that a process holds at once; see `AuditDesign.for_claim`.
        checkpoint: where runs are kept; every claim has a section of its own.
        executor: who does the work; this process if left out.
    """
    one = partial(attacked, alpha=alpha / max(count, 1), runs=runs, seed=seed, memory=memory)
    if is_enough(count, executor) and checkpoint is None:
        return list(in_order(one, judgements, executor, what="claim"))
    return [
        one(
            judgement,
            checkpoint=None if checkpoint is None else checkpoint.section(f"claim {number}"),
            executor=executor,
        )
        for number, judgement in enumerate(judgements, start=1)
    ]


@own_arithmetic
def attacked(
    judgement: Judgement,
    *,
    alpha: float,
    runs: int,
    seed: int,
    memory: float | None = None,
    checkpoint: Store | None = None,
    executor: Executor | None = None,
) -> AuditResult | None:
    """The claim under attack; None if nothing is claimed or no audit knows such a mechanism."""
    begun, judged = time.monotonic(), judgement.claim
    if judgement.claimed is None or not isinstance(judged, JudgedClaim):
        return None
    claim = Claim.of(
        epsilon=judgement.claimed,
        delta=judged.delta,
        adjacency=getattr(judged.theorem, "adjacency", Adjacency.REPLACE_ONE),
        release=judged.theorem.release,
    )
    instance = instance_of_theorem(judged.theorem, claim)
    if instance is None:
        return None
    design = AuditDesign.for_claim(instance.target, claim, runs=runs, alpha=alpha, memory=memory)
    verdict, experiment = run_audit(
        instance.target,
        claim,
        design,
        seed=seed,
        controls=False,
        checkpoint=checkpoint,
        executor=executor,
    )
    return AuditResult(
        key=judged.name,
        title=judged.name,
        role="claims file",
        verdict=verdict,
        experiment=experiment,
        certified=judgement.certified,
        note=instance.note,
        seconds=time.monotonic() - begun,
    )
