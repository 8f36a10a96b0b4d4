"""Which bounds are computed for a claim, and how the error probability is split among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from dpcalc import checks
from dpcalc.auditing.checks.disclosure import MOST_ERROR
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.sampling.memory import FEWEST, most_at_once
from dpcalc.auditing.targets.target import Target
from dpcalc.auditing.verdict import ALPHA, DEFAULT_DETECTABLE_RATIO
from dpcalc.errors import AssumptionViolated, InvalidInput, unknown_name
from dpcalc.numerals import spelt

METHODS = {
    "clopper-pearson": "error rates of a rule chosen on pilot runs",
    "accuracy": "right answers under fair coins, where a rule answers at all",
    "hockey-stick": "exact log-likelihood ratios, samples of one world",
    "importance-sampling": "exact log-likelihood ratios, tilted samples",
    "likelihood-ratio": "log-likelihood ratios as scores, samples of both worlds",
    "renyi": "Rényi divergence from error rates",
    "renyi-density": "Rényi divergence from exact log-likelihood ratios",
    "e-process": "right and wrong answers as bets, valid whenever one stops",
    "sequential-curve": "the same on the whole trade-off curve, by rules learnt on the way",
}
"""Methods that may refute, each with what it looks at."""

ANYTIME = ("e-process", "sequential-curve")
"""Methods that hold whenever one stops."""

_EXACT = ("hockey-stick", "likelihood-ratio", "renyi-density")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDesign:
    """An experiment, fixed before its first counted run.

    Attributes:
        methods: bounds that may refute; each gets the same share of what checks leave of ``alpha``.
        runs: counted runs, both worlds together.
        pilot: runs on which scores and thresholds are chosen and that are not counted.
        tilted: runs for importance sampling, both worlds together; 0 without it.
        alpha: probability of refuting a true claim, over all methods, directions and checks.
        early_stop: whether to stop when a method that may be looked at has refuted the claim.
        batch: runs made at once.
        detectable_ratio: the design has enough power if it notices this many times the claimed value.
    """

    methods: tuple[str, ...]
    runs: int
    pilot: int
    tilted: int
    alpha: float
    early_stop: bool
    batch: int
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO

    @property
    def share(self) -> float:
        """What every method may spend."""
        return (self.alpha - self.for_checks) / len(self.methods)

    @property
    def for_checks(self) -> float:
        """What the check for released numbers without noise may spend on its fresh runs."""
        return min(MOST_ERROR, self.alpha / 100)

    @classmethod
    def for_claim(
        cls,
        target: Target,
        claim: Claim,
        *,
        runs: int = 2000,
        alpha: float = ALPHA,
        methods: Sequence[str] | None = None,
        pilot: int | None = None,
        tilted: int = 1000,
        early_stop: bool = False,
        batch: int | None = None,
        memory: float | None = None,
        detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    ) -> Self:
        """The plan for a target and a claim; methods are chosen by what is known if left out.

        Batches have a thousand runs, a hundred where only bets on the whole curve are made: these
        learn their rules from counted runs, need next to no pilot, and often stop early. An early
        stop needs a method that bets: the e-process joins methods that were left out, never those
        that were asked for. With
        ``memory``, bytes for the releases that a process holds at once, batches are as small as that
        needs, and so is a pilot from which a score is learnt.

        Raises:
            InvalidInput: if memory does not suffice for a few runs.
            AssumptionViolated: if a method does not suit the claim or the target, or none of those
                asked for may stop early.
        """
        checks.count("runs", runs, minimum=10)
        check_terms(alpha, detectable_ratio)
        chosen = tuple(methods) if methods is not None else default_methods(target, claim)
        if batch is None:
            batch = 100 if set(chosen) == {"sequential-curve"} else 1000
        checks.count("batch", batch)
        pilot = _pilot(target, claim, chosen, runs) if pilot is None else pilot
        if memory is not None:
            most = most_at_once(target, memory)
            batch = min(batch, most)
            learnt = target.log_ratio is None and target.score is None
            pilot = min(pilot, max(most // _LEARNING, FEWEST)) if learnt else pilot
        if early_stop and not set(ANYTIME) & set(chosen):
            if methods is not None:
                raise AssumptionViolated(
                    f"early_stop needs a method that may be looked at, {' or '.join(ANYTIME)}; got "
                    f"methods {', '.join(chosen)}; add one, or leave early_stop out"
                )
            chosen = (*chosen, "e-process")
        _check(chosen, target, claim)
        return cls(
            methods=chosen,
            runs=runs,
            pilot=pilot,
            tilted=tilted if "importance-sampling" in chosen else 0,
            alpha=alpha,
            early_stop=early_stop,
            batch=batch,
            detectable_ratio=detectable_ratio,
        )

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "methods": dict.fromkeys(self.methods, self.share),
            "checks": self.for_checks,
            "runs": self.runs,
            "pilot": self.pilot,
            "tilted": self.tilted,
            "early_stop": self.early_stop,
            "batch": self.batch,
        }


def check_terms(alpha: float, detectable_ratio: float) -> None:
    """Raise `InvalidInput` for an error probability or a share that makes no sense."""
    if not 0 < alpha < 1:
        raise InvalidInput(f"alpha needs a number in (0, 1); got alpha={alpha!r}; try 1e-4")
    if not 1 <= detectable_ratio < math.inf:
        raise InvalidInput(
            "detectable_ratio needs a finite number, 1 or above; got "
            f"detectable_ratio={detectable_ratio!r}; try 2"
        )


def default_methods(target: Target, claim: Claim) -> tuple[str, ...]:
    """The strongest bounds for what is claimed and known, few so that the shares stay large."""
    exact = target.log_ratio is not None
    density: tuple[str, ...] = ()  # without noise to look at, densities are not trusted
    if target.noise is not None and target.tilted is not None and claim.delta > 0:
        density = ("importance-sampling",)
    elif target.noise is not None and exact:
        density = ("hockey-stick",)
    if claim.is_renyi:
        return (*density, "renyi-density") if density else ("renyi", "accuracy")
    return ("accuracy", *density)


def _check(chosen: Sequence[str], target: Target, claim: Claim) -> None:
    if not chosen:
        raise InvalidInput(f"expected at least one method; known: {', '.join(METHODS)}")
    for name in chosen:
        if chosen.count(name) > 1:
            raise InvalidInput(f"expected every method once; got {name!r} again")
        if name not in METHODS:
            raise unknown_name("method", name, METHODS)
        if name in _EXACT and target.log_ratio is None:
            raise AssumptionViolated(
                f"method {name!r} needs exact log-likelihood ratios; target {target.name!r} has "
                "none; use clopper-pearson or accuracy"
            )
        if name == "importance-sampling" and (target.tilted is None or claim.delta == 0):
            raise AssumptionViolated(
                f"method {name!r} needs tilted sampling and delta above 0; got target "
                f"{target.name!r}, delta={spelt(claim.delta)}; use hockey-stick"
            )
        if name.startswith("renyi") and not claim.is_renyi:
            raise AssumptionViolated(
                f"method {name!r} needs a Rényi or zCDP claim; got {claim.name}"
            )


_LARGEST_PILOT = 2**20
"""Runs on which a rule is chosen; more hardly make it better."""


_LEARNING = 2
"""Times the memory of a batch's run that a pilot run takes while a score is learnt from it."""


def _pilot(target: Target, claim: Claim, chosen: Sequence[str], runs: int) -> int:
    """Half of the counted runs, up to a limit, where a rule must be found, few where it is known."""
    if set(chosen) == {"sequential-curve"}:
        return 20 if target.log_ratio is not None or target.score is not None else 200
    known = target.log_ratio is not None and claim.is_curve
    needs = {"clopper-pearson", "renyi"} & set(chosen) or (
        {"accuracy", "e-process"} & set(chosen) and not known
    )
    return max(min(runs // 2, _LARGEST_PILOT), 40) if needs or target.log_ratio is None else 40
