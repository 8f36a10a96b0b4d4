"""Exact minimisers of F(f) + cᵀf + (h/2)‖f‖², one for every run, by Newton's method.

The privacy proof of objective perturbation turns the released minimiser back into the noise, which
needs the exact one: minimisation ends when the gradient, evaluated in double precision, is no
larger than its own rounding error, and otherwise raises.

Method
    Newton's equations H p = -g are solved by conjugate gradients, preconditioned with
    Q(sΛ + h)⁻¹Qᵀ, where QΛQᵀ is a Hessian common to the batch and s a run's mean curvature next to
    its: exact for a quadratic loss. A step is taken if the directional derivative at its end
    proves, by strong convexity, that the objective fell; else it is shortened by secants and
    bisections of that derivative. Far from the minimum, large problems are worked in single
    precision, which can cost steps but not accuracy: the last gradients are in double precision.

A run's minimiser does not depend on the other runs of its batch, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems.line_search import LineSearch
from dpcalc.errors import AssumptionViolated, NumericalFailure

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Floats
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""A gradient this small, relative to the size of its terms, is rounding error."""

_BATCH = 4096  # runs worked on together
_SINGLE_FROM = 2**18  # records times runs from which single precision pays
_SINGLE_UNTIL = 2e-6  # relative gradient norm at which it has done its work
_SINGLE_STEPS = 12  # Newton steps it may take
_STEPS = 1000  # Newton steps, halved ones included
_INNER = 200  # conjugate-gradient steps for one Newton step


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
    points, norms = np.empty_like(linear), np.empty(len(linear))
    for first in range(0, len(linear), _BATCH):
        part = slice(first, first + _BATCH)
        points[part], norms[part] = _minimise(total, linear[part].T, curvature, start[part].T)
    return Minimum(points=points, gradient_norm=norms)


def _minimise(total: SmoothSum, linear: Array, h: float, start: Array) -> tuple[Array, Array]:
    """Minimisers, as rows, and gradient norms of a batch that fits into the processor's cache."""
    points, linear = np.array(start, order="C"), np.ascontiguousarray(linear)
    if len(total.rows) * points.shape[1] >= _SINGLE_FROM:
        _newton(total, linear, h, points, np.float32)
    norms, failed = _newton(total, linear, h, points, np.float64)
    if failed:
        raise NumericalFailure(
            f"a gradient at rounding error was needed; got norm={norms.max():.3g} after {_STEPS} "
            f"Newton steps for {failed} of {len(norms)} runs; check that features, penalties and "
            "noise are of moderate size"
        )
    return points.T, norms


def _newton(
    total: SmoothSum,
    linear: Array,
    h: float,
    points: Array,
    dtype: type[np.floating[Any]],
) -> tuple[Array, int]:
    """Improve ``points``, columns of shape (d, runs), in place; gradient norms, number unfinished.

    Double precision works until rounding error is reached, single precision until it has gained
    what it can.
    """
    final = dtype == np.float64
    enough = ROUNDING if final else _SINGLE_UNTIL
    norms = np.full(points.shape[1], np.inf)
    active = np.arange(points.shape[1])
    base, step = points.copy(), np.zeros_like(points)
    search = LineSearch.begin(np.zeros(len(active)), np.zeros(len(active)))
    for _ in range(_STEPS if final else _SINGLE_STEPS):
        trial = base + search.length * step
        g, size, bends = _gradient(total, linear[:, active], h, trial, dtype)
        norm, slope = _norm(g), _dot(g, step)
        done = norm <= enough * size
        accepted = search.accepts(slope) | done
        points[:, active[accepted]], norms[active[accepted]] = trial[:, accepted], norm[accepted]
        if done.all():
            return norms, 0
        if np.isnan(norm).any() or not (final or accepted.all()):
            break
        direction = _solve(total, h, g, bends, float((norm / size).max()))
        fresh = LineSearch.begin(_dot(g, direction), h / 2 * _dot(direction, direction))
        search = search.shortened(slope).where(~accepted, fresh).only(~done)
        base = np.where(accepted, trial, base)[:, ~done]
        step = np.where(accepted, direction, step)[:, ~done]
        active = active[~done]
    return norms, len(active)


def _gradient(
    total: SmoothSum, linear: Array, h: float, points: Array, dtype: type[np.floating[Any]]
) -> tuple[Array, Array, Floats]:
    """Gradients, the size of the terms they are sums of, and w·φ'' of every record and run."""
    rows = total.rows_as(dtype)
    columns = points.astype(dtype, copy=False)
    runs = columns.shape[1]
    bends = np.empty((len(rows), runs), np.float32 if len(rows) * runs >= _SINGLE_FROM else dtype)
    data, squares = np.zeros(columns.shape), np.zeros(runs)
    for tile in total.tiles(runs):
        m = rows[tile] @ columns
        if total.offsets is not None:
            m += total.offsets[tile, None].astype(dtype, copy=False)
        slope = total.loss.slope_and_bend(m, total.weight, bends[tile])
        data += rows[tile].T @ slope
        squares += _dot(slope, slope)
    longest, far = total.longest_row(), _norm(points)
    size = total.weight * longest * np.sqrt(len(rows) * squares)
    size += (bends.sum(axis=0) * longest**2 + h) * far + _norm(linear)
    return np.asarray(total.weight * data + h * points + linear), size, bends


def _solve(total: SmoothSum, h: float, g: Array, bends: Floats, far: float) -> Array:
    """Newton's directions -H⁻¹g; the residual shrinks with ``far``, the relative gradient."""
    work = bends.dtype.type
    rows = total.rows_as(work)
    eigenvalues, vectors, scales = _preconditioner(total, bends)
    scaling = (1 / (np.outer(eigenvalues, scales) + h)).astype(work)
    vectors = vectors.astype(work, copy=False)
    norm = _norm(g)
    scale = np.where(norm > 0, norm, 1)
    residual = (-g / scale).astype(work)
    direction = np.zeros_like(residual)
    search, old = np.zeros_like(residual), np.ones(len(norm), work)
    tolerance = min(max(far, 1e-5 if work == np.float32 else 1e-8), 0.03)
    for _ in range(_INNER):
        z = vectors @ (scaling * (vectors.T @ residual))
        new = _dot(residual, z)
        search = z + (new / old) * search
        product = work(h) * search
        for tile in total.tiles(len(norm)):
            m = rows[tile] @ search
            m *= bends[tile]
            product += rows[tile].T @ m
        curvature = _dot(search, product)
        length = np.where(curvature > 0, new / np.where(curvature > 0, curvature, 1), 0)
        direction += length * search
        residual -= length * product
        if _norm(residual).max() <= tolerance:
            break
        old = np.where(new > 0, new, 1)
    return np.asarray(direction * scale, dtype=np.float64)


def _preconditioner(total: SmoothSum, bends: Floats) -> tuple[Array, Array, Array]:
    """Eigenvalues and vectors of a Hessian of F common to all runs, and each run's share of it.

    Where that is cheap next to the passes over the records that it saves, it is the Hessian at the
    batch's mean curvatures; else w Σ r rᵀ, whose spectrum is kept.
    """
    (count, runs), d = bends.shape, total.rows.shape[1]
    if d > 4 * runs or d**2 > count * runs:
        eigenvalues, vectors = total.spectrum()
        return eigenvalues, vectors, bends.mean(axis=0, dtype=np.float64) / total.weight
    rows = total.rows_as(bends.dtype.type)
    mean = bends.mean(axis=1)
    gram = np.asarray((rows.T * mean) @ rows, dtype=np.float64)
    eigenvalues, vectors = np.linalg.eigh(gram)
    level = float(mean.mean())
    shares = bends.mean(axis=0, dtype=np.float64) / level if level > 0 else np.ones(runs)
    return np.maximum(eigenvalues, 0), vectors, shares


def _norm(columns: Floats) -> Array:
    square: Array = np.einsum("kr,kr->r", columns, columns, dtype=np.float64)
    return np.sqrt(square)


def _dot(left: Floats, right: Floats) -> Array:
    product: Array = np.einsum("kr,kr->r", left, right)
    return product
