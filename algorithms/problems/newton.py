"""One step of Newton's method for many runs: gradients and curvatures at points, and directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.conjugate import (
    Objective,
    Preconditioner,
    newton_direction,
    norms,
)

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Floats

Array = NDArray[np.float64]
Precision = type[np.floating[Any]]

CLOSE = 1e-4
"""Relative gradient norm below which a Newton step squares the distance to the minimum."""

_FLOOR = float(np.finfo(np.float64).eps)  # relative gradient norm that can be aimed at
_LOOSEST = 0.5  # residual of Newton's equations that is always small enough
_FINEST = {np.float32: 1e-6, np.float64: 1e-8}  # the smallest asked for, by precision of Hessians
_FALL = 0.01  # share of the gradient left at which the preconditioner is taken again
_NEAR = 0.03  # relative gradient norm from which it serves to the end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """Points of some runs and what is known there.

    Attributes:
        points: shape (d, runs).
        gradient: shape (d, runs).
        relative_gradient: its norm relative to the size of the terms it is a sum of; (runs,).
        bends: w·φ'' of every record; shape (n, runs).
        levels: their means over the records; shape (runs,).
    """

    points: Array
    gradient: Array
    relative_gradient: Array
    bends: Floats
    levels: Array

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """The same for the runs in ``kept``; an index would lay columns out one after the other."""
        if kept.all():
            return self
        return type(self)(
            points=np.compress(kept, self.points, axis=1),
            gradient=np.compress(kept, self.gradient, axis=1),
            relative_gradient=self.relative_gradient[kept],
            bends=np.compress(kept, self.bends, axis=1),
            levels=self.levels[kept],
        )


def evaluate(
    objective: Objective, linear: Array, points: Array, precision: tuple[Precision, Precision]
) -> Evaluation:
    """Gradients in the first precision and curvatures in the second, in one pass over the records.

    Args:
        objective: of the batch.
        linear: c; shape (d, runs).
        points: shape (d, runs).
        precision: types of numbers to work in.
    """
    total, h = objective.total, objective.h
    count = total.count
    bends = np.empty((count, points.shape[1]), precision[1])
    columns = points.astype(precision[0], copy=False)
    folded, squares, levels = total.slopes(columns, bends, objective.runs)
    gradient = total.weight * folded + h * points + linear
    longest, levels = total.longest_row(), levels / count
    size = total.weight * longest * np.sqrt(count * squares) + norms(linear)
    size += (count * levels * longest**2 + h) * norms(points)
    relative_gradient = norms(gradient) / np.where(size > 0, size, 1)
    return Evaluation(
        points=points,
        gradient=gradient,
        relative_gradient=relative_gradient,
        bends=bends,
        levels=levels,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedHessian:
    """A preconditioner, and how far from the minimum it was taken."""

    preconditioner: Preconditioner
    relative_gradient: float

    @classmethod
    def refreshed(
        cls, shared: SharedHessian | None, objective: Objective, here: Evaluation
    ) -> SharedHessian:
        """The one at hand, unless it was taken much further off."""
        relative_gradient = float(np.median(here.relative_gradient))
        if shared is not None and (
            relative_gradient >= _FALL * shared.relative_gradient
            or shared.relative_gradient < _NEAR
        ):
            return shared
        return cls(
            preconditioner=Preconditioner.of(objective, here.bends),
            relative_gradient=relative_gradient,
        )


def direction(
    objective: Objective, shared: SharedHessian, here: Evaluation, before: Array | None
) -> Array:
    """Newton's directions, as accurate as is of use; shape (d, runs).

    An error below what Newton's method leaves by itself, judged by its last step, is of no use, nor
    is one below rounding.

    Args:
        objective: of the batch.
        shared: preconditioner.
        here: where the runs are.
        before: how far they were before the last step, or None before the first one.
    """
    if before is None:
        wanted = np.where(here.relative_gradient > CLOSE, _LOOSEST, here.relative_gradient)
    else:
        wanted = np.minimum((here.relative_gradient / before) ** 1.5 / 2, _LOOSEST)
    useful = _FLOOR / np.maximum(here.relative_gradient, _FLOOR)
    tolerance = np.maximum(np.maximum(wanted, useful), _FINEST[here.bends.dtype.type])
    return newton_direction(
        objective, shared.preconditioner, here.gradient, here.bends, here.levels, tolerance
    )
