"""From what was observed to lower bounds, each method at its share of the error probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpcalc.auditing.checks import noise as noise_check
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.estimators import (
    accuracy,
    bayesian,
    clopper_pearson,
    hockey_stick,
    importance,
    likelihood_ratio,
    renyi,
)
from dpcalc.auditing.estimators.rules import Rule
from dpcalc.auditing.evidence import NAN, Evidence, Finding, Severity
from dpcalc.auditing.experiment import Experiment, answering, middle_threshold
from dpcalc.auditing.stages.sequential_test import RunningTest


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorInput:
    """What a method is asked.

    Attributes:
        experiment: what was observed.
        claim: what is tested.
        alpha: what the method may spend, in all its directions together.
        trusted: whether bounds that rely on densities may refute: the noise check passed.
    """

    experiment: Experiment
    claim: Claim
    alpha: float
    trusted: bool

    @property
    def tail_threshold(self) -> float:
        """The threshold for the strongest bound from error rates, from the pilot."""
        e = self.experiment
        return float(
            clopper_pearson.choose_threshold(
                e.trial, delta=self.claim.delta, alpha=self.alpha, counted=e.seen.runs
            )
        )

    @property
    def middle_threshold(self) -> float:
        """The threshold for the balanced game: zero if it is known, else from the pilot."""
        return middle_threshold(self.experiment.trial)

    @property
    def rule(self) -> Rule:
        """The rule for right and wrong answers."""
        return answering(self.experiment.trial, self.claim, self.experiment.design)


def evaluate(experiment: Experiment, claim: Claim) -> tuple[list[Evidence], list[Finding]]:
    """The bounds that an experiment gives, what its noise looked like and what was learnt."""
    finding = noise_check.check(experiment.noise)
    trusted = finding is not None and finding.severity is Severity.HOLDS
    findings = [finding] if finding is not None else []
    if experiment.learnt:
        text = f"the score looks at {experiment.learnt}"
        findings.append(Finding(check="score", severity=Severity.HOLDS, text=text))
    if experiment.with_nan:
        trial = {"runs": experiment.trial.runs, "with_nan": experiment.with_nan}
        text = "{with_nan} of {runs} pilot runs released NaN; it counts as an outcome like others"
        findings.append(
            Finding(check=NAN, severity=Severity.HOLDS, text=text.format(**trial), numbers=trial)
        )
    return bounds(experiment, claim, trusted=trusted), findings


def bounds(experiment: Experiment, claim: Claim, *, trusted: bool) -> list[Evidence]:
    """Every planned lower bound, and the Bayesian estimate where error rates were counted.

    If a bet ended the runs, their number depends on what was seen and of all bounds that count them
    only those of bets speak. Tilted runs are others, as many as were planned, and still count.

    Args:
        experiment: what was observed.
        claim: what is tested.
        trusted: see `EstimatorInput`.
    """
    design = experiment.design
    asked = EstimatorInput(experiment=experiment, claim=claim, alpha=design.share, trusted=trusted)
    if experiment.stopped:
        return [*_e_process(asked), *_sequential_curve(asked), *_importance(asked)]
    found = [evidence for name in design.methods for evidence in _BOUNDS[name](asked)]
    if "clopper-pearson" in design.methods:
        counts = experiment.seen.counts(asked.tail_threshold)
        found.append(bayesian.evidence(counts, claim, alpha=design.share))
    return found


def _clopper_pearson(q: EstimatorInput) -> list[Evidence]:
    counts = q.experiment.seen.counts(q.tail_threshold)
    e = q.experiment
    terms: dict[str, Any] = {"outcomes": e.outcomes, "share": e.share}
    return [clopper_pearson.evidence(counts, q.claim, alpha=q.alpha, **terms)]


def _accuracy(q: EstimatorInput) -> list[Evidence]:
    e, curve = q.experiment, q.claim.is_curve
    terms: dict[str, Any] = {"outcomes": e.outcomes, "share": e.share, "learnt": bool(e.learnt)}
    return [accuracy.evidence(e.seen, q.rule, q.claim, alpha=q.alpha, curve=curve, **terms)]


def _running(q: EstimatorInput, method: str) -> list[Evidence]:
    e, bets = q.experiment, q.experiment.running.get(method)
    if bets is None:
        return []
    # After an early stop the power is that of all runs that the bets had before them.
    planned = e.design.runs if e.stopped else e.seen.runs
    terms: dict[str, Any] = {"outcomes": e.outcomes, "share": e.share}
    if isinstance(bets, RunningTest):
        return [bets.evidence(planned, learnt=bool(e.learnt), **terms)]
    return [bets.evidence(planned, **terms)]


def _e_process(q: EstimatorInput) -> list[Evidence]:
    return _running(q, "e-process")


def _sequential_curve(q: EstimatorInput) -> list[Evidence]:
    return _running(q, "sequential-curve")


def _hockey_stick(q: EstimatorInput) -> Sequence[Evidence]:
    return hockey_stick.evidence(q.experiment.seen, q.claim, alpha=q.alpha, trusted=q.trusted)


def _likelihood_ratio(q: EstimatorInput) -> Sequence[Evidence]:
    return likelihood_ratio.evidence(q.experiment.seen, q.claim, alpha=q.alpha)


def _importance(q: EstimatorInput) -> list[Evidence]:
    e = q.experiment
    return [
        importance.evidence(
            world,
            *runs,
            q.claim,
            tilt=e.tilt,
            spread=e.spread,
            alpha=q.alpha / 2,
            trusted=q.trusted,
        )
        for world, runs in e.tilted.items()
    ]


def _renyi(q: EstimatorInput) -> list[Evidence]:
    counts = q.experiment.seen.counts(q.middle_threshold)
    e = q.experiment
    terms: dict[str, Any] = {"outcomes": e.outcomes, "share": e.share}
    return [renyi.evidence(counts, q.claim, alpha=q.alpha, **terms)]


def _renyi_density(q: EstimatorInput) -> Sequence[Evidence]:
    return renyi.density_evidence(q.experiment.seen, q.claim, alpha=q.alpha, trusted=q.trusted)


_BOUNDS: dict[str, Callable[[EstimatorInput], Sequence[Evidence]]] = {
    "clopper-pearson": _clopper_pearson,
    "accuracy": _accuracy,
    "hockey-stick": _hockey_stick,
    "importance-sampling": _importance,
    "likelihood-ratio": _likelihood_ratio,
    "renyi": _renyi,
    "renyi-density": _renyi_density,
    "e-process": _e_process,
    "sequential-curve": _sequential_curve,
}
