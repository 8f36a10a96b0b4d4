"""Small generated data sets, the same on every machine, so that everything runs offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.problems.records import Records, bounded_rows, split

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.averaging import AveragingProblem
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.consensus import ConsensusProblem


def classification(records: int, features: int, *, nodes: int = 1, seed: int = 0) -> Records:
    """Two classes: labels from a logistic model on normal features, rows shortened to norm 1.

    Args:
        records: how many, at least one per node.
        features: d.
        nodes: groups to deal them out to.
        seed: of the generator.
    """
    checks.count("records", records)
    checks.count("features", features)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((records, features)) / np.sqrt(features)
    truth = 4 * rng.standard_normal(features)
    y = np.where(rng.random(records) < 1 / (1 + np.exp(-x @ truth)), 1.0, -1.0)
    return split(bounded_rows(x, "rescale"), y, nodes)


def regression(records: int, features: int, *, nodes: int = 1, seed: int = 0) -> Records:
    """Linear responses with noise on normal features, rows shortened to norm 1."""
    checks.count("records", records)
    checks.count("features", features)
    rng = np.random.default_rng(seed)
    x = bounded_rows(rng.standard_normal((records, features)) / np.sqrt(features), "rescale")
    y = x @ rng.standard_normal(features) + 0.1 * rng.standard_normal(records)
    return split(x, y, nodes)


def consensus_example() -> ConsensusProblem:
    """Logistic regression on a ring of four nodes, ten records of two features each."""
    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.losses import Logistic
    from dpcalc.algorithms.problems.networks import ring

    return ConsensusProblem(
        records=classification(40, 2, nodes=4),
        network=ring(4),
        loss=Logistic(),
        loss_weight=5.0,
        ridge=0.4,
    )


def graph_guided_example() -> CompositeProblem:
    """Logistic regression on 30 records of three features with a graph-guided fused lasso."""
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.constraints import graph_guided
    from dpcalc.algorithms.problems.losses import Logistic
    from dpcalc.algorithms.problems.regularisers import lasso

    return CompositeProblem(
        records=classification(30, 3),
        loss=Logistic(),
        regulariser=lasso(0.01),
        constraint=graph_guided(3, [(0, 1), (1, 2)]),
    )


def users_example() -> CompositeProblem:
    """Five users in three dimensions, f_i = -y_i·x_iᵀx + ¼‖x‖²; ridge regulariser; A of two rows."""
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.constraints import Constraint
    from dpcalc.algorithms.problems.losses import Linear
    from dpcalc.algorithms.problems.regularisers import ridge

    A = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -0.5]])
    return CompositeProblem(
        records=classification(5, 3),
        loss=Linear(),
        regulariser=ridge(0.5),
        constraint=Constraint(A=A, B=-np.eye(2), c=np.array([0.1, -0.2])),
        ridge=0.5,
    )


def averaging_example() -> AveragingProblem:
    """Hinge loss plus ridge on a ring of three nodes, four records of two features each."""
    from dpcalc.algorithms.problems.averaging import AveragingProblem
    from dpcalc.algorithms.problems.losses import Hinge
    from dpcalc.algorithms.problems.networks import ring
    from dpcalc.algorithms.problems.regularisers import ridge

    return AveragingProblem(
        records=classification(12, 2, nodes=3),
        network=ring(3),
        loss=Hinge(),
        regulariser=ridge(0.1),
    )
