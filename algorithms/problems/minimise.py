"""Exact minimisers of F(f) + cᵀf + (h/2)‖f‖², one for every run, by Newton's method.

The privacy proof of objective perturbation turns the released minimiser back into the noise, which
needs the exact one: minimisation ends when the gradient, evaluated in double precision, is no
larger than its own rounding error, and otherwise raises.

Method
    Newton's equations are solved by conjugate gradients, ever more closely as Newton's method
    converges. A step is taken if the directional derivative at its end proves, by strong convexity,
    that the objective fell; else it is shortened by secants and bisections of that derivative.
    Large problems begin in single precision, which can cost steps but not accuracy: the last
    gradients are in double precision.

A run's minimiser does not depend on the other runs of its batch, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems.conjugate import Objective, dots, norms
from dpcalc.algorithms.problems.line_search import LineSearch
from dpcalc.algorithms.problems.newton import CLOSE, Precision, SharedHessian, direction, evaluate
from dpcalc.algorithms.problems.stored_rows import is_stored
from dpcalc.errors import AssumptionViolated, NumericalFailure

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""A gradient this small, relative to the size of its terms, is rounding error."""

_BATCH = 4096  # runs worked on together, at most
_NUMBERS = 2**20  # records times runs worked on together, if that leaves a few hundred runs
_SINGLE_FROM = 2**13  # records times runs from which single precision pays
_SINGLE_STEPS = 12  # Newton steps it may take
_STEPS = 1000  # Newton steps, halved ones included


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Minimum:
    """Exact minimisers.

    Attributes:
        points: shape (runs, d).
        gradient_norm: Euclidean norm of the gradient there; shape (runs,).
    """

    points: Array
    gradient_norm: Array


def minimise(total: SmoothSum, linear: Array, curvature: float, start: Array) -> Minimum:
    """Minimise F(f) + cᵀf + (h/2)‖f‖² for every run.

    Args:
        total: F.
        linear: c; shape (runs, d).
        curvature: h, above 0.
        start: where to begin; shape (runs, d).

    Raises:
        AssumptionViolated: if the loss has a kink, so that there is no gradient to drive to zero.
        NumericalFailure: if the gradient could not be driven down to rounding error.
    """
    if not total.loss.smooth:
        raise AssumptionViolated(
            "an exact minimisation needs a differentiable loss; "
            f"got loss={total.loss.name!r}; try SmoothedHinge"
        )
    checks.positive("curvature", curvature)
    points, size = np.empty_like(linear), np.empty(len(linear))
    batch = _at_once(total)
    for first in range(0, len(linear), batch):
        part = slice(first, first + batch)
        points[part], size[part] = _minimise(total, linear[part].T, curvature, start[part].T)
    return Minimum(points=points, gradient_norm=size)


def _at_once(total: SmoothSum) -> int:
    """Runs worked on together.

    Where rows stay in a file, their curvatures, a number for every record and run, take no more
    room than a block of rows, or are those of one run.
    """
    batch = min(max(_NUMBERS // total.count, 256), _BATCH)
    if is_stored(total.rows):
        room = total.rows.block * total.rows.shape[1]
        batch = min(batch, max(room // total.count, 1))
    return batch


def _minimise(total: SmoothSum, linear: Array, h: float, start: Array) -> tuple[Array, Array]:
    """Minimisers, as rows, and gradient norms of a batch."""
    points, linear = np.array(start, order="C"), np.ascontiguousarray(linear)
    runs, shared = points.shape[1], None
    objective = Objective(total=total, h=h, runs=runs)
    many = total.count * runs >= _SINGLE_FROM and total.worth_copying(runs)
    if many:
        shared = _approach(objective, linear, points)
    reached, failed = _finish(objective, linear, points, shared, np.float32 if many else np.float64)
    if failed:
        raise NumericalFailure(
            f"expected a gradient at rounding error; got norm={reached.max():.3g} after {_STEPS} "
            f"Newton steps for {failed} of {len(reached)} runs; check that features, penalties and "
            "noise are of moderate size"
        )
    return points.T, reached


def _approach(objective: Objective, linear: Array, points: Array) -> SharedHessian | None:
    """Improve ``points``, columns of shape (d, runs), in place as far as single precision can.

    Runs whose full step fails stay where they were: shortening it is left to double precision.
    """
    active, shared = np.arange(points.shape[1]), None
    step, curvature, before = np.zeros_like(points), np.zeros(len(active)), None
    for _ in range(_SINGLE_STEPS):
        here = evaluate(
            objective,
            linear.take(active, 1),
            points.take(active, 1) + step,
            (np.float32, np.float32),
        )
        falls = dots(here.gradient, step) <= curvature
        active, here = active[falls], here.take(falls)
        points[:, active] = here.points
        if not falls.any():
            break
        shared = SharedHessian.refreshed(shared, objective, here)
        step = direction(objective, shared, here, None if before is None else before[falls])
        last = here.relative_gradient <= CLOSE
        points[:, active[last]] += step[:, last]
        if last.all():
            break
        active, step, before = (
            active[~last],
            np.compress(~last, step, 1),
            here.relative_gradient[~last],
        )
        curvature = objective.h / 2 * dots(step, step)
    return shared


def _finish(
    objective: Objective,
    linear: Array,
    points: Array,
    shared: SharedHessian | None,
    hessians: Precision,
) -> tuple[Array, int]:
    """Move ``points`` in place to the minimisers; gradient norms and how many are not there."""
    reached, active = np.full(points.shape[1], np.inf), np.arange(points.shape[1])
    base, step, before = points.copy(), np.zeros_like(points), None
    search = LineSearch.begin(np.zeros(len(active)), np.zeros(len(active)))
    for _ in range(_STEPS):
        trial = base + search.length * step
        here = evaluate(objective, linear.take(active, 1), trial, (np.float64, hessians))
        slope, done = dots(here.gradient, step), here.relative_gradient <= ROUNDING
        accepted = search.accepts(slope) | done
        points[:, active[accepted]] = here.points[:, accepted]
        reached[active[accepted]] = norms(here.gradient)[accepted]
        left = ~done
        if not left.any() or np.isnan(slope).any():
            return reached, int(np.count_nonzero(left))
        active, here, search, slope = active[left], here.take(left), search.take(left), slope[left]
        base, step = np.compress(left, base, 1), np.compress(left, step, 1)
        accepted = accepted[left]
        shared = SharedHessian.refreshed(shared, objective, here)
        newton = direction(objective, shared, here, None if before is None else before[left])
        fresh = LineSearch.begin(
            dots(here.gradient, newton), objective.h / 2 * dots(newton, newton)
        )
        search = search.shortened(slope).where(~accepted, fresh)
        base, step = np.where(accepted, here.points, base), np.where(accepted, newton, step)
        before = here.relative_gradient
    return reached, len(active)
