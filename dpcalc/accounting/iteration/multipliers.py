"""Multipliers of `sectors` that make a bound small.

Statement
    Every choice of multipliers proves a bound; its derivative with respect to one is the slack of its
    condition along the worst run. Multipliers a few times the least allowed are improved by descent,
    in a space of functions that are piecewise linear in the logarithm of the iteration's number.
Source
    docs/theorems/amplification-by-iteration.md.
Rounding
    Doubles: a search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.iteration.sectors import Answer, Sectors

Reals = NDArray[np.float64]
Multipliers = tuple[tuple[float, ...], tuple[float, ...]]

_FIRST, _SECOND = (1.05, 1.2, 1.5, 2.0, 3.0, 6.0), (1.02, 1.1, 1.3, 2.0, 4.0)
_STEPS = 80
_DIRECTLY = 24
"""Iterations from which on the search begins with those of half as many, too."""
_NEVER = 1e3
_SHARP = 12.0
"""The larger of two costs is replaced by a norm of this order in the search."""


@lru_cache(maxsize=4096)
def good_multipliers(sectors: Sectors, iterations: int) -> Multipliers | None:
    """Multipliers that make the cost after this many iterations small; None if none are found."""
    rough, count = in_doubles(sectors), iterations - 1
    starts = [
        tried
        for first, second in product(_FIRST, _SECOND)
        if (tried := rough.in_proportion(count, first, second)) is not None
    ]
    if iterations > _DIRECTLY:
        shorter = good_multipliers(sectors, iterations // 2)
        starts += [] if shorter is None else [continued(shorter, count)]
    heights = [_slopes(rough, *tried)[0] for tried in starts]
    if not heights or not min(heights) < _NEVER:
        return None
    found = _Search(rough, *starts[heights.index(min(heights))])
    _descend(found, np.zeros(found.dimension))
    return tuple(found.best[0]), tuple(found.best[1])


def continued(multipliers: Multipliers, count: int) -> tuple[list[float], list[float]]:
    """More of them: their inverses go on growing as they do between two thirds of them and the last."""
    longer = [list(ts) for ts in multipliers]
    for ts, wanted in zip(longer, (count, count - 1), strict=True):
        middle = 2 * len(ts) // 3
        growth = (1 / ts[-1] - 1 / ts[middle - 1]) / (len(ts) - middle)
        last, missing = 1 / ts[-1], range(1, wanted - len(ts) + 1)
        ts += [1 / (last + max(growth, 0.0) * k) for k in missing]
    return longer[0], longer[1]


class _Search:
    """The logarithm of the cost as a function of what multiplies the multipliers at a start.

    Attributes:
        best: the best multipliers that were tried.
        dimension: of the space that is searched.
    """

    def __init__(self, sectors: Sectors, first: list[float], second: list[float]) -> None:
        self._sectors, self._count = sectors, len(first)
        self._origin = np.log(np.array(first + second))
        self._basis = _basis(len(first)), _basis(len(second))
        self._split = self._basis[0].shape[1]
        self.dimension = self._split + self._basis[1].shape[1]
        self.best, self._least = (first, second), math.inf

    def __call__(self, moves: Reals) -> tuple[float, Reals]:
        """The height and its gradient."""
        one, two = self._basis
        change = np.concatenate([one @ moves[: self._split], two @ moves[self._split :]])
        ts = np.exp(np.clip(self._origin + change, -600, 600)).tolist()
        given = ts[: self._count], ts[self._count :]
        height, slopes = _slopes(self._sectors, *given)
        if height < self._least:
            self.best, self._least = given, height
        slopes = slopes * np.array(ts)
        return height, np.concatenate(
            [one.T @ slopes[: self._count], two.T @ slopes[self._count :]]
        )


def _descend(function: Any, start: Reals) -> None:
    from scipy.optimize import minimize

    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS}
    with np.errstate(all="ignore"):
        minimize(function, start, jac=True, method="L-BFGS-B", options=options)


def in_doubles(sectors: Sectors) -> Sectors:
    """For searches."""
    e, c, low, high, kept = (
        float(x) for x in (sectors.pull, sectors.cost, sectors.least, sectors.most, sectors.kept)
    )
    return Sectors(e, c, low, high, kept, sectors.wide)


def _basis(count: int) -> Reals:
    """Functions of the number of an iteration, linear between knots in its logarithm, and a line."""
    if count < 1:
        return np.zeros((0, 0))
    knots = [1]
    while knots[-1] < count:
        knots.append(min(max(knots[-1] + 1, round(1.4 * knots[-1])), count))
    numbers = np.arange(1.0, count + 1)
    hats = [np.interp(np.log(numbers), np.log(knots), row) for row in np.eye(len(knots))]
    return np.array([*hats, numbers / count]).T


def _slopes(sectors: Sectors, first: list[float], second: list[float]) -> tuple[float, Reals]:
    """The logarithm of the cost, and the slack of each condition along the worst run."""
    answers: list[Answer] = []
    forms = list(sectors.forms(first, second, answers))
    nothing = np.zeros(len(first) + len(second))
    if len(forms) < len(first):
        return _NEVER, nothing
    last, s = forms[-1], 1 / (1 + sectors.pull)
    row = (last.alpha - 2 * last.gamma + last.kappa) * s * s
    if not (0 < row < math.inf and 0 <= last.ker < math.inf):
        return _NEVER, nothing
    level = max(row, last.ker)
    parts = (row / level) ** _SHARP, (last.ker / level) ** _SHARP
    shares = [part / sum(parts) for part in parts]
    slopes = shares[0] / row * np.array(_slack_of_rows(sectors, answers)) * s * s
    if last.ker > 0:
        slopes += shares[1] / last.ker * np.array(_slack_of_kernel(sectors, answers))
    return math.log(level) + math.log(sum(parts)) / _SHARP, slopes


def _along_rows(
    sectors: Sectors, answers: Sequence[Answer]
) -> Iterator[tuple[Answer, float, float]]:
    """The worst run from (1, -1): every reply with the difference, shifted, that it answers."""
    x, u = 1.0, -1.0
    for a in reversed(answers):
        d = a.dx * x + a.du * u
        x, u = x - d, u + d
        yield a, x, u
        phi, ell = a.px * x + a.pu * u, a.lx * x + a.lu * u
        x = (phi + sectors.pull * (2 * ell - u)) / (1 + sectors.pull)
        u = ell - x


def _slack_of_rows(sectors: Sectors, answers: list[Answer]) -> list[float]:
    """Every condition's value along the worst run."""
    first, second = [], []
    for a, x, u in _along_rows(sectors, answers):
        phi, ell = a.px * x + a.pu * u, a.lx * x + a.lu * u
        first.append((sectors.most * x - phi) * (phi - sectors.least * x))
        second.append((u - ell) * (ell - sectors.kept * u))
    return first[::-1] + second[-2::-1]


def _slack_of_kernel(sectors: Sectors, answers: list[Answer]) -> list[float]:
    x, found = 1.0, []
    for a in reversed(answers):
        x -= a.kerd * x
        phi = a.kerp * x
        found.append((sectors.most * x - phi) * (phi - sectors.least * x))
        x = phi
    return found[::-1] + [0.0] * (len(answers) - 1)


def worst_replies(
    sectors: Sectors, first: Sequence[float], second: Sequence[float]
) -> tuple[list[float], list[float]]:
    """φ/x and ℓ/u along the worst run from (1, -1), in the order of the iterations."""
    answers: list[Answer] = []
    list(sectors.forms(first, second, answers))
    moved, kept = [], []
    for a, x, u in _along_rows(sectors, answers):
        phi, ell = a.px * x + a.pu * u, a.lx * x + a.lu * u
        moved.append(phi / x if x else sectors.most)
        kept.append(ell / u if u else 0.5)
    return moved, kept
