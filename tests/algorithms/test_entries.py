"""Numbers that are read entry after entry take at most twice the memory of the table they make."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms.problems.data.dataset import Dataset
from dpcalc.algorithms.problems.data.entries import Entries
from dpcalc.training.data import Split, load, split
from dpcalc.training.diagnosis import _own_scale

WIDTH = 100


def _peak(work: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes held at most while it worked, and what came out."""
    tracemalloc.start()
    try:
        found = work()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def _drawn(count: int, share: float) -> Any:
    rng = np.random.default_rng(0)
    return (rng.random((count, WIDTH)) < share) * rng.random((count, WIDTH)) / 10


def _read(rows: list[list[float]]) -> Entries:
    entries = Entries()
    for row in rows:
        for column, value in enumerate(row):
            entries.add(column, value)
        entries.end_row()
    return entries


@pytest.mark.parametrize(
    ("rows", "share", "most"),
    [
        *((2000, share, 1.85) for share in (0.1, 0.5, 0.66, 0.7, 1)),
        *((4000, share, 1.25) for share in (0.6, 0.8, 1)),
    ],
)
def test_an_array_takes_little_more_than_its_memory(rows: int, share: float, most: float) -> None:
    """Entries are kept with where they are; full rows with their zeros, where the array is made."""
    x = _drawn(rows, share)
    numbers = x.tolist()
    used, found = _peak(lambda: _read(numbers).array(WIDTH))
    np.testing.assert_array_equal(found, x)
    assert used < most * x.nbytes


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("share", [0.2, 1])
def test_rows_are_split_in_their_own_memory(share: float, *, intercept: bool) -> None:
    """To the same bits; a sparse matrix beside its columns, and its columns beside its numbers."""
    x = _drawn(40_000, share)

    drawn = csr_array(x) if share < 0.5 else x

    def dealt(*, in_place: bool) -> Split:
        table = Dataset(
            features=drawn.copy(),
            labels=x[:, 0],
            names=("a",) * WIDTH,
            source="",
            clipped=x[:, 1] > 0,
        )
        return split(table, row_bound=0.5, intercept=intercept, seed=3, in_place=in_place)

    wanted = dealt(in_place=False)
    size = sum(array.nbytes for array in _arrays(wanted.train[0]) + _arrays(wanted.test[0]))
    used, found = _peak(lambda: dealt(in_place=True))
    assert used < (1.9 if share < 0.5 else 1.3) * size
    for part in ("train", "test"):
        (rows, labels), (as_before, said) = getattr(found, part), getattr(wanted, part)
        np.testing.assert_array_equal(labels, said)
        for one, other in zip(_arrays(rows), _arrays(as_before), strict=True):
            assert one.dtype == other.dtype
            assert not one.flags.writeable
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.clipped, wanted.clipped)
    for rows, as_before in zip(_own_scale(found), _own_scale(wanted), strict=True):
        np.testing.assert_allclose(_dense(rows), _dense(as_before), rtol=1e-9, atol=1e-12)


def test_a_constant_column_has_no_spread_where_rows_were_shortened() -> None:
    """Its numbers come back with rounding errors of their own, which are no spread."""
    x = _drawn(500, 1)
    x[:, 7] = 0.1
    table = Dataset(features=x, labels=x[:, 0], names=("a",) * WIDTH, source="")
    rows, _ = _own_scale(split(table, row_bound=0.3, in_place=True))
    assert np.abs(rows[:, 7]).max() < 1e-12


def _arrays(rows: Any) -> tuple[Any, ...]:
    return (rows,) if isinstance(rows, np.ndarray) else (rows.data, rows.indices, rows.indptr)


def _dense(rows: Any) -> Any:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def test_a_matrix_is_read_where_it_stays_and_split_into_as_much_again() -> None:
    """Of twelve bytes for a number and its column, where columns of 64 bits made it sixteen."""
    x = _drawn(20_000, 0.1)
    rows = x.tolist()
    size = 12 * np.count_nonzero(x) + 4 * len(x)
    used, found = _peak(lambda: _read(rows).matrix(WIDTH))
    assert (found.data.nbytes + found.indices.nbytes + found.indptr.nbytes) <= size + 4
    assert used < 1.25 * size
    table = Dataset(features=found, labels=x[:, 0], names=("a",) * WIDTH, source="")
    split(table)  # what is imported once
    used, parts = _peak(lambda: split(table))
    np.testing.assert_array_equal(parts.train[0].toarray(), x[parts.order[0]])
    assert used < 1.4 * size  # beside the table: a piece of 1,024 rows, and labels, on top


@pytest.mark.parametrize("sparse", [False, True])
def test_full_rows_between_sparse_ones_keep_their_place(tmp_path: Path, *, sparse: bool) -> None:
    """Groups of them are wide as their own last column; zeros in the file are none of the matrix."""
    rng = np.random.default_rng(0)
    x = np.zeros((900, 400))
    x[300:500, :60] = rng.random((200, 60)) + 1
    x[600:800, 10:80] = rng.random((200, 70)) + 1
    x[:, 399] = rng.random(900) < 0.3
    path = tmp_path / "own.svm"
    with path.open("w") as file:
        for k, row in enumerate(x):
            file.write(f"{k % 2} ")
            file.writelines(f"{j + 1}:{row[j]} " for j in sorted({*np.flatnonzero(row), 399}))
            file.write("\n")
    found = load(str(path), sparse=sparse).features
    assert not sparse or found.nnz == np.count_nonzero(x)
    np.testing.assert_array_equal(found.toarray() if sparse else found, x)
