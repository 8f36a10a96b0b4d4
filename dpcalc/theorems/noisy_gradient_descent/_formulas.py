"""The bounds on noisy gradient descent as symbolic expressions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from dpcalc.accounting.iteration import Descent, Visits, convex_minorant
from dpcalc.accounting.iteration.descent import sample_profile
from dpcalc.accounting.iteration.sampled_batches import Split
from dpcalc.theorems.base import Formula

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.noisy_gradient_descent._base import NoisyDescent
    from dpcalc.theorems.noisy_gradient_descent._sampled import SampledDescent


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

    vertices = convex_minorant(numeric.points(visits, start_value))
    points = sample_profile(contraction, jump, noise, start, visits, _geometric)
    total = sympy.Integer(0)
    for k, j in pairwise(vertices):
        width, height = points[j][0] - points[k][0], points[j][1] - points[k][1]
        if height != 0:
            total += height**2 / width
    return sympy.sqrt(total)


def split_formulas(
    theorem: SampledDescent, which: str, split: Split, *, bounded: bool, contraction: sympy.Expr
) -> list[Formula]:
    """μ of the shift, of a step and of a closing step.

    Args:
        theorem: batches drawn at random.
        which: "claimed" or "certified".
        split: the numbers' choice of steps and share.
        bounded: whether the diameter is the smaller bound on the distance before the counted steps.
        contraction: c.
    """
    import sympy

    lip, s, b, eta, diam, theta = sympy.symbols("L sigma b eta D theta", positive=True)
    _, values = contraction_of(theorem)
    values |= {
        "L": theorem.lipschitz,
        "sigma": theorem.sigma,
        "b": float(theorem.batch_size),
        "eta": theorem.step_size,
        "D": float(theorem.width()) if bounded else 0.0,
        "theta": split.share,
    }
    use, c = 2 * lip / (b * s), contraction
    found = []
    if split.steps > split.closing:
        found.append(Formula(f"{which}.step_mu", use, values))
    if split.closing:
        found.append(Formula(f"{which}.closing_mu", use / sympy.sqrt(1 - theta), values))
    before = theorem.steps - split.steps
    if split.share and (bounded or before):
        apart = diam / (eta * s) if bounded else use * _geometric(c, before)
        weight = sympy.sqrt(theta * _geometric(c**2, split.closing))
        found.append(Formula(f"{which}.shift_mu", apart * c**split.steps / weight, values))
    return found


def _geometric(x: sympy.Expr, count: int) -> sympy.Expr:
    import sympy

    return sympy.Integer(count) if x == 1 else (1 - x**count) / (1 - x)
