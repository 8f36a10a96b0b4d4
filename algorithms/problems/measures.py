"""What a concrete problem satisfies of the assumptions that theorems make.

These numbers are measured on the data, with exact linear algebra where that is possible and upper
bounds where not; each field says which. They serve to refuse a theorem that does not apply. They
are looks at the data: to publish one is to release it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.networks import second_singular_value
from dpcalc.algorithms.problems.norms import row_norms

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.averaging import AveragingProblem
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsensusMeasures:
    """Of a network problem (zhang2018, zhang2019).

    Attributes:
        sizes: B_i.
        degrees: V_i.
        smoothness: M_i, a bound on the largest eigenvalue of ∇²O(f, D_i): exact where all records
            reach the loss's largest curvature, which for the logistic loss is f = 0.
        strong_convexity: m_i, the least eigenvalue that is sure for every f; exact for losses whose
            curvature can vanish.
        gradient_bound: largest |L'|·‖x‖ of one record of the node.
        longest_row: largest ‖x‖ over all records; the proofs need at most 1.
        loss_weight_small_enough: whether C <= B_i at every node.
        bipartite: whether the network is, which rules out conditions (iii)-(iv) of zhang2019.
        laplacian: eigenvalues of D - A, increasing; the second is above 0 iff connected.
        signless_laplacian: eigenvalues of D + A, increasing.
    """

    sizes: tuple[int, ...]
    degrees: NDArray[np.int64]
    smoothness: Array
    strong_convexity: Array
    gradient_bound: Array
    longest_row: float
    loss_weight_small_enough: bool
    bipartite: bool
    laplacian: Array
    signless_laplacian: Array


def measure_consensus(problem: ConsensusProblem) -> ConsensusMeasures:
    """The measures of a network problem."""
    loss, norms = problem.loss, row_norms(problem.records.features)
    ends = np.array([_extremes(total.spectrum()[0]) for total in problem.sums])
    ridge = problem.node_ridge
    adjacency = problem.network.adjacency.toarray()
    degrees = np.diag(problem.network.degrees)
    return ConsensusMeasures(
        sizes=problem.records.sizes,
        degrees=problem.network.degrees,
        smoothness=_times(loss.curvature, ends[:, 1]) + ridge,
        strong_convexity=loss.least_curvature * ends[:, 0] + ridge,
        gradient_bound=np.array(
            [loss.derivative_bound * float(norms[part].max()) for part in problem.records.slices]
        ),
        longest_row=float(norms.max()),
        loss_weight_small_enough=problem.loss_weight <= min(problem.records.sizes),
        bipartite=problem.network.bipartite,
        laplacian=np.linalg.eigvalsh(degrees - adjacency),
        signless_laplacian=np.linalg.eigvalsh(degrees + adjacency),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompositeMeasures:
    """Of a problem with a linear constraint (shang2021, chan2023).

    Attributes:
        rows: d3, rows of A.
        columns: d1, columns of A.
        rank: of A.
        full_row_rank: assumption 2 of shang2021.
        largest_singular_value: of A.
        smallest_singular_value: of A, zero if it has fewer rows than columns.
        smallest_row_singular_value: square root of the least eigenvalue of AAᵀ.
        smoothness: L_f, a bound on the largest eigenvalue of ∇²f.
        strong_convexity: of f, sure for every x.
        regulariser_strong_convexity: of g.
        user_smoothness: ν of every f_i; exact for quadratic losses. Shape (n,).
        user_strong_convexity: μ of every f_i: a single record bends its loss in one direction only,
            so that beyond one feature only the ridge counts. Shape (n,).
        user_gradient_bound: c, largest ‖∇f_i‖ without the ridge; infinite for the squared loss.
        user_gradient_gap: Δ, the largest ‖∇f_i(x) - ∇f_j(x)‖ over users and all x: an upper bound,
            infinite where it is.
    """

    rows: int
    columns: int
    rank: int
    full_row_rank: bool
    largest_singular_value: float
    smallest_singular_value: float
    smallest_row_singular_value: float
    smoothness: float
    strong_convexity: float
    regulariser_strong_convexity: float
    user_smoothness: Array
    user_strong_convexity: Array
    user_gradient_bound: float
    user_gradient_gap: float


def measure_composite(problem: CompositeProblem) -> CompositeMeasures:
    """The measures of a problem with a linear constraint."""
    loss, norms = problem.loss, row_norms(problem.records.features)
    A = problem.constraint.A
    singular = problem.constraint.singular_values()
    d3, d1 = A.shape
    low, high = _extremes(problem.mean_loss.spectrum()[0])
    own = norms**2 if d1 == 1 else np.zeros_like(norms)
    return CompositeMeasures(
        rows=d3,
        columns=d1,
        rank=int(np.linalg.matrix_rank(A)),
        full_row_rank=bool(np.linalg.matrix_rank(A) == d3),
        largest_singular_value=float(singular[0]),
        smallest_singular_value=float(singular[-1]) if d3 >= d1 else 0.0,
        smallest_row_singular_value=float(singular[-1]) if d3 <= d1 else 0.0,
        smoothness=float(_times(loss.curvature, np.array(high))) + problem.ridge,
        strong_convexity=loss.least_curvature * low + problem.ridge,
        regulariser_strong_convexity=problem.regulariser.strong_convexity,
        user_smoothness=_times(loss.curvature, norms**2) + problem.ridge,
        user_strong_convexity=loss.least_curvature * own + problem.ridge,
        user_gradient_bound=float(_times(loss.derivative_bound, norms).max()),
        user_gradient_gap=_gradient_gap(problem, norms),
    )


def _gradient_gap(problem: CompositeProblem, norms: Array) -> float:
    """Largest distance between two users' gradients, over all points."""
    loss, rows = problem.loss, problem.mean_loss.rows
    if loss.curvature == 0:  # gradients are constant: slope·row
        slope = float(loss.derivative(np.zeros(1))[0])
        return abs(slope) * _diameter(rows)
    if math.isinf(loss.derivative_bound):
        same = sparse.all_alike(rows)
        offsets = problem.mean_loss.offsets
        if not same or offsets is None:
            return math.inf  # different curvatures: the difference grows with x
        return float(loss.curvature * norms[0] * np.ptp(offsets))
    longest = np.sort(norms)[-2:]
    return float(loss.derivative_bound * longest.sum())


def _diameter(points: Rows) -> float:
    """Largest distance between two rows, block by block."""
    squares, largest = sparse.squared_norms(points), 0.0
    for start in range(0, len(squares), 1024):
        block = slice(start, start + 1024)
        products = sparse.consecutive(points, block) @ points.T
        products = products.toarray() if sparse.is_sparse(products) else products
        gaps = squares[block, None] + squares - 2 * products
        largest = max(largest, float(gaps.max()))
    return math.sqrt(largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingMeasures:
    """Of a dual averaging problem (liu2022).

    Attributes:
        sizes: q_i.
        second_singular_value: β = σ₂(W).
        spectral_gap: 1 - β; above 0 as assumption 2 needs.
        subgradient_bound: L, largest subgradient of one record.
        strong_convexity: μ of the regulariser.
    """

    sizes: tuple[int, ...]
    second_singular_value: float
    spectral_gap: float
    subgradient_bound: float
    strong_convexity: float


def measure_averaging(problem: AveragingProblem) -> AveragingMeasures:
    """The measures of a dual averaging problem."""
    beta = second_singular_value(problem.matrix)
    return AveragingMeasures(
        sizes=problem.records.sizes,
        second_singular_value=beta,
        spectral_gap=1 - beta,
        subgradient_bound=float(
            _times(problem.loss.derivative_bound, row_norms(problem.records.features)).max()
        ),
        strong_convexity=problem.regulariser.strong_convexity,
    )


def _extremes(eigenvalues: Array) -> tuple[float, float]:
    return float(eigenvalues[0]), float(eigenvalues[-1])


def _times(bound: float, values: Array) -> Array:
    """bound·values, with infinity times zero taken as zero."""
    return np.where(values == 0, 0.0, bound * np.where(values == 0, 1.0, values))
