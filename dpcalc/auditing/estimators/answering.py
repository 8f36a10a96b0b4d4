"""In which share of the runs a mechanism answers, as far as a pilot shows it.

Statement
    An outcome that is equally likely in both worlds says nothing, and no rule gains by answering it.
    Randomised response in a share of the runs is noticed later than in all of them: it is the share
    for which power is stated. Outcomes are looked at one by one where they are frequent, and together
    where they came once, or are rare. Such a group is taken to say nothing if on the pilot the best
    threshold inside it does no better than chance, and worse than what would be noticed in all runs.
    Where everything looks like that, an outcome of half of the runs and more is the one that says
    nothing, since no two answers that outweigh each other leave so much to a single outcome; so are
    outcomes that came once, next to a few that came often. A mechanism without such an outcome is
    taken to answer in every run.
Source
    Derived here. No bound depends on it: it is about the mechanism for which power is stated.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import accuracy
from dpcalc.auditing.estimators.binomial import (
    SOUGHT,
    at_least,
    chance_for_power,
    critical_count,
)
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.sampling.observations import Observations

_FREQUENT = 0.2  # share of the runs from which on an outcome is looked at by itself
_RARE, _ONCE = -1, -2  # names of groups of outcomes; frequent ones have their own
_LEVEL = 0.05  # chance of so few right answers of an outcome that tells what would be noticed
_LUCK = 1.75  # right answers by luck, in √runs: beyond them less than once in a hundred


def answering(
    values: NDArray[np.generic], pilot: Observations, *, noticed: float
) -> tuple[Outcomes, float]:
    """How often the outcomes that say anything repeat, and their share of the runs, in (0, 1].

    Args:
        values: what each run came to, one value a run; shape (runs,).
        pilot: the same runs with their scores.
        noticed: share of right answers in all runs that would be, above 1/2; see `noticeable`.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    group = np.where(counts >= _FREQUENT * pilot.runs, np.arange(len(counts)), _RARE)
    once = counts == 1
    if once.sum() >= _FREQUENT * pilot.runs:
        group[once] = _ONCE
    of_run = group[place]
    silent = np.zeros(pilot.runs, bool)
    for each in np.unique(of_run):
        inside = of_run == each
        silent[inside] = _says_nothing(pilot.is_in[inside], pilot.score[inside], noticed)
    if silent.all() or len(counts) < 3:  # of two outcomes neither says nothing by itself
        silent = _most_common(values, of_run)
    return Outcomes.of(values[~silent]), float((~silent).mean())


def noticeable(runs: int, claim: Claim, alpha: float) -> float:
    """The share of right answers that so many runs tell from what is claimed; at most 1."""
    from scipy.special import ndtr

    if claim.quantity is Quantity.RHO:  # seen where the Gaussian mechanism of this ρ is
        right = float(ndtr(math.sqrt(claim.bound(Quantity.RHO) / 2)))
    else:
        right = accuracy.allowed(claim, claim.quantity)
    needed = critical_count(runs, right, alpha)
    return min(chance_for_power(needed, runs, SOUGHT), 1.0)


def _says_nothing(is_in: NDArray[np.bool_], score: NDArray[np.float64], noticed: float) -> bool:
    """Whether the best threshold inside is right no oftener than by luck, and less than noticed."""
    runs, order = len(is_in), np.argsort(score, kind="stable")
    ordered = score[order]  # infinite ones may be among them
    between = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    places = np.concatenate([[0], between, [runs]])
    below_in = np.concatenate([[0], np.cumsum(is_in[order])])[places]
    above_right = places - 2 * below_in + int(is_in.sum())
    right = float(np.maximum(above_right, runs - above_right).max())
    by_luck = runs / 2 + _LUCK * math.sqrt(runs)
    no_more = 1 - float(at_least(right + 1, runs, noticed))
    return right <= by_luck and no_more <= _LEVEL


def _most_common(values: NDArray[np.generic], group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which runs came to what no answer can be; none if there is no such outcome.

    What came once is one outcome here if all others are few.
    """
    runs, different = len(values), len(np.unique(values))
    names, counts = np.unique(group, return_counts=True)
    most = names[counts.argmax()]
    luck = math.sqrt(runs) * (2 if different < 3 else -1)
    common = np.asarray(group == most)
    if most == _RARE or common.all() or 2 * common.sum() <= runs + 2 * luck:
        return np.zeros(runs, bool)
    if most == _ONCE and Outcomes.of(values[~common]) is not Outcomes.FEW:
        return np.zeros(runs, bool)
    return common
