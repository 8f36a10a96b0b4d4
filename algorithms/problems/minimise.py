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
from dpcalc.errors import AssumptionViolated, NumericalFailure

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Floats
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""A gradient this small, relative to the size of its terms, is rounding error."""

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
    points = np.array(start.T, order="C")
    linear = np.ascontiguousarray(linear.T)
    if len(total.rows) * points.shape[1] >= _SINGLE_FROM:
        _newton(total, linear, curvature, points, np.float32)
    norms, failed = _newton(total, linear, curvature, points, np.float64)
    if failed:
        raise NumericalFailure(
            f"a gradient at rounding error was needed; got norm={norms.max():.3g} after {_STEPS} "
            f"Newton steps for {failed} of {len(norms)} runs; check that features, penalties and "
            "noise are of moderate size"
        )
    return Minimum(points=np.ascontiguousarray(points.T), gradient_norm=norms)


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
    search = _LineSearch.begin(np.zeros(len(active)), np.zeros(len(active)))
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
        fresh = _LineSearch.begin(_dot(g, direction), h / 2 * _dot(direction, direction))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineSearch:
    """Where along its step every run stands; slopes are derivatives of the objective along it.

    Attributes:
        descent: slope where the step starts, below 0.
        bow: (h/2)·‖step‖², what strong convexity adds to the objective over the whole step.
        length: fraction of the step on trial.
        low: largest fraction known to end in descent, and the slope there.
        high: smallest fraction known to go too far, or infinity, and the slope there.
        tries: fractions tried.
    """

    descent: Array
    bow: Array
    length: Array
    low: Array
    low_slope: Array
    high: Array
    high_slope: Array
    tries: Array

    @classmethod
    def begin(cls, descent: Array, bow: Array) -> _LineSearch:
        """Try the whole step first."""
        one, zero, far = np.ones_like(bow), np.zeros_like(bow), np.full_like(bow, np.inf)
        return cls(
            descent=descent,
            bow=bow,
            length=one,
            low=zero,
            low_slope=descent,
            high=far,
            high_slope=far,
            tries=zero,
        )

    def accepts(self, slope: Array) -> NDArray[np.bool_]:
        """Whether the objective has fallen, and the search, once cut short, fell far enough.

        Strong convexity: objective(start) - objective(end) >= length·(bow·length - slope).
        """
        far_enough = (slope >= self.descent / 2) | np.isinf(self.high)
        return (slope <= self.bow * self.length) & far_enough

    def shortened(self, slope: Array) -> _LineSearch:
        """The next fraction: secant and bisection in turn."""
        far = slope > self.bow * self.length
        low = np.where(far, self.low, self.length)
        low_slope = np.where(far, self.low_slope, slope)
        high = np.where(far, self.length, self.high)
        high_slope = np.where(far, slope, self.high_slope)
        ratio = low_slope / np.minimum(low_slope - high_slope, -np.finfo(float).tiny)
        share = np.where(self.tries % 2 == 0, np.clip(ratio, 0.05, 0.95), 0.5)
        width = np.where(np.isinf(high), 0, high - low)
        return _LineSearch(
            descent=self.descent,
            bow=self.bow,
            length=low + share * width,
            low=low,
            low_slope=low_slope,
            high=high,
            high_slope=high_slope,
            tries=self.tries + 1,
        )

    def where(self, kept: NDArray[np.bool_], other: _LineSearch) -> _LineSearch:
        """This search for the runs in ``kept``, ``other`` for the rest."""
        return _LineSearch(
            **{
                name: np.where(kept, getattr(self, name), getattr(other, name))
                for name in self.__slots__
            }
        )

    def only(self, kept: NDArray[np.bool_]) -> _LineSearch:
        """The search of the runs in ``kept``."""
        return _LineSearch(**{name: getattr(self, name)[kept] for name in self.__slots__})


def _norm(columns: Floats) -> Array:
    square: Array = np.einsum("kr,kr->r", columns, columns, dtype=np.float64)
    return np.sqrt(square)


def _dot(left: Floats, right: Floats) -> Array:
    product: Array = np.einsum("kr,kr->r", left, right)
    return product
