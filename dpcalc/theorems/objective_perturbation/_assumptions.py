"""What the objective-perturbation results assume."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcalc.theorems.authoring import assume, finding

if TYPE_CHECKING:
    from dpcalc.theorems.objective_perturbation._network import NetworkTheorem


def _decreasing(theorem: NetworkTheorem) -> str | None:
    rows = [row for row, _ in theorem.penalty.rounds("penalty", theorem.rounds, theorem.cases)]
    for t, (before, after) in enumerate(itertools.pairwise(rows), start=2):
        if any(y < x for x, y in zip(before, after, strict=True)):
            return (
                f"penalties must not decrease; round {t} has {min(after):.6g} after "
                f"{max(before):.6g}; try a factor of 1 or above"
            )
    return None


def _other_neighbours(theorem: NetworkTheorem) -> str | None:
    if theorem.adjacency != "replace-one":
        return (
            "the paper's neighbours differ in one record replaced; got "
            f"adjacency={theorem.adjacency}; try replace-one"
        )
    return None


def _beyond(theorem: NetworkTheorem) -> bool:
    records = theorem.n_records.nodes("n_records", theorem.cases)
    return theorem.loss_weight > min(records) or theorem.regularization == 0


def too_curved(theorem: NetworkTheorem, steps: Sequence[float], name: str) -> str | None:
    """Why 2c₁ < (B/C)(ρ/N + 2θV) fails at some node.

    Args:
        theorem: the instance.
        steps: θ per node, or what the paper has in its place.
        name: the paper's name of it.
    """
    records = theorem.n_records.nodes("n_records", theorem.cases)
    degrees = theorem.degree.nodes("degree", theorem.cases)
    for i, (b, v, theta) in enumerate(zip(records, degrees, steps, strict=True), start=1):
        stiffness = theorem.regularization / theorem.n_nodes + 2 * theta * v
        if not 2 * theorem.largest_curvature < b / theorem.loss_weight * stiffness:
            return (
                f"the paper needs 2c₁ < (B/C)(ρ/N + 2{name}V); node {i} has "
                f"{2 * theorem.largest_curvature:g} against {b / theorem.loss_weight * stiffness:g}; "
                "try a larger penalty or a smaller loss weight"
            )
    return None


COMPOSED = finding(
    "Rounds compose optimally at δ > 0, and by the law of the noise if its dimension is given: "
    "it concentrates, and the sum is far above that.",
    "loose",
)

BEYOND = finding(
    "The paper takes C <= B_i at every node and ρ > 0; this instance does not, so its formula is read "
    "beyond its conditions. The certified bound needs neither.",
    "remark",
    _beyond,
)

PROMISES = (
    assume("row-norms", "Every feature vector has Euclidean norm at most 1 and every label is ±1."),
    assume(
        "data-independent-scaling",
        "Features are scaled by constants that do not depend on the data "
        "(column maxima over all records do).",
    ),
    assume(
        "public-parameters",
        "Penalties, noise rates, record counts, regularisation and starting points do not depend "
        "on the data.",
    ),
    assume(
        "exact-minimiser",
        "Every primal update is the exact minimiser; an inexact one voids the bijection.",
    ),
    assume(
        "loss",
        "The loss is convex and twice differentiable with |L'| <= 1 and L'' at most the curvature; "
        "the regulariser is 1-strongly convex.",
    ),
)
"""What only the caller can vouch for."""

INCREASING = assume(
    "penalties-increase",
    "Penalties do not decrease from round to round.",
    "claimed",
    _decreasing,
)

REPLACED = assume(
    "replaced-record",
    "Neighbours differ in one record that is replaced.",
    "claimed",
    _other_neighbours,
)
