"""From a target and a claim to a verdict.

checks that need no statistics -> pilot -> counted runs -> noise check
    -> lower bounds, each at its share of the error probability -> controls -> verdict
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcalc.auditing.advice import Unused
from dpcalc.auditing.checks import deterministic_findings, repetition
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.controls.run import run_controls
from dpcalc.auditing.decision import decide
from dpcalc.auditing.design import AuditDesign
from dpcalc.auditing.evidence import Evidence, Finding, Severity
from dpcalc.auditing.experiment import Experiment, Progress, RunOptions, carry_out
from dpcalc.auditing.lower_bounds import evaluate
from dpcalc.auditing.sampling.layout import of_one_layout
from dpcalc.auditing.sampling.runner import new_seed
from dpcalc.auditing.stages.pace import Clock, finding
from dpcalc.auditing.targets.target import Target
from dpcalc.auditing.verdict import ALPHA, DEFAULT_DETECTABLE_RATIO, Verdict, strength
from dpcalc.auditing.versions import versions
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.execution import where_it_can_be_ended
from dpcalc.numerics.arithmetic import own_arithmetic

if TYPE_CHECKING:
    import os

    from dpcalc.store import Store


@own_arithmetic
def audit(
    target: Target,
    claim: Claim,
    *,
    runs: int = 2000,
    alpha: float = ALPHA,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
    early_stop: bool = False,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    design: AuditDesign | None = None,
    **options: Any,
) -> Verdict:
    """Attack a target and hold what was found against a claim.

    Example::

        import numpy as np
        from dpcalc import Claim, audit
        from dpcalc.auditing import mechanism
        def release(data, generator, runs):
            return data.sum() + generator.laplace(size=runs)
        target = mechanism(release, np.ones(11), np.ones(10), adjacency="add-remove")
        claim = Claim.of(epsilon=0.3, adjacency="add-remove")
        print(audit(target, claim, runs=1000, seed=1).outcome)

    Args:
        target: what is attacked.
        claim: what is claimed of it; its adjacency must be the target's.
        runs: counted runs of both worlds together.
        alpha: probability of refuting a true claim.
        seed: from which everything random is drawn; one is made and reported if left out.
        methods: names from `design.METHODS`; chosen by what is known if left out.
        early_stop: stop as soon as the e-process refutes the claim.
        detectable_ratio: there is enough power if this many times the claimed value would be noticed.
        design: your own design, instead of runs, alpha, methods, early_stop and
            detectable_ratio.
        options: those of `run_audit`: controls, seconds, progress and the like.

    Returns:
        The verdict with its reason, evidence and checks.

    Raises:
        InvalidInput: if claim and target are about different adjacencies, or a callable of the
            target returns something of the wrong shape.
        AssumptionViolated: if a method does not suit the claim or the target.
    """
    _same_adjacency(target, claim)
    if design is None:
        design = AuditDesign.for_claim(
            target,
            claim,
            runs=runs,
            alpha=alpha,
            methods=methods,
            early_stop=early_stop,
            detectable_ratio=detectable_ratio,
        )
    return run_audit(target, claim, design, seed=new_seed() if seed is None else seed, **options)[0]


@own_arithmetic
def run_audit(
    target: Target,
    claim: Claim,
    design: AuditDesign,
    *,
    seed: int,
    controls: bool = True,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | Store | None = None,
    executor: Executor | None = None,
) -> tuple[Verdict, Experiment | None]:
    """Carry out a plan: the verdict and what was observed.

    Nothing is observed, and None returned for it, if a check without statistics settles the claim.

    Args:
        target: what is attacked.
        claim: what is claimed of it.
        design: what is to be done.
        seed: from which everything random is drawn.
        controls: also run the same design on mechanisms whose answer is known.
        seconds: for all of it. Batches and the pilot are smaller where runs are slow, and no batch is
            begun that would end later; what is made in any case may take longer, and then a finding
            says so. The number of runs depends on the machine.
        progress: called after every batch.
        checkpoint: a file, or a section of an open store, from which an interrupted audit resumes.
        executor: who makes the runs, anything with the ``submit`` of `concurrent.futures.Executor`;
            this process if left out. The verdict is the same.

    Raises:
        AssumptionViolated: if the target has randomness of its own and an executor is given: its
            copies in several workers could repeat each other's runs.
        WorkersLost: if workers went away and took runs with them.
    """
    _same_adjacency(target, claim)
    clock = Clock(seconds)
    watch = RunOptions(clock=clock, progress=progress, checkpoint=checkpoint, executor=executor)
    checks = partial(
        own_arithmetic(deterministic_findings),
        target, claim, seed=seed, error=design.for_checks, seconds=seconds,
    )  # fmt: skip
    findings = where_it_can_be_ended(checks, executor, what="set of checks")
    if executor is not None:
        _ready_for_workers(target, findings)
    if any(finding.severity is Severity.REFUTES for finding in findings):
        findings += _late(clock, design, None)
        return _concluded(target, claim, design, seed, findings), None
    target = where_it_can_be_ended(
        partial(of_one_layout, target, seed), executor, what="first look"
    )
    experiment = carry_out(target, claim, design, seed=seed, watch=watch)
    evidence, more = evaluate(experiment, claim)
    findings += more
    known: dict[str, str] = {}
    if controls:
        made = design if seconds is None else replace(design, runs=experiment.seen.runs)
        known, more = run_controls(claim, made, seed=seed, executor=executor)
        findings += more
    findings += _late(clock, design, experiment)
    given = evidence, experiment, known
    return _concluded(target, claim, design, seed, findings, *given), experiment


def _late(clock: Clock, design: AuditDesign, experiment: Experiment | None) -> list[Finding]:
    """What a limit of time changed."""
    if experiment is None:
        found = finding(clock, 0, 0)
    else:
        made, used = experiment.seen.runs, experiment.design
        found = finding(
            clock,
            made,
            made if experiment.stopped else design.runs,
            sizes=None if used == design else (used.batch, used.pilot),
        )
    return [] if found is None else [found]


def _concluded(
    target: Target,
    claim: Claim,
    design: AuditDesign,
    seed: int,
    findings: Sequence[Finding],
    evidence: Sequence[Evidence] = (),
    experiment: Experiment | None = None,
    controls: Mapping[str, str] | None = None,
) -> Verdict:
    unused = Unused(density=target.log_ratio is None)
    outcome, reason = decide(
        claim, evidence, findings, detectable_ratio=design.detectable_ratio, unused=unused
    )
    return Verdict(
        target=target.name,
        claim=claim,
        outcome=outcome,
        reason=reason,
        evidence=tuple(sorted(evidence, key=strength, reverse=True)),
        findings=tuple(findings),
        alpha=design.alpha,
        runs=experiment.runs if experiment is not None else 0,
        seed=seed,
        detectable_ratio=design.detectable_ratio,
        versions=versions(),
        controls=dict(controls or {}),
    )


def audit_all(
    targets: Sequence[Target], claims: Sequence[Claim], *, alpha: float = ALPHA, **options: Any
) -> tuple[Verdict, ...]:
    """A verdict for every pair of neighbours and every claim, ``alpha`` split evenly over them all.

    The chance that any true claim is refuted anywhere is at most ``alpha``. Options are those of
    `audit`. Targets of one mechanism with different neighbours are the way to look for the worst.

    Example::

        from dpcalc.auditing import Claim, audit_all, controls
        claims = [Claim.of(epsilon=e, delta=1e-5, adjacency="add-remove") for e in (0.5, 8)]
        for found in audit_all([controls.gaussian(1.0)], claims, runs=400, seed=1):
            print(found.claim.name, found.outcome)

    Args:
        targets: what is attacked, one for each pair of neighbours.
        claims: what is claimed of each of them.
        alpha: probability of refuting any true claim, in (0, 1).
        options: of every single audit: runs, seed, methods and the like.

    Returns:
        Target by target, the verdicts on the claims in their order.

    Raises:
        InvalidInput: where `audit` would.
    """
    if not targets or not claims:
        raise InvalidInput("expected at least one target and one claim")
    if {"plan", "checkpoint"} & options.keys():
        raise InvalidInput("a plan or checkpoint belongs to a single audit; call audit for each")
    share = alpha / (len(targets) * len(claims))
    return tuple(audit(t, c, alpha=share, **options) for t in targets for c in claims)


def _ready_for_workers(target: Target, findings: Sequence[Finding]) -> None:
    """Refuse a target with randomness of its own; load what this process needs while workers start."""
    importlib.import_module("scipy.special")
    if any(finding.check == repetition.NAME for finding in findings):
        raise AssumptionViolated(
            "expected a target that takes all randomness from the generator for workers; "
            f"{target.name!r} gave other numbers from the same generator, and its copies in several "
            "workers could repeat each other's runs; leave the workers out"
        )


def _same_adjacency(target: Target, claim: Claim) -> None:
    if target.adjacency != claim.adjacency:
        raise InvalidInput(
            f"expected one adjacency; the claim is about {claim.adjacency}, the inputs of "
            f"target {target.name!r} are {target.adjacency}; a factor of two may hang on it"
        )
