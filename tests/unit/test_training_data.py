"""Training data by name, their split, and coefficients in the units of the file."""

from __future__ import annotations

import urllib.error
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms.problems.data import adult, libsvm
from dpcalc.archive import checksum
from dpcalc.errors import InvalidInput
from dpcalc.training.data import FETCHED, INTERCEPT, Split, load, split
from dpcalc.training.schema import Schema


def test_generated_data_are_named_and_sized() -> None:
    for name, labels in (("builtin", 2), ("builtin-regression", 6000)):
        found = load(name)
        assert found.features.shape == (6000, 10)
        assert found.labels.shape == (6000,)
        assert found.names == tuple(f"x{k}" for k in range(10))
        assert found.source == f"{name}, 6000 generated records"
        assert len(np.unique(found.labels)) == labels


def test_data_sets_are_fetched_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adult, "fetch_adult", lambda: "adult")
    monkeypatch.setattr(libsvm, "fetch_libsvm", lambda name: f"libsvm {name}")
    found: list[Any] = [load(name) for name in FETCHED]
    assert found == ["adult", "libsvm a9a", "libsvm a8a", "libsvm ijcnn1"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("the network is down"), "the network is down"),
        (urllib.error.URLError("no such host"), "no such host"),
    ],
)
def test_a_failed_fetch_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def fetch() -> Any:
        warnings.warn("trying again", stacklevel=1)
        raise error

    monkeypatch.setattr(adult, "fetch_adult", fetch)
    with pytest.raises(InvalidInput) as caught:
        load("adult")
    assert str(caught.value) == (
        f"expected a connection to OpenML for data='adult'; got {said}; give the path of the file "
        "instead"
    )


def test_a_fetched_set_is_scaled_by_ranges_and_a_file_of_its_name_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a9a"
    file.write_text("+1 1:4\n-1 1:2\n")
    assert load("a9a").features.tolist() == [[4.0], [2.0]]
    found = load("a9a", schema=Schema.of({"*": [0, 4]}))
    assert found.features.tolist() == [[1.0], [0.0]]
    assert load("a9a", row_bound=2.0).features.tolist() == [[4.0], [2.0]]


RANGES = {"age": [20, 40], "size": [-2, 6], "y": [0, 10]}
TEXT = "age,size,y\n" + "".join(f"{20 + k},{k - 2},{k}\n" for k in range(8))


def _split(tmp_path: Path, schema: Any = None, **given: Any) -> Split:
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    known = Schema.of(schema) if schema else None
    return split(load(str(path), schema=known, row_bound=None if schema else 50.0), **given)


def test_a_split_parts_the_records_once(tmp_path: Path) -> None:
    found = _split(tmp_path, held_out=0.25, seed=3, row_bound=100.0)
    train, test = found.order
    assert (len(train), len(test)) == (6, 2)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(8))
    assert [*train.tolist(), *test.tolist()] == np.random.default_rng(3).permutation(8).tolist()
    for (rows, labels), order in zip((found.train, found.test), found.order, strict=True):
        assert np.allclose(rows * 100, found.table.features[order], rtol=1e-14)
        assert labels.tolist() == found.table.labels[order].tolist()
    assert len(_split(tmp_path).order[1]) == 2
    assert _split(tmp_path).order[0].tolist() == _split(tmp_path, seed=0).order[0].tolist()


def test_a_split_holds_out_by_the_nearest_whole_number(tmp_path: Path) -> None:
    for share, left in ((0.0, 8), (0.05, 8), (0.1, 7), (0.9, 1)):
        assert len(_split(tmp_path, held_out=share).order[0]) == left
    with pytest.raises(InvalidInput, match=r"^expected a record to train on; got 8 records$"):
        _split(tmp_path, held_out=0.95)


def test_the_bound_of_rows(tmp_path: Path) -> None:
    assert _split(tmp_path).row_bound == 1.0
    assert _split(tmp_path, row_bound=30.0).row_bound == 30.0
    ranged = _split(tmp_path, RANGES)
    assert ranged.row_bound == pytest.approx(np.sqrt(2), rel=1e-15)
    assert _split(tmp_path, RANGES, row_bound=1.25).row_bound == 1.25
    assert _split(tmp_path, RANGES, row_bound=ranged.row_bound).row_bound == ranged.row_bound
    with pytest.raises(InvalidInput) as caught:
        _split(tmp_path, RANGES, row_bound=1.5)
    assert str(caught.value) == (
        "row_bound needs at most 1.41421, which follows from the ranges of the columns; got "
        "row_bound=1.5; leave out --row-bound"
    )
    with pytest.raises(InvalidInput, match="norm"):
        _split(tmp_path, on_large="refuse", row_bound=20.0)
    assert _split(tmp_path, on_large="refuse", row_bound=50.0).row_bound == 50.0
    assert max(np.linalg.norm(_split(tmp_path, row_bound=22.0).train[0], axis=1)) <= 1


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("schema", [None, RANGES])
def test_coefficients_answer_as_the_model_does(
    tmp_path: Path, schema: Any, *, intercept: bool
) -> None:
    """A row of the file, multiplied out, gives what the weights give of the scaled row."""
    made = _split(tmp_path, schema, intercept=intercept, row_bound=None if schema else 50.0)
    weights = np.array([0.3, -0.7, 0.2][: 2 + intercept])
    found = made.coefficients(weights)
    assert list(found) == ["age", "size", INTERCEPT]
    raw = np.array([[20 + k, k - 2] for k in made.order[0]], dtype=float)
    said = raw @ [found["age"], found["size"]] + found[INTERCEPT]
    units = made.table.units
    expected = made.train[0] @ weights
    if units is not None:
        expected = units.label_shift + units.label * expected
    assert said == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert made.label_unit == (5.0 if schema is RANGES else 1.0)
    assert made.names == (("age", "size", INTERCEPT) if intercept else ("age", "size"))
    assert made.intercept is intercept


def test_a_digest_is_of_the_records_alone(tmp_path: Path) -> None:
    made = _split(tmp_path)
    rows = {"features": made.table.features, "labels": made.table.labels}
    assert made.digest() == checksum({}, rows)[:32] == _split(tmp_path, seed=5).digest()
    assert made.digest() != _split(tmp_path, RANGES).digest()


def test_records_are_dealt_out_to_nodes(tmp_path: Path) -> None:
    made = _split(tmp_path)
    assert made.records().sizes == (6,)
    assert made.records(4).sizes == (2, 2, 1, 1)
    assert made.records(4).labels.tolist() == made.train[1].tolist()
    assert made.records(4).features.tolist() == made.train[0].tolist()
