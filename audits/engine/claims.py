"""Evidence for a judged claim: the worst mechanism known with its parameters, attacked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dpcalc.auditing import Claim, Plan
from dpcalc.auditing.attacked import Attacked
from dpcalc.auditing.audit import attack
from dpcalc.audits.engine.catalogue import instance_of
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.claims.verdict import Judgement


def attacked(judgement: Judgement, *, alpha: float, runs: int, seed: int) -> Attacked | None:
    """The claim under attack; None if nothing is claimed or no audit knows such a mechanism."""
    if judgement.claimed is None:
        return None
    begun, judged = time.monotonic(), judgement.claim
    claim = Claim.of(
        epsilon=judgement.claimed,
        delta=judged.delta,
        adjacency=getattr(judged.theorem, "adjacency", Adjacency.REPLACE_ONE),
        release=judged.theorem.release,
    )
    setting = instance_of(judged.theorem, claim)
    if setting is None:
        return None
    plan = Plan.made(setting.target, claim, runs=runs, alpha=alpha)
    verdict, experiment = attack(setting.target, claim, plan, seed=seed, controls=False)
    return Attacked(
        key=judged.name,
        title=judged.name,
        role="claims file",
        verdict=verdict,
        experiment=experiment,
        certified=judgement.certified,
        note=setting.note,
        seconds=time.monotonic() - begun,
    )
