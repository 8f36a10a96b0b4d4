"""Is any released number untouched by noise and different on the two inputs?

A number that is the same in every run of one world and another in every run of the other tells them
apart without error. A few runs find the candidate, fresh runs count how often it is right, and the
exact limits of both error rates at one in a million give the bound. A claim too large to be settled
by as many runs as this check makes is left undecided: randomised response with ε = 10 looks constant.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.checks import independence
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import clopper_pearson
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.layout import layout, require_one_layout
from dpcalc.auditing.sampling.looks import every_run, look, looked
from dpcalc.auditing.sampling.observations import Counts
from dpcalc.auditing.targets.target import LOST, Target, World
from dpcalc.numerals import spelt
from dpcalc.wording import at_least, confidence

Array = NDArray[np.float64]

MOST_ERROR = 1e-6
"""Probability with which this check may refute a true claim, at most."""

_LOOKS = 16  # runs that find the candidate
_FEWEST, _MOST = 1000, 4096  # runs that count, per world
_SHARE = 0.25  # of a limit of time, for runs beyond those that are needed
_ROUNDING = 1e-12
_APART = 1e-9


def check(
    target: Target,
    claim: Claim,
    *,
    seed: int,
    error: float = MOST_ERROR,
    seconds: float | None = None,
) -> Finding:
    """Whether some released number gives the worlds away.

    Args:
        target: what is attacked.
        claim: what is tested.
        seed: of the experiment.
        error: probability with which a true claim may be refuted.
        seconds: for the whole audit, of which fresh runs that are not needed take a quarter at most.
    """
    begun = time.monotonic()
    released = [look(target, world, seed, 2, _LOOKS) for world in World]
    each = (time.monotonic() - begun) / _LOOKS
    most = _MOST if seconds is None else int(_SHARE * seconds / max(each, 1e-9))
    seen = [every_run(target, outputs, _LOOKS) for outputs in released]
    require_one_layout(target, *(layout(outputs) for outputs in released))
    dependent = independence.check(target, seen, seed=seed)
    if dependent is not None:
        return dependent
    constant = np.all([_spread(values) <= _ROUNDING * _size(values) for values in seen], axis=0)
    apart = np.abs(seen[0][0] - seen[1][0])
    given_away = constant & (apart > _APART * np.maximum(_size(seen[0]), _size(seen[1])))
    if not given_away.any():
        return Finding(
            check="disclosure",
            severity=Severity.HOLDS,
            text=f"no released number is without noise and different on the two inputs "
            f"({_numbers(seen[0].shape[1])} looked at)",
            numbers={"released": int(seen[0].shape[1]), "constant": int(constant.sum())},
        )
    place = int(np.where(given_away, apart, -np.inf).argmax())
    runs = _needed(claim, error, most)
    return _counted(target, claim, seed, place, seen, int(given_away.sum()), error, runs)


def _counted(
    target: Target,
    claim: Claim,
    seed: int,
    place: int,
    seen: list[Array],
    how_many: int,
    error: float,
    runs: int,
) -> Finding:
    """The candidate on fresh runs, so many of each world."""
    inside, outside = float(seen[0][0, place]), float(seen[1][0, place])
    middle = (inside + outside) / 2
    right = {}
    for part, world in enumerate(World):
        values = looked(target, world, seed, 4, runs, seen[part].shape[1])
        answer = (values[:, place] > middle) == (inside > middle)
        right[world] = int(answer.sum()) if world is World.IN else int((~answer).sum())
    counts = Counts.of(
        right[World.IN], runs - right[World.IN], runs - right[World.OUT], right[World.OUT]
    )
    lower = float(clopper_pearson.epsilon_lower(counts, delta=claim.delta, alpha=error))
    refuted = lower > claim.epsilon
    if claim.is_curve:
        curve = float(clopper_pearson.mu_lower(counts, alpha=error))
        refuted = refuted or curve > claim.bound(Quantity.MU)
    return Finding(
        check="disclosure",
        severity=Severity.REFUTES if refuted else Severity.UNDECIDED,
        text=f"constant in {_LOOKS} runs and different on the two inputs: {_numbers(how_many)} "
        f"({_shown(inside)} against {_shown(outside)}); {2 * runs} fresh runs give ε ≥ "
        f"{at_least(lower)} at δ = {spelt(claim.delta)}, confidence {confidence(error)}",
        numbers={
            "exposed": how_many,
            "in": inside,
            "out": outside,
            "epsilon_lower": lower,
            "alpha": error,
            **counts.record(),
        },
    )


def _shown(value: float) -> str:
    """A released number, or what was released in the place of one."""
    if abs(value) < LOST / 2:
        return f"{value:.6g}"
    return "NaN" if value == LOST else f"{math.copysign(math.inf, value)}"


def _numbers(count: int) -> str:
    return "1 released number" if count == 1 else f"{count} released numbers"


def _needed(claim: Claim, error: float, most: int) -> int:
    """Runs per world after which a rule without errors refutes the claim; more up to ``most``."""
    if not claim.epsilon < 30:
        return _MOST
    rate = (1 - claim.delta) / (1 + math.exp(claim.epsilon)) * 0.9
    enough = min(math.ceil(math.log(2 / error) / max(rate, 1e-12)), _MOST)
    return max(enough, min(_FEWEST, most))


def _spread(values: Array) -> Array:
    return np.asarray(values.max(axis=0) - values.min(axis=0))


def _size(values: Array) -> Array:
    return np.asarray(np.maximum(np.abs(values).max(axis=0), 1e-300))
