"""The network methods on quadratic objectives ``O_i(f) = (h_i/2)|f|² - b_i f``: linear recursions.

Each coordinate runs alone, so f and the dual variables are numbers. The weighted sum of the dual
variables that a method conserves (it starts at zero) is used to drop the last of them: the state is
(f_1..f_N, y_1..y_{N-1}). On that space the recursion contracts exactly if the method converges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.certified_eigenvalues import Array, contraction
from dpcalc.numerics.precise import Real, mpf, round_down
from dpcalc.theorems.base import Formula
from dpcalc.theorems.convergence._base import Rate, by_node, finite
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.parameters import schedule
from dpcalc.theorems.schedule import Schedule

Values = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadraticProblem:
    """Curvatures h and linear terms b, one per node.

    Attributes:
        curvature: h_i, 0 or above.
        linear: b_i.
    """

    curvature: tuple[float, ...]
    linear: tuple[float, ...]

    def minimiser(self, weights: Values) -> Real:
        """The minimiser of the weighted sum Σ w_i O_i, with sixty digits."""
        exact = (tuple(map(mpf, values)) for values in (weights, self.curvature, self.linear))
        return _minimiser(*exact)

    def bias(self, weights: Values) -> Real:
        """How far the minimiser of the weighted sum is from that of the plain one."""
        return abs(self.minimiser(weights) - self.minimiser((1.0,) * len(self.curvature)))

    @property
    def solvable(self) -> bool:
        """Whether there is exactly one minimiser."""
        return sum(self.curvature) > 0


def _minimiser(weights: Sequence[Real], curvature: Sequence[Real], linear: Sequence[Real]) -> Real:
    """``Σ w_i b_i/Σ w_i h_i``, for digits or symbols."""
    top = sum(w * b for w, b in zip(weights, linear, strict=True))
    return top / sum(w * h for w, h in zip(weights, curvature, strict=True))


def hardest(nodes: int, weights: Values) -> QuadraticProblem:
    """Unit curvatures with the linear term at the node that the weights distort most."""
    worst = max(range(nodes), key=lambda i: weights[i])
    return QuadraticProblem(
        curvature=(1.0,) * nodes, linear=tuple(float(i == worst) for i in range(nodes))
    )


def curvatures() -> Any:
    """The parameter h."""
    return schedule(
        "curvatures h of the objectives (h/2)f² - bf; one number, or one per node",
        check=checks.non_negative,
        default=None,
    )


def linear_terms() -> Any:
    """The parameter b."""
    return schedule(
        "linear terms b of the objectives (h/2)f² - bf; one per node", check=finite, default=None
    )


def quadratic_problem(
    curvature: Schedule | None, linear: Schedule | None, nodes: int
) -> QuadraticProblem | None:
    """The quadratic problem of curvatures and linear terms; None without curvatures.

    Raises:
        InvalidInput: for linear terms without curvatures.
    """
    if curvature is None:
        if linear is not None:
            raise InvalidInput("linear terms b need curvatures h as well; try --curvature 1")
        return None
    b = (0.0,) * nodes if linear is None else by_node("linear", linear, nodes)
    return QuadraticProblem(curvature=by_node("curvature", curvature, nodes), linear=b)


def biased(problem: QuadraticProblem, weights: Values, what: str) -> Rate:
    """The distance between the limit that weights lead to and the optimum."""
    plain = (1.0,) * len(weights)
    numbers = {
        "limit": float(problem.minimiser(weights)),
        "optimum": float(problem.minimiser(plain)),
    }
    return Rate(round_down(problem.bias(weights)), numbers, what)


def limit_formula(problem: QuadraticProblem | None, scale: Values) -> Formula:
    """``Σ(b_i/s_i)/Σ(h_i/s_i)``, where the scale s is what every node divides its objective by."""
    import sympy

    nodes = len(scale)
    problem = problem or hardest(nodes, tuple(1 / x for x in scale))
    h = sympy.symbols(f"h1:{nodes + 1}", nonnegative=True)
    b = sympy.symbols(f"b1:{nodes + 1}", real=True)
    s = sympy.symbols(f"s1:{nodes + 1}", positive=True)
    values = {
        **{str(x): v for x, v in zip(h, problem.curvature, strict=True)},
        **{str(x): v for x, v in zip(b, problem.linear, strict=True)},
        **{str(x): v for x, v in zip(s, scale, strict=True)},
    }
    return Formula("attained.limit", _minimiser([1 / x for x in s], h, b), values)


def m_admm_contraction(
    graph: Graph, penalty: Values, dual_step: Values, curvature: Values
) -> float | None:
    """A rate at which M-ADMM with constant penalties converges on a quadratic, or None.

    ``(h + 2ηV)f⁺ = η(D+A)f - y``, ``y⁺ = y + θ(D-A)f⁺``; Σ y_i/θ_i stays zero.
    """
    eta, theta, h = np.array(penalty), np.array(dual_step), np.array(curvature)
    halves = []
    for sign in (1.0, -1.0):
        drop = _restored(theta, sign)
        pull = _signless(graph) * eta[:, None]
        solve = 1 / (h + 2 * eta * graph.degrees)
        f = solve[:, None] * np.hstack([pull, -sign * drop])
        y = np.hstack([np.zeros_like(pull), drop]) + theta[:, None] * (_laplacian(graph, sign) @ f)
        halves.append(np.vstack([f, y[:-1]]))
    return contraction(halves[0], np.abs(halves[1]))


def recycled_contraction(
    graph: Graph, penalty: Values, proximal_weight: float, curvature: Values
) -> float | None:
    """A rate at which MR-ADMM with constant penalties converges on a quadratic, or None.

    ``(h + 2ηV)f = η(D+A)u - y``, ``y⁺ = y + η(D-A)f``,
    ``u⁺ = f - (hf + y⁺ + η(D-A)f)/(2ηV + γ)``; Σ y_i/η_i stays zero. The state is (u, y).
    """
    eta, h = np.array(penalty), np.array(curvature)
    degrees = graph.degrees
    halves = []
    for sign in (1.0, -1.0):
        drop = _restored(eta, sign)
        pull = _signless(graph) * eta[:, None]
        solve = 1 / (h + 2 * eta * degrees)
        f = solve[:, None] * np.hstack([pull, -sign * drop])
        push = eta[:, None] * (_laplacian(graph, sign) @ f)
        y = np.hstack([np.zeros_like(pull), drop]) + push
        step = sign / (2 * eta * degrees + proximal_weight)
        u = f - step[:, None] * (h[:, None] * f + y + push)
        halves.append(np.vstack([u, y[:-1]]))
    return contraction(halves[0], np.abs(halves[1]))


def _restored(scale: Array, sign: float) -> Array:
    """The matrix that gives y_1..y_N from y_1..y_{N-1} when Σ y_i/scale_i = 0."""
    nodes = len(scale)
    return np.vstack([np.eye(nodes - 1), -sign * scale[-1] / scale[None, :-1]])


def _signless(graph: Graph) -> Array:
    return graph.signless_laplacian


def _laplacian(graph: Graph, sign: float) -> Array:
    """The Laplacian, or with sign -1 its absolute values."""
    return np.diag(graph.degrees) - sign * graph.adjacency
