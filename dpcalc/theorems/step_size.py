"""The step size up to which a gradient step brings no two points further apart."""

from __future__ import annotations

import math
from typing import Any

from dpcalc.checks import told_apart


def expands(theorem: Any) -> str | None:
    """Why a gradient step of convex functions may expand; None if it does not.

    Args:
        theorem: with ``step_size`` and ``smoothness``.
    """
    limit = 2 / theorem.smoothness if theorem.smoothness > 0 else math.inf
    if theorem.step_size > limit:
        largest, given = told_apart(limit, theorem.step_size)
        return (
            f"a gradient step does not expand only for step_size <= 2/smoothness = {largest}; "
            f"got step_size={given}"
        )
    return None
