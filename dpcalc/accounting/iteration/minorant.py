"""The cheapest allocation of shifts is the greatest convex minorant of a polygon.

Statement
    Two runs drift apart by jumps s_j and are pulled together by shifts a_j, which cost
    ``Σ a_j²/ω_j²``; every difference is multiplied by c_j in step j and must stay zero or above, and
    be zero at the end. Carry every quantity to the end of the run: ``u_j = s_j·c_{j+1}···c_T``,
    ``b_j = a_j·c_{j+1}···c_T`` and ``w_j = (ω_j·c_{j+1}···c_T)²``. Then the partial sums of b must
    stay below those of u and end with them, and ``Σ b_j²/w_j`` is least when b runs along the
    greatest convex minorant of the points (Σw, Σu).
Source
    docs/theorems/shifted-interpolation.md, with the proof.
Rounding
    Works on any numbers; exact for the sixty-digit ones it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dpcalc.numerics.precise import Real, mpf

Point = tuple[Real, Real]


def convex_minorant(points: Sequence[Point]) -> list[int]:
    """Indices of the vertices of the greatest convex function below the points.

    Args:
        points: (Σw, Σu), from the origin on, with Σw non-decreasing.

    Returns:
        The first and the last index and those between at which the function bends.
    """
    kept: list[int] = []
    for k, (w, u) in enumerate(points):
        while len(kept) >= 2:
            (w0, u0), (w1, u1) = points[kept[-2]], points[kept[-1]]
            if (w1 - w0) * (u - u1) > (u1 - u0) * (w - w1):
                break
            kept.pop()
        kept.append(k)
    return kept


def total_cost(points: Sequence[Point], vertices: Sequence[int]) -> Real:
    """Σ(Δu)²/Δw along some vertices: the μ² that an allocation along them costs.

    Infinite if a jump meets no noise at all.
    """
    total = mpf(0)
    for k, j in pairwise(vertices):
        width, height = points[j][0] - points[k][0], points[j][1] - points[k][1]
        if height != 0:
            total += height**2 / width if width > 0 else mpf("inf")
    return total
