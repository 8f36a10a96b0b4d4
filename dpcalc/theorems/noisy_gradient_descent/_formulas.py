"""The bounds on noisy gradient descent as symbolic expressions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from dpcalc.accounting.iteration import Descent, Visits, convex_minorant
from dpcalc.accounting.iteration.descent import points_of

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.noisy_gradient_descent._base import NoisyDescent


def contraction_of(theorem: NoisyDescent) -> tuple[sympy.Expr, dict[str, float]]:
    """max(|1 - ηm|, |1 - ηM|) and its symbols' values; the number 1 if it is that."""
    import sympy

    if theorem.contraction() == 1:
        return sympy.Integer(1), {}
    eta, low, high = sympy.symbols("eta m M", positive=True)
    values = {"eta": theorem.step_size, "m": theorem.curvature(), "M": theorem.smoothness}
    return sympy.Max(sympy.Abs(1 - eta * low), sympy.Abs(1 - eta * high)), values


def certified_mu(
    numeric: Descent,
    visits: Visits,
    *,
    contraction: sympy.Expr,
    jump: sympy.Expr,
    noise: sympy.Expr,
    start: sympy.Expr | int = 0,
    start_value: float = 0.0,
) -> sympy.Expr:
    """μ along the vertices that the numbers choose."""
    import sympy

    def geometric(x: sympy.Expr, count: int) -> sympy.Expr:
        return sympy.Integer(count) if x == 1 else (1 - x**count) / (1 - x)

    vertices = convex_minorant(numeric.points(visits, start_value))
    points = points_of(contraction, jump, noise, start, visits, geometric)
    total = sympy.Integer(0)
    for k, j in pairwise(vertices):
        width, height = points[j][0] - points[k][0], points[j][1] - points[k][1]
        if height != 0:
            total += height**2 / width
    return sympy.sqrt(total)
