"""Runs an audit's design and keeps what is observed; nothing is computed from it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.design import AuditDesign
from dpcalc.auditing.estimators import accuracy, rule_choice
from dpcalc.auditing.estimators.answering import answering as answering_share
from dpcalc.auditing.estimators.answering import noticeable
from dpcalc.auditing.estimators.importance import chosen_tilt
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.estimators.rules import Rule
from dpcalc.auditing.sampling.collected import Collected
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.auditing.stages.counted import counted
from dpcalc.auditing.stages.kept import kept_runs, mark_judged
from dpcalc.auditing.stages.pace import Clock, paced
from dpcalc.auditing.stages.pilot import pilot
from dpcalc.auditing.stages.sequential_curve_test import RunningCurve
from dpcalc.auditing.stages.sequential_test import RunningTest
from dpcalc.auditing.stages.tilted import tilted_runs, tilted_spread
from dpcalc.auditing.targets.target import ImportanceSample, Noise, Outputs, Target, World

if TYPE_CHECKING:
    import os

    from dpcalc.store import Store

Array = NDArray[np.float64]
Running = RunningTest | RunningCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an audit is.

    Attributes:
        runs: counted runs done.
        planned: counted runs planned.
        lower: the anytime-valid lower bound so far, of μ for a curve claim, else of ε; 0 where no
            method bets, since no other bound may be looked at before the end.
        e_value: the evidence against the claim so far; it is refuted at one over its share of α.
    """

    runs: int
    planned: int
    lower: float = 0.0
    e_value: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experiment:
    """What was observed.

    Attributes:
        design: what was to be done.
        seed: from which everything was drawn.
        trial: pilot runs; never counted.
        seen: counted runs.
        learnt: what a learnt score looks at; empty for the target's own.
        with_nan: runs of the trial that released NaN.
        outcomes: how often releases of pilot runs repeat, or values of the target's own score.
        share: of the runs in which the mechanism answers, as far as the pilot shows; see `answering`.
        tilted: runs for importance sampling, P being the named world: of P, and of P_a.
        tilt: by how much they were tilted.
        spread: V = Σ‖d_t‖²/σ_t² on pilot runs, which sets the tilt and the scale of the bets.
        noise: unit noise of the first counted batch in each world.
        running: what was bet, by method: those of the plan that hold whenever one stops.
        stopped: whether one of these ended the counted runs, so that their number depends on what
            was seen and of the bounds that count them only anytime-valid ones hold.
    """

    design: AuditDesign
    seed: int
    trial: Observations
    seen: Observations
    learnt: str = ""
    with_nan: int = 0
    outcomes: Outcomes = Outcomes.DISCRETE
    share: float = 1.0
    tilted: Mapping[World, tuple[ImportanceSample, ImportanceSample]] = field(default_factory=dict)
    tilt: float = 0.0
    spread: float = 0.0
    noise: Mapping[World, Noise] = field(default_factory=dict)
    running: Mapping[str, Running] = field(default_factory=dict)
    stopped: bool = False

    @property
    def runs(self) -> int:
        """Runs of the mechanism in all."""
        tilted = sum(len(part.log_ratio) for parts in self.tilted.values() for part in parts)
        return self.trial.runs + self.seen.runs + tilted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What happens beside the runs, and when they end early.

    Attributes:
        clock: a limit of time; no batch of counted runs is begun that would exceed it, if it takes as
            long as the last one.
        progress: called after every batch.
        checkpoint: a file or a section of an open store from which interrupted runs resume.
        executor: who makes the runs; this process if left out.
    """

    clock: Clock = field(default_factory=Clock)
    progress: Callable[[Progress], None] | None = None
    checkpoint: str | os.PathLike[str] | Store | None = None
    executor: Executor | None = None


def carry_out(
    target: Target, claim: Claim, design: AuditDesign, *, seed: int, watch: RunOptions | None = None
) -> Experiment:
    """Pilot, counted runs, tilted runs.

    Args:
        target: what is attacked.
        claim: what is tested; only bets and the tilt depend on it.
        design: see `AuditDesign`.
        seed: from which everything is drawn.
        watch: what happens beside the runs.
    """
    watch = watch or RunOptions()
    with kept_runs(watch.checkpoint, target, design, seed) as store:
        return _carried_out(target, claim, design, seed, watch, store)


def _carried_out(
    target: Target,
    claim: Claim,
    design: AuditDesign,
    seed: int,
    watch: RunOptions,
    store: Store | None,
) -> Experiment:
    where: dict[str, Any] = {"executor": watch.executor, "store": store}
    design, reserve = paced(design, target, watch.clock, seed, store)
    tried = pilot(
        target,
        seed=seed,
        runs=design.pilot,
        promise=lambda seen: promised(seen, claim, design),
        size=design.batch,
        **where,
    )
    trial = tried.trial
    outcomes, share = answering_share(
        tried.values, trial, noticed=noticeable(design.runs, claim, design.share)
    )
    running = _bets(trial, claim, design)
    noise: dict[World, Noise] = {}
    seen, stopped = _counted_runs(
        target, design, tried.score, running, noise, seed, watch, store, reserve
    )
    tilt, spread = 0.0, 0.0
    tilted: dict[World, tuple[ImportanceSample, ImportanceSample]] = {}
    if design.tilted:  # their number is fixed, whatever ended the counted runs
        spread = tilted_spread(target, seed)
        tilt = chosen_tilt(spread, claim.delta)[0]
        tilted = tilted_runs(target, design, seed, tilt, **where)
    return Experiment(
        design=design,
        seed=seed,
        trial=trial,
        learnt=tried.learnt,
        with_nan=tried.with_nan,
        outcomes=outcomes,
        share=share,
        seen=seen,
        tilted=tilted,
        tilt=tilt,
        spread=spread,
        noise=noise,
        running=running,
        stopped=stopped,
    )


def _bets(trial: Observations, claim: Claim, design: AuditDesign) -> dict[str, Running]:
    """The planned methods that may be looked at while running, before their first run."""
    running: dict[str, Running] = {}
    if "e-process" in design.methods:
        rule = running_rule(trial, claim, design)
        running["e-process"] = RunningTest(claim, rule, design.share)
    if "sequential-curve" in design.methods:
        running["sequential-curve"] = RunningCurve(claim, design.share, trial)
    return running


def _counted_runs(
    target: Target,
    design: AuditDesign,
    score: Callable[[Outputs], Array],
    running: Mapping[str, Running],
    noise: dict[World, Noise],
    seed: int,
    watch: RunOptions,
    store: Store | None,
    reserve: float,
) -> tuple[Observations, bool]:
    """The counted runs, and whether a bet ended them; fills in the first batch's noise.

    ``reserve`` is the time in seconds that is needed after them.
    """
    seen = Collected()
    batches, begun = 0, watch.clock.elapsed
    made = counted(
        target,
        score,
        seed=seed,
        runs=design.runs,
        size=design.batch,
        exact=target.log_ratio is not None,
        store=store,
        executor=watch.executor,
    )
    with closing(made):
        for batch, looked in made:
            noise.update(looked)
            seen.add(batch)
            batches += 1
            for bets in running.values():
                bets.update(batch)
            if watch.progress is not None:
                watch.progress(_progress(seen.runs, design.runs, running))
            refuted = any(bets.rejects for bets in running.values())
            if design.early_stop and refuted and seen.runs < design.runs:
                return seen.observations(), True
            taken, begun = watch.clock.elapsed - begun, watch.clock.elapsed
            if watch.clock.is_over(taken + reserve):
                if store is not None and seen.runs < design.runs:
                    mark_judged(store, batches)
                break
    return seen.observations(), False


def running_rule(trial: Observations, claim: Claim, design: AuditDesign) -> Rule:
    """The rule of the e-process; for a curve one that answers every run."""
    return Rule.at(middle_threshold(trial)) if claim.is_curve else answering(trial, claim, design)


def answering(trial: Observations, claim: Claim, design: AuditDesign) -> Rule:
    """The rule for right and wrong answers under fair coins, from the pilot.

    On a Gaussian curve the best is known where the log-likelihood ratio is.
    """
    if claim.is_curve and trial.exact:
        return Rule.at(0.0)
    return rule_choice.choose_rule(
        trial, delta=claim.delta, alpha=design.share, curve=claim.is_curve, counted=design.runs
    )


def promised(trial: Observations, claim: Claim, design: AuditDesign) -> rule_choice.Promise:
    """How large a bound of right answers a score promises on runs that are not counted."""
    curve = claim.quantity is not Quantity.EPSILON
    terms: dict[str, Any] = {"delta": claim.delta, "alpha": design.share, "curve": curve}
    return rule_choice.promised(trial, counted=design.runs, **terms)


def middle_threshold(trial: Observations) -> float:
    """The threshold for the balanced game: zero if it is known, else from the pilot."""
    return 0.0 if trial.exact else float(accuracy.choose_threshold(trial))


def _progress(done: int, planned: int, running: Mapping[str, Running]) -> Progress:
    if not running:
        return Progress(runs=done, planned=planned)
    best = max(running.values(), key=lambda bets: bets.value)
    return Progress(runs=done, planned=planned, lower=best.lower, e_value=best.value)
