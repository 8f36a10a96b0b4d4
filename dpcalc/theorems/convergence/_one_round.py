"""One round of M-ADMM with a common penalty: what is proved of it, and what a quadratic reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcalc.numerics.certified_eigenvalues import UNIT, Array, largest_eigenvalue, positive_definite
from dpcalc.numerics.precise import Real, mpf, round_down
from dpcalc.theorems.base import Formula
from dpcalc.theorems.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions (21) and (22) on δ, for a given split μ > 1.

    (21) ``δ μ² σ̃ <= θσ``; (22) ``δ[(μ S + μ² D_M)/(θσ(μ - 1)) + P] ≼ R``.

    Attributes:
        sigma_tilde: σ̃, an upper bound of the largest eigenvalue of P.
        theta_sigma: θσ, a lower bound of θ times the smallest nonzero eigenvalue of D - A.
        squared: S, ``(η - θ)²(D - A)²``, or as printed its largest eigenvalue times I.
        high: the diagonal of D_M.
        pull: P, ``η(D + A)``.
        right: R, ``2(η - θ)(D - A) + 2D_m``.
        half: a matrix H with ``H'RH = I``, None if R is not positive definite.
    """

    sigma_tilde: float
    theta_sigma: float
    squared: Array
    high: Array
    pull: Array
    right: Array
    half: Array | None

    @classmethod
    def of(
        cls,
        graph: Graph,
        penalty: float,
        dual_step: float,
        low: tuple[float, ...],
        high: tuple[float, ...],
        *,
        printed: bool,
    ) -> Conditions:
        """The conditions; ``printed`` keeps the singular value where the proof has a matrix."""
        pull = penalty * graph.signless_laplacian
        spread = (penalty - dual_step) * graph.laplacian
        whole = graph.laplacian @ graph.laplacian  # whole numbers, exact
        squared = (penalty - dual_step) ** 2 * whole
        if printed:
            squared = np.eye(graph.nodes) * largest_eigenvalue(squared)
        right = 2 * spread + 2 * np.diag(low)
        values, vectors = np.linalg.eigh(right)
        return cls(
            sigma_tilde=largest_eigenvalue(pull, 4 * UNIT * float(np.abs(pull).sum())),
            theta_sigma=round_down(mpf(dual_step) * mpf(graph.connectivity())),
            squared=squared,
            high=np.array(high) ** 2,
            pull=pull,
            right=right,
            half=vectors / np.sqrt(values) if values[0] > 0 else None,
        )

    def _first(self, split: float) -> float:
        """The largest δ of (21), rounded down."""
        return round_down(first_condition(mpf(self.theta_sigma), mpf(self.sigma_tilde), mpf(split)))

    def _left(self, split: float) -> Array:
        high = np.diag(self.high)
        left: Array = second_condition(self.theta_sigma, self.pull, self.squared, high, split)
        return left

    def estimate(self, split: float) -> float:
        """The largest δ for a split, not yet proved; 0 if there is none."""
        if self.half is None:
            return 0.0
        strongest = float(np.linalg.eigvalsh(self.half.T @ self._left(split) @ self.half)[-1])
        return min(first_condition(self.theta_sigma, self.sigma_tilde, split), 1 / strongest)

    def proved(self, split: float) -> float:
        """The largest δ for a split that a definite matrix proves; 0 if there is none."""
        delta = min(self.estimate(split), self._first(split))
        left = self._left(split)
        for loss in (1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-4):
            tried = delta * (1 - loss)
            size = tried * float(np.abs(left).sum()) + float(np.abs(self.right).sum())
            if tried > 0 and positive_definite(self.right - tried * left, 64 * UNIT * size):
                return tried
        return 0.0


def first_condition(theta_sigma: Real, sigma_tilde: Real, split: Real) -> Real:
    """The largest δ of (21), for numbers or symbols."""
    return theta_sigma / (split**2 * sigma_tilde)


def second_condition(theta_sigma: Real, pull: Any, squared: Any, high: Any, split: Real) -> Any:
    """What (22) multiplies δ by: ``(μ S + μ² D_M)/(θσ(μ - 1)) + P``, of matrices or eigenvalues."""
    return (split * squared + split**2 * high) / (theta_sigma * (split - 1)) + pull


def worst_quadratic_round(
    graph: Graph, penalty: float, dual_step: float, curvature: tuple[float, ...]
) -> float:
    """The largest ratio of squared J-norms after and before one round, over all starts.

    With Y in the range of ``√(D-A)``, ``(h + 2ηV)f⁺ = η(D+A)f - √(D-A)Y``,
    ``Y⁺ = Y + θ√(D-A)f⁺`` and ``|Z|² = |Y|²/θ + f'η(D+A)f``. Ordinary eigenvalues, nearest rounding.
    """
    nodes = graph.nodes
    values, vectors = np.linalg.eigh(graph.laplacian)
    values, vectors = values[1:], vectors[:, 1:]
    root = vectors * np.sqrt(values)  # √(D-A) on the range, in coordinates of Y
    pull = penalty * graph.signless_laplacian
    solve = 1 / (np.array(curvature) + 2 * penalty * graph.degrees)
    f = solve[:, None] * np.hstack([pull, -root])
    y = np.hstack([np.zeros((nodes - 1, nodes)), np.eye(nodes - 1)]) + dual_step * root.T @ f
    after = f.T @ pull @ f + y.T @ y / dual_step
    strength, modes = np.linalg.eigh(pull)
    keep = strength > 1e-9 * strength[-1]  # f enters the next round only through D + A
    half = np.zeros((2 * nodes - 1, int(keep.sum()) + nodes - 1))
    half[:nodes, : int(keep.sum())] = modes[:, keep] / np.sqrt(strength[keep])
    half[nodes:, int(keep.sum()) :] = np.eye(nodes - 1) * np.sqrt(dual_step)
    return float(np.linalg.eigvalsh(half.T @ after @ half)[-1])


def regular_delta(
    graph: Graph, penalty: float, dual_step: float, printed: Mapping[str, float]
) -> Formula:
    """(21)-(22) on a regular network with equal curvatures: one condition per eigenvalue of D - A.

    There ``W(D + A)`` has the eigenvalue ``η(2V - l)`` where D - A has l.

    Args:
        graph: regular.
        penalty: η, the same at all nodes.
        dual_step: θ.
        printed: theta_sigma, sigma_tilde, m, M and mu.
    """
    import sympy

    ts, tilde, m, big, mu, eta, theta, v = sympy.symbols(
        "theta_sigma sigma_tilde m M mu eta theta V", nonnegative=True
    )
    estimates = np.linalg.eigvalsh(graph.laplacian)
    distinct = sorted({round(float(x), 9): float(x) for x in estimates}.values())
    conditions = [first_condition(ts, tilde, mu)]
    values = {}
    for k, value in enumerate(distinct):
        level = sympy.Symbol(f"l{k}", real=True)
        gap = (eta - theta) * level
        left = second_condition(ts, eta * (2 * v - level), gap**2, big**2, mu)
        conditions.append((2 * gap + 2 * m) / left)
        values[str(level)] = value
    values |= {**printed, "eta": penalty, "theta": dual_step, "V": float(graph.degrees[0])}
    return Formula("certified.delta", sympy.Min(*conditions), values)
