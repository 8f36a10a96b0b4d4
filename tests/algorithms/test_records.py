"""Records: how they are dealt out, changed, shortened and refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import Records, bounded_rows, split, unit_rows
from dpcalc.errors import InvalidInput

X = np.array([[0.6, 0.8], [0.0, 0.5], [-1.0, 0.0], [0.1, 0.1], [0.3, 0.0]])

Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])


def test_records_are_dealt_out_in_blocks():
    records = split(X, Y, 2)
    assert records.sizes == (3, 2)
    assert records.slices == (slice(0, 3), slice(3, 5))
    assert split(X, Y, sizes=[1, 4]).sizes == (1, 4)
    assert split(X, Y, sizes=[2, 2]).nodes == 2
    shuffled = split(X, Y, 2, shuffle=1)
    assert sorted(map(tuple, shuffled.features)) == sorted(map(tuple, X))
    np.testing.assert_array_equal(shuffled.features, split(X, Y, 2, shuffle=1).features)
    assert (shuffled.features != X).any()


def test_a_neighbour_differs_in_one_record():
    records = split(X, Y, 2)
    other = records.replaced(3, [0.0, 1.0], -1.0)
    assert (other.features != records.features).any(axis=1).tolist() == [False] * 3 + [True, False]
    assert other.sizes == records.sizes
    with pytest.raises(InvalidInput, match="row"):
        records.replaced(5, [0.0, 1.0], 1.0)
    with pytest.raises(InvalidInput, match="row_bound"):
        records.replaced(0, [0.0, 1.1], 1.0)


def test_records_cannot_be_written_to():
    records = split(X, Y)
    with pytest.raises(ValueError, match="read-only"):
        records.features[0, 0] = 0
    source = X.copy()
    kept = split(source, Y)
    source[:] = 9
    assert kept.features.max() < 1


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: split(X * 2, Y), "row_bound"),
        (lambda: split(X, Y[:3]), "label"),
        (lambda: split(X, Y, 6), "at least one record per node"),
        (lambda: split(X, Y, sizes=[3, 3]), "sizes"),
        (lambda: split(X, Y, sizes=[5, 0]), "sizes"),
        (lambda: split(np.where(X > 0.7, np.nan, X), Y), "row 0"),
        (lambda: split(X, [1, -1, np.inf, 1, 1]), "labels"),
        (lambda: split([["a", "b"]], [1]), "features"),
        (lambda: split(X[0], Y), "features"),
        (lambda: split(np.empty((0, 2)), []), "features"),
        (lambda: Records(features=X, labels=Y, sizes=(5,), row_bound=0.0), "row_bound"),
        (lambda: classification(2, 3, nodes=5), "per node"),
    ],
)
def test_bad_records_are_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_rows_are_rescaled_or_refused_as_the_user_chooses():
    long = X * 3
    short = bounded_rows(long, "rescale")
    norms = np.linalg.norm(short, axis=1)
    assert norms.max() <= 1 + 1e-12
    np.testing.assert_allclose(short[3], long[3])  # was short enough
    np.testing.assert_allclose(short[0] / norms[0], X[0])
    with pytest.raises(InvalidInput, match="4 of 5"):
        bounded_rows(long, "refuse", bound=0.5)
    np.testing.assert_array_equal(bounded_rows(X, "refuse"), X)
    with pytest.raises(InvalidInput, match="on_large"):
        bounded_rows(X, "clip")


def test_labels_of_a_classification_loss_are_checked():
    with pytest.raises(InvalidInput, match="row 1"):
        ConsensusProblem(
            records=split(X, [1, 0, 1, 1, 1], 5), network=ring(5), loss=Logistic(), ridge=1.0
        )
    with pytest.raises(InvalidInput, match="nodes=5"):
        ConsensusProblem(records=split(X, Y, 4), network=ring(5), loss=Logistic(), ridge=1.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("on_large", ["rescale", "refuse"])
def test_rows_whose_squares_are_no_numbers_are_refused(on_large: str, *, sparse: bool) -> None:
    """They would be divided by infinity, and become zeros."""
    rows = np.array([[3e160, 0.0], [1.0, 1.0]])
    given = csr_array(rows) if sparse else rows
    with pytest.raises(InvalidInput, match="norms below 1e154"):
        bounded_rows(given, on_large)
    with pytest.raises(InvalidInput, match="norms below 1e154"):
        unit_rows(given, on_large=on_large)


@pytest.mark.parametrize("bound", [1e-170, 1e-320, 1e151, 1e300])
def test_a_bound_whose_square_is_no_number_is_refused(bound: float) -> None:
    with pytest.raises(InvalidInput, match="needs a number from 1e-150 to 1e"):
        unit_rows(np.array([[bound, 0.0]]), bound=bound)
    assert np.linalg.norm(unit_rows(np.array([[4e-150, 3e-150]]), bound=1e-150)) <= 1
