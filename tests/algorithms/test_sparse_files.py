"""Rows of a LIBSVM file that are mostly zeros stay sparse, and every method learns the same from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcalc.algorithms.problems.sparse import is_sparse
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
