"""Newton's equations for many runs at once, by preconditioned conjugate gradients.

The preconditioner of a run is Q(sΛ + h)⁻¹Qᵀ, where QΛQᵀ is a Hessian common to the batch and s the
run's mean curvature next to its: exact for a quadratic loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Floats
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

_STEPS = 200
_LEFT = 0.35  # share of runs that may stop before their residual is small enough


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """F(f) + (h/2)‖f‖², what the runs of a batch have in common.

    Attributes:
        total: F.
        h: above 0.
        runs: of the whole batch, those that are done included.
    """

    total: SmoothSum
    h: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preconditioner:
    """A Hessian of F common to the runs of a batch.

    Attributes:
        eigenvalues: of the common Hessian; shape (d,).
        vectors: its eigenvectors, as columns.
        level: mean curvature w·φ'' at which it was taken.
    """

    eigenvalues: Array
    vectors: Array
    level: float

    @classmethod
    def of(cls, objective: Objective, bends: Floats) -> Preconditioner:
        """The Hessian at the batch's mean curvatures, or w Σ r rᵀ, whose spectrum is kept.

        The first where it is cheap next to the passes over the records that it saves.

        Args:
            objective: of the batch.
            bends: w·φ'' of every record and run; shape (n, runs).
        """
        total = objective.total
        (count, runs), d = bends.shape, total.rows.shape[1]
        if d > 4 * runs or d**2 > count * runs:
            eigenvalues, vectors = total.spectrum()
            return cls(eigenvalues=eigenvalues, vectors=vectors, level=total.weight)
        mean = bends.mean(axis=1)
        eigenvalues, vectors = np.linalg.eigh(total.weighted_gram(mean, objective.runs))
        return cls(
            eigenvalues=np.maximum(eigenvalues, 0), vectors=vectors, level=float(mean.mean())
        )

    def scaling(self, levels: Array, h: float) -> Array:
        """(sΛ + h)⁻¹ for runs of these mean curvatures w·φ''; shape (d, runs)."""
        shares = levels / self.level if self.level > 0 else np.ones_like(levels)
        return 1 / (np.outer(self.eigenvalues, shares) + h)


def newton_direction(
    objective: Objective,
    common: Preconditioner,
    gradient: Array,
    bends: Floats,
    levels: Array,
    tolerance: Array,
) -> Array:
    """-H⁻¹g for H = ∇²F + h·I, up to a residual that is small next to g.

    Args:
        objective: of the batch.
        common: of these runs or of others near them.
        gradient: g; shape (d, runs).
        bends: w·φ'' of every record and run; shape (n, runs); its precision is worked in.
        levels: their means over the records; shape (runs,).
        tolerance: norm of the residual that is small enough, as a share of that of g; shape (runs,).
    """
    work, h, runs = bends.dtype.type, objective.h, objective.runs
    scaling = common.scaling(levels, h).astype(work)
    vectors = common.vectors.astype(work, copy=False)
    norm = norms(gradient)
    scale = np.where(norm > 0, norm, 1)
    residual = (-gradient / scale).astype(work)
    direction = np.zeros_like(residual)
    search, old = np.zeros_like(residual), np.ones(len(norm), work)
    for _ in range(_STEPS):
        z = vectors @ (scaling * (vectors.T @ residual))
        new = dots(residual, z)
        search = z + (new / old) * search
        product = objective.total.weighted(search, bends, runs).astype(work, copy=False)
        product += work(h) * search
        curvature = dots(search, product)
        length = np.where(curvature > 0, new / np.where(curvature > 0, curvature, 1), 0)
        direction += length * search
        residual -= length * product
        if np.mean(norms(residual) > tolerance) <= _LEFT:
            break
        old = np.where(new > 0, new, 1)
    return np.asarray(direction * scale, dtype=np.float64)


def norms(columns: Floats) -> Array:
    """Euclidean norms of the columns."""
    square: Array = np.einsum("kr,kr->r", columns, columns, dtype=np.float64)
    return np.sqrt(square)


def dots(left: Floats, right: Floats) -> Array:
    """Inner products of the columns."""
    product: Array = np.einsum("kr,kr->r", left, right)
    return product
