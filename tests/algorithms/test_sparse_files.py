"""Rows of a LIBSVM file that are mostly zeros stay sparse, and every method learns the same from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcalc.algorithms.problems.sparse import is_sparse
from dpcalc.errors import InvalidInput
from dpcalc.training.catalogue import method, methods
from dpcalc.training.data import load, split
from dpcalc.training.schema import Schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same 150 records of 20 numbers, a tenth of them not 0, as a.svm and a.npy."""
    rng = np.random.default_rng(0)
    rows = (rng.random((150, 20)) < 0.1) * rng.standard_normal((150, 20)) / 2
    rows[0, -1] = 0.25
    labels = np.where(rows @ rng.standard_normal(20) > 0, 1.0, -1.0)
    place = tmp_path_factory.mktemp("sparse")
    lines = [
        f"{y:g} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row.tolist()) if v)
        for y, row in zip(labels, rows, strict=True)
    ]
    (place / "a.svm").write_text("\n".join(lines) + "\n")
    np.save(place / "a.npy", np.c_[rows, labels])
    return place


@pytest.mark.parametrize("key", methods())
@pytest.mark.few(6)
def test_a_method_learns_from_sparse_rows_what_it_learns_from_an_array(run, folder, key):
    budget = ("--epsilon", 3, "--delta", 1e-5) if method(key).theorem_key else ()
    rounds = ("--rounds", 8) if "rounds" in method(key).from_parameters({}).inputs() else ()
    found = []
    for name, options in (("a.svm", ()), ("a.npy", ("--row-bound", 1))):
        line = ("--data", folder / name, *options, *budget, *rounds, "--seed", 1, "--json")
        status, out, err = run("run", key, *line)
        assert status == 0, err
        found.append(json.loads(out))
    sparse, dense = (answer["utility"] for answer in found)
    assert sparse.keys() == dense.keys()
    for name, values in sparse.items():
        np.testing.assert_allclose(values, dense[name], rtol=1e-9, atol=1e-12)
    faults = [answer["diagnosis"] and answer["diagnosis"]["fault"] for answer in found]
    assert faults[0] == faults[1]


def test_rows_stay_sparse_where_that_was_asked_for_and_pays(folder, tmp_path):
    path = str(folder / "a.svm")
    table = load(path, sparse=True)
    assert is_sparse(table.features)
    assert is_sparse(split(table, intercept=True).train[0])
    np.testing.assert_array_equal(table.features.toarray(), load(path).features)
    assert not is_sparse(load(path, sparse=True, schema=Schema.of({"*": [0, 1]})).features)
    (tmp_path / "full.svm").write_text("+1 1:1 2:1\n-1 1:2\n")
    assert not is_sparse(load(str(tmp_path / "full.svm"), sparse=True).features)


def test_the_digest_of_sparse_rows_tells_them_apart(folder):
    table = load(str(folder / "a.svm"), sparse=True)
    before = split(table).digest()
    assert split(load(str(folder / "a.svm"), sparse=True)).digest() == before
    table.features.data[3] += 1
    assert split(table).digest() != before


def test_sparse_columns_of_other_scales_are_at_fault_as_dense_ones_are(folder):
    from dpcalc.algorithms.problems.losses import Logistic
    from dpcalc.training.diagnosis import _best_linear, _own_scale

    errors = [
        _best_linear(Logistic(), _own_scale(data), data)
        for data in (split(load(str(folder / "a.svm"), sparse=kept)) for kept in (True, False))
    ]
    assert errors[0] == pytest.approx(errors[1])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 qid:3 1:2", "got 'qid:3' in line 2 of .*: take qid out"),
        ("1,3 1:2", "got '1,3' in line 2 of .* several labels of one record, write one"),
        ("ill 1:2", "got 'ill' in line 2 of .*; write a number for each class"),
        ("1:2 2:1", "got '1:2' in line 2 of .*; put the label first, one number"),
        ("1 2:1 1:3", "increasing indices from 1; got '1:3' .*; sort the entries of every line"),
        ("1 2:1 2:3", "increasing indices from 1; got '2:3' .*; it stands there twice in a row"),
        ("1 0:1 2:3", "increasing indices from 1; got '0:1' .*; if indices count from 0, add 1"),
        ("1 1:nan", "expected finite values; got '1:nan' in line 2 of .*; leave the record out"),
        ("1 1:0,5", "got '1:0,5' in line 2 of .*; write decimals with a point"),
        ("1 5 7", "got '5' in line 2 of .*; if this is CSV, give the file a name that ends"),
    ],
)
def test_a_line_of_another_kind_is_refused_with_what_it_looks_like(tmp_path, line, said):
    path = tmp_path / "own.svm"
    path.write_text(f"-1 1:1\n{line}\n")
    with pytest.raises(InvalidInput, match=said):
        load(str(path))


def test_labels_alone_are_no_table_and_minus_zero_is_zero(tmp_path):
    path = tmp_path / "own.svm"
    path.write_text("1\n-1\n")
    with pytest.raises(
        InvalidInput, match=r"learn from beside the label in .*; got labels alone; "
    ):
        load(str(path))
    path.write_text("-0 1:1\n0 1:3\n1 1:2\n")
    assert load(str(path)).classes == ("0", "1")
