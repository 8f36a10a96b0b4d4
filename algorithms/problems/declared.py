"""Whether somebody's own loss or regulariser keeps what it declares, tried at many points.

Sensitivities and noise follow from `Loss.derivative_bound`, `Loss.curvature` and
`Regulariser.strong_convexity`: a false one makes a false guarantee. They are held against the
function at points from 10⁻⁴ to 10⁶ on both sides of zero and at random ones, the same every time.

What is refused is false. What passes may still be false between the points or beyond them: the
checks catch mistakes, and prove nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import losses, regularisers
from dpcalc.errors import AssumptionViolated

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.regularisers import Regulariser

Array = NDArray[np.float64]

_SLACK = 1e-9
"""Relative; rounding of a function written with ordinary care."""

_ROUNDING = 2.0**-50
"""Of slopes, relative to their bound: 1/(1 + e^{-m}) - 1 keeps no digits of its own for large m."""

_UNDERFLOW = 1e-200
"""Below which exponentials lose their digits."""

_NEAR = 1e-4
"""Half the distance of two points whose slopes are compared with the curvature between them."""

_TYPICAL = 0.9
"""Share of the points at which `second_derivative` has to be one; at a jump it is neither value."""


def check_loss(loss: Loss) -> None:
    """Refuse a loss whose constants, slopes or curvatures are not those of its values.

    Raises:
        AssumptionViolated: with the point at which a declaration fails.
    """
    if type(loss).__module__ == losses.__name__:
        return  # proved, and tried by the tests
    points = _points()
    with np.errstate(all="ignore"):
        value, slope, bend = (
            np.asarray(f(points.copy()), dtype=np.float64)
            for f in (loss.value, loss.derivative, loss.second_derivative)
        )
    for name, found in (("value", value), ("derivative", slope), ("second_derivative", bend)):
        _refuse(
            loss.name, f"{name}(m), a finite number for every m", ~_finite(found, points), points
        )
    _check_slopes(loss, points, value, slope)
    _check_curvature(loss, points, slope, bend)


def _points() -> Array:
    """Where a loss is tried; increasing."""
    far = np.geomspace(1e-4, 1e6, 600)
    random = np.random.default_rng(0).uniform(-5, 5, 1400)
    return np.sort(np.concatenate([-far, [0.0], far, random]))


def _finite(found: Array, points: Array) -> NDArray[np.bool_]:
    if found.shape != points.shape:
        return np.zeros(points.shape, bool)
    return np.isfinite(found)


def _check_slopes(loss: Loss, points: Array, value: Array, slope: Array) -> None:
    """The bound on slopes, and that they are subgradients of a convex function."""
    bound = loss.derivative_bound * (1 + _SLACK)
    declared = f"|derivative(m)| <= derivative_bound = {loss.derivative_bound:g}"
    _refuse(loss.name, declared, np.abs(slope) > bound, points)
    step, size = np.diff(points), np.abs(slope[1:]) + np.abs(slope[:-1])
    off = _ROUNDING * loss.derivative_bound if math.isfinite(loss.derivative_bound) else 0.0
    _refuse(loss.name, "convexity", np.diff(slope) < -_SLACK * size - off, points[1:])
    # Values in the double; a difference of two is off by a few roundings of either.
    slack = _SLACK * (size * step + np.abs(value[1:]) + np.abs(value[:-1])) + _UNDERFLOW
    slack += off * step
    rise = np.diff(value)
    outside = (rise < slope[:-1] * step - slack) | (rise > slope[1:] * step + slack)
    _refuse(loss.name, "a derivative that is the slope of value", outside, points[1:])


def _check_curvature(loss: Loss, points: Array, slope: Array, bend: Array) -> None:
    """The bounds on curvatures, and that they are derivatives of slopes."""
    least, most = loss.least_curvature, loss.curvature
    step = np.diff(points)
    slack = _SLACK * (np.abs(slope[1:]) + np.abs(slope[:-1]))
    rise = np.diff(slope)
    if math.isfinite(most):
        declared = f"slopes that rise by at most curvature = {most:g} per unit"
        _refuse(loss.name, declared, rise > most * step * (1 + _SLACK) + slack, points[1:])
    declared = f"slopes that rise by at least least_curvature = {least:g} per unit"
    _refuse(loss.name, declared, rise < least * step * (1 - _SLACK) - slack, points[1:])
    declared = f"least_curvature <= second_derivative(m) <= curvature, {least:g} to {most:g}"
    beyond = (bend > most * (1 + _SLACK)) | (bend < least * (1 - _SLACK))
    _refuse(loss.name, declared, beyond, points)
    inner = points[np.abs(points) <= 5]
    quotient = (loss.derivative(inner + _NEAR) - loss.derivative(inner - _NEAR)) / (2 * _NEAR)
    off = np.abs(quotient - loss.second_derivative(inner)) > 1e-3 * (np.abs(quotient) + 1)
    if off.mean() > 1 - _TYPICAL:
        _refuse(loss.name, "a second_derivative that is the slope of derivative", off, inner)


def check_regulariser(regulariser: Regulariser, dimension: int) -> None:
    """Refuse a regulariser that is less convex than it declares, or whose minimiser is none.

    Args:
        regulariser: any.
        dimension: of the points that it is a function of.

    Raises:
        AssumptionViolated: with the declaration that fails.
    """
    if type(regulariser).__module__ == regularisers.__name__:
        return  # proved, and tried by the tests
    rng = np.random.default_rng(0)
    sizes = np.geomspace(1e-2, 1e2, 60)[:, None]
    a, b = (sizes * rng.standard_normal((60, dimension)) for _ in range(2))
    _check_convexity(regulariser, a, b)
    _check_minimiser(regulariser, a, rng)
    if regulariser.quadratic:
        ends = regulariser.argmin(a, ridge=1.0) + regulariser.argmin(b, ridge=1.0)
        middle = regulariser.argmin((a + b) / 2, ridge=1.0)
        slack = _SLACK * (1 + np.abs(ends) + np.abs(middle))
        off = np.max(np.abs(ends / 2 - middle) - slack, axis=-1) > 0
        _refuse(regulariser.name, "an affine argmin, as quadratic says", off, sizes[:, 0])


def _check_convexity(regulariser: Regulariser, a: Array, b: Array) -> None:
    """h(middle) <= mean of h - (μ/8)‖a - b‖², where h is finite at both ends."""
    mu = regulariser.strong_convexity
    ends = (regulariser.value(a), regulariser.value(b))
    with np.errstate(invalid="ignore"):
        excess = regulariser.value((a + b) / 2) - (ends[0] + ends[1]) / 2
        excess += mu / 8 * np.einsum("nk,nk->n", a - b, a - b)
        slack = _SLACK * (np.abs(ends[0]) + np.abs(ends[1]) + mu * (a * a + b * b).sum(axis=-1))
    inside = np.isfinite(ends[0]) & np.isfinite(ends[1])
    declared = f"strong convexity {mu:g} in the middle of two points"
    _refuse(regulariser.name, declared, inside & ~(excess <= slack), np.linalg.norm(a - b, axis=-1))


def _check_minimiser(regulariser: Regulariser, v: Array, rng: np.random.Generator) -> None:
    """No point near `argmin` is better, nor any of the others."""
    weight, ridge = 0.7, 1.3

    def objective(x: Array) -> Array:
        inner = np.einsum("nk,nk->n", v, x)
        return np.asarray(
            inner + weight * regulariser.value(x) + ridge / 2 * np.einsum("nk,nk->n", x, x)
        )

    best = regulariser.argmin(v, weight=weight, ridge=ridge)
    least = objective(best)
    for distance in (1e-3, 0.1, 1.0):
        size = distance * (1 + np.linalg.norm(best, axis=-1, keepdims=True))
        other = best + size * rng.standard_normal(best.shape) / math.sqrt(best.shape[-1])
        there = objective(other)
        better = ~(least <= there + _SLACK * (1 + np.abs(least)))
        _refuse(regulariser.name, "a minimiser from argmin", better, np.linalg.norm(v, axis=-1))


def _refuse(name: str, declared: str, fails: NDArray[np.bool_], where: Array) -> None:
    if fails.any():
        first = int(np.argmax(fails))
        raise AssumptionViolated(
            f"{declared} was declared by {name!r} and needed; it fails at {where[first]:.6g} and "
            f"{int(fails.sum()) - 1} other points of {len(where)}; declare what holds everywhere"
        )
