"""What the results on gradient ADMM assume."""

from __future__ import annotations

import math
from typing import Any

from dpcalc.checks import told_apart
from dpcalc.theorems.authoring import assume
from dpcalc.theorems.averages import LAST_ONLY
from dpcalc.theorems.step_size import expands


def _too_long(theorem: Any) -> str | None:
    limit = 1 / theorem.smoothness if theorem.smoothness > 0 else math.inf
    if theorem.step_size > limit * (1 + 1e-12):
        printed, given = told_apart(limit, theorem.step_size)
        return f"the paper takes step_size = 1/smoothness = {printed}; got step_size={given}"
    return None


def _not_convex(theorem: Any) -> str | None:
    if theorem.weakness() > 0:
        return f"the paper takes convex functions; got weak_convexity={theorem.weakness():g}"
    return None


def _not_reduced(theorem: Any) -> str | None:
    if theorem.min_singular_value < 1:
        return (
            "the paper's constant is for A = [I D], whose singular values are at least 1; "
            f"got min_singular_value={theorem.min_singular_value:g}; try Gaussian elimination first"
        )
    return None


NEIGHBOURS = assume(
    "gradient-difference",
    "Neighbouring users' gradients differ by at most sensitivity at every point "
    "(two quadratics do not, without clipping or a bounded domain).",
)
HONEST_USERS = assume(
    "honest-users",
    "Later users draw their noise honestly and do not collude with the adversary.",
)
CONVEX = assume(
    "convex",
    "Every user's function is smoothness-smooth and convex, or, where weak_convexity is given, weakly "
    "convex with that constant; g is convex.",
)
CONVEX_CLAIMED = assume(
    "convex-functions", "Every user's function is convex.", "claimed", _not_convex
)
FULL_ROW_RANK = assume("full-row-rank", "A has full row rank; its singular values are as given.")
NO_EXPANSION = assume("step-size", "The step size is at most 2/smoothness.", "certified", expands)
PAPER_STEP = assume(
    "paper-step-size", "The step size is at most 1/smoothness.", "claimed", _too_long
)
REDUCED = assume("reduced-constraints", "A = [I D], so σ_min(A) >= 1.", "claimed", _not_reduced)


def _several(theorem: Any) -> str | None:
    if theorem.passes > 1:
        return f"the paper lets every user take part once; got passes={theorem.passes}"
    return None


ONE_PASS = assume("one-pass", "Every user takes part once.", "claimed", _several)

USERS = (NEIGHBOURS, CONVEX, FULL_ROW_RANK, HONEST_USERS)
"""What all users promise."""
CONVEX_PAPER = (NO_EXPANSION, PAPER_STEP, REDUCED, ONE_PASS, CONVEX_CLAIMED, LAST_ONLY)
"""What the convex results check."""
