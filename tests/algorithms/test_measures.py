"""What is measured of a concrete problem, against brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms.problems.builtin import (
    averaging_example,
    consensus_example,
    graph_guided_example,
    regression,
    users_example,
)
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.data.elastic_net import elastic_net
from dpcalc.algorithms.problems.losses import Hinge, Squared
from dpcalc.algorithms.problems.measures import (
    measure_averaging,
    measure_composite,
    measure_consensus,
)
from dpcalc.algorithms.problems.records import split


def test_smoothness_and_convexity_of_nodes_bound_their_hessians():
    p = consensus_example()
    found = measure_consensus(p)
    rng = np.random.default_rng(0)
    points = np.concatenate([np.zeros((1, 4, 2)), rng.standard_normal((50, 4, 2)) * 5])
    for i, total in enumerate(p.sums):
        eigenvalues = np.linalg.eigvalsh(total.hessian(points[:, i])) + p.node_ridge
        assert eigenvalues.max() == pytest.approx(found.smoothness[i])
        assert eigenvalues.min() >= found.strong_convexity[i]
    assert found.strong_convexity == pytest.approx(np.full(4, 0.1))
    assert found.longest_row <= 1 + 1e-12
    assert found.gradient_bound.max() == pytest.approx(found.longest_row)
    assert found.loss_weight_small_enough
    assert found.bipartite
    assert found.laplacian == pytest.approx([0, 2, 2, 4], abs=1e-12)
    assert found.signless_laplacian == pytest.approx([0, 2, 2, 4], abs=1e-12)
    assert not measure_consensus(replace(p, loss_weight=11.0)).loss_weight_small_enough


def test_a_kink_makes_smoothness_infinite():
    assert np.isinf(measure_consensus(replace(consensus_example(), loss=Hinge())).smoothness).all()


def test_the_constraint_is_measured():
    found = measure_composite(graph_guided_example())
    A = graph_guided_example().constraint.A
    values = np.linalg.svd(A, compute_uv=False)
    assert (found.rows, found.columns, found.rank) == (5, 3, 3)
    assert not found.full_row_rank
    assert found.largest_singular_value == pytest.approx(values[0])
    assert found.smallest_singular_value == pytest.approx(values[-1])
    assert found.smallest_row_singular_value == 0
    wide = measure_composite(users_example())
    assert wide.full_row_rank
    assert wide.smallest_singular_value == 0
    A = users_example().constraint.A
    assert wide.smallest_row_singular_value**2 == pytest.approx(np.linalg.eigvalsh(A @ A.T)[0])


def test_users_of_the_published_experiment_are_not_strongly_convex_and_have_no_gap():
    """Rank-one Hessians; gradient differences of two quadratics are unbounded."""
    found = measure_composite(elastic_net(radius=0.5, seed=1, users=20).problem)
    assert found.user_smoothness == pytest.approx(np.full(20, 2 * 0.25))
    assert (found.user_strong_convexity == 0).all()
    assert found.user_gradient_gap == math.inf
    assert found.user_gradient_bound == math.inf
    assert found.regulariser_strong_convexity == pytest.approx(0.2)


def test_gaps_of_constant_gradients_are_exact():
    p = users_example()
    found = measure_composite(p)
    gradients = p.records.labels[:, None] * p.records.features
    gap = max(np.linalg.norm(a - b) for a, b in itertools.combinations(gradients, 2))
    assert found.user_gradient_gap == pytest.approx(gap)
    assert (found.user_strong_convexity == 0.5).all()
    assert (found.user_smoothness == 0.5).all()


def test_gaps_of_other_losses_are_upper_bounds():
    p = graph_guided_example()
    found = measure_composite(p)
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((30, 3)) * 3:
        at = np.tile(x, (p.count, 1))
        gradients = p.user_gradient(np.arange(p.count), at)
        gaps = np.linalg.norm(gradients[:, None] - gradients, axis=-1)
        assert gaps.max() <= found.user_gradient_gap


def test_equal_rows_make_the_gap_of_squared_losses_finite():
    p = replace(
        graph_guided_example(),
        records=split(np.tile([0.6, 0.0, 0.8], (4, 1)), [1.0, 3.0, 2.0, 1.5]),
        loss=Squared(scale=2.0),
        constraint=copies(3),
    )
    assert measure_composite(p).user_gradient_gap == pytest.approx(2 * 2.0)


def test_one_feature_makes_a_user_strongly_convex():
    p = replace(
        graph_guided_example(),
        records=regression(6, 1),
        loss=Squared(),
        constraint=copies(1),
    )
    found = measure_composite(p)
    assert found.user_strong_convexity == pytest.approx(p.records.features[:, 0] ** 2)
    assert found.strong_convexity == pytest.approx(found.smoothness)


def test_the_mixing_matrix_is_measured():
    found = measure_averaging(averaging_example())
    assert found.second_singular_value == pytest.approx(0, abs=1e-12)  # a triangle
    assert found.spectral_gap == pytest.approx(1)
    assert found.subgradient_bound <= 1 + 1e-12
    assert found.strong_convexity == pytest.approx(0.1)
    assert found.sizes == (4, 4, 4)
