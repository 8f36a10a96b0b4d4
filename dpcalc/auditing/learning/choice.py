"""The score that does best on pilot runs which taught none of them anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators.rule_choice import Promise
from dpcalc.auditing.learning.distance import distance_odds
from dpcalc.auditing.learning.lattice import lattice_score
from dpcalc.auditing.learning.linear import exact_direction, linear_score, means_score
from dpcalc.auditing.learning.parities import parity_score, triple_score
from dpcalc.auditing.learning.quadratic import quadratic_score
from dpcalc.auditing.learning.repeats import (
    number_odds,
    one_sided_releases,
    repeated_releases,
)
from dpcalc.auditing.learning.ties import tie_odds

ONE_SIDED = "releases of one world only"
_CERTAIN = 10  # right answers without a wrong one that are no luck
_LEVEL = 1.0  # standard errors by which a promise may be below the largest
_ENOUGH_OF_EPSILON = 0.5  # of the largest promise, where what is seen in one world only comes first
_ENOUGH_OF_MU = 0.6  # the same; a few certain answers show less of a curve

Array = NDArray[np.float64]
Score = Callable[[Array], Array]


def candidates(first: Array, second: Array) -> dict[str, Score]:
    """Every score that two samples of released numbers teach, by what it looks at.

    Args:
        first: what runs in the world IN released, shape (runs, numbers).
        second: the same in the world OUT.
    """
    by_value = ("values of one number", "values of all numbers")
    odds = dict(zip(by_value, number_odds(first, second), strict=False))
    found = {
        "means": means_score(first, second),
        "means and spreads": linear_score(first, second),
        "combinations of numbers": exact_direction(first, second),
        "means and covariances": quadratic_score(first, second),
        **odds,
        "distances from the middle": distance_odds(first, second),
        "repeated releases": repeated_releases(first, second),
        ONE_SIDED: one_sided_releases(first, second),
        "lattices": lattice_score(first, second),
        "equal numbers": tie_odds(first, second),
        "constant parities": parity_score(first, second),
        "products of three signs": triple_score(first, second),
    }
    return {name: score for name, score in found.items() if score is not None}


def best(
    scores: dict[str, Score],
    released: Array,
    is_in: NDArray[np.bool_],
    promise: Callable[[Array], Promise],
) -> tuple[str, Score]:
    """The simplest score that promises no less than the best by more than a standard error.

    The largest of many promises is a lucky one, so what a score promises less than it by no more
    than a standard error of the difference is not held against it: the rule of Breiman, Friedman,
    Olshen and Stone 1984 for trees. Releases of one world only come first where they tell ten runs
    and more without a mistake and promise half as much ε as the best, or three fifths of its μ: what
    they promise is not luck.

    Args:
        scores: by name, the simplest first.
        released: what pilot runs released that no score was learnt from, shape (runs, numbers).
        is_in: which of them were in the world IN, shape (runs,).
        promise: one number per such run -> what a score with these values promises.
    """
    promised = {name: promise(score(released)) for name, score in scores.items()}
    most = max(promised.values(), key=lambda p: p.bound)
    enough = _ENOUGH_OF_MU if most.curve else _ENOUGH_OF_EPSILON
    if ONE_SIDED in scores and promised[ONE_SIDED].bound >= enough * most.bound:
        right = scores[ONE_SIDED](released) * np.where(is_in, 1, -1)
        if right.sum() >= _CERTAIN and not (right < 0).any():
            return ONE_SIDED, scores[ONE_SIDED]
    name = next(name for name, p in promised.items() if p.below(most) <= _LEVEL)
    return name, scores[name]
