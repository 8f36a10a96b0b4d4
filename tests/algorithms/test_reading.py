"""Parquet and packed text are read as the plain CSV file is; memory stays near that of the table."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms.problems import consensus
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import complete
from dpcalc.algorithms.problems.records import bounded_rows, split, unit_rows, with_constant
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.estimators import ADMMClassifier, ADMMRegressor
from dpcalc.training.data import load
from dpcalc.training.data import split as dealt
from dpcalc.training.schema import Schema, read_schema
from dpcalc.training.template import template_of

TEXT = """age,city,married,income,label
30,Bonn,1,1000.5,yes
41,Ulm,0,2000,no
,Bonn,1,3000,no
52,Ulm,0,4000,yes
"""
SCHEMA = Schema.of(
    {"age": [18, 90], "city": ["Bonn", "Ulm"], "married": [0, 1], "income": [0, 9000]}
)


def frame():
    return pd.DataFrame(
        {
            "age": pd.array([30, 41, None, 52], dtype="Int64"),
            "city": pd.Categorical(["Bonn", "Ulm", "Bonn", "Ulm"]),
            "married": [True, False, True, False],
            "income": np.array([1000.5, 2000, 3000, 4000], dtype=np.float32),
            "label": ["yes", "no", "no", "yes"],
        }
    )


def same(one, other):
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.names == other.names
    assert one.classes == other.classes
    assert one.left_out == other.left_out
    assert one.row_bound == other.row_bound


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "own.csv").write_text(TEXT)
    return load(str(tmp_path / "own.csv"), positive="yes", schema=SCHEMA)


@pytest.mark.parametrize(("suffix", "opened"), [("gz", gzip), ("xz", lzma), ("bz2", bz2)])
def test_packed_text_is_the_text(plain, tmp_path, suffix, opened):
    path = tmp_path / f"own.csv.{suffix}"
    with opened.open(path, "wt") as file:
        file.write(TEXT)
    same(load(str(path), positive="yes", schema=SCHEMA), plain)
    rows = tmp_path / f"own.svm.{suffix}"
    with opened.open(rows, "wt") as file:
        file.write("1 1:.5 3:2\n-1 2:1\n")
    np.testing.assert_array_equal(load(str(rows)).features, [[0.5, 0, 2], [0, 1, 0]])


def test_parquet_is_the_table(plain, tmp_path):
    path = tmp_path / "own.parquet"
    frame().to_parquet(path)
    same(load(str(path), positive="yes", schema=SCHEMA), plain)


def test_labels_that_are_numbers(tmp_path):
    path = tmp_path / "own.pq"
    pd.DataFrame({"x": [1, 2, 3], "y": [7, 9, 7]}).to_parquet(path)
    found = load(str(path), schema=Schema.of({"x": [0, 4]}))
    assert found.classes == ("7", "9")
    np.testing.assert_array_equal(found.labels, [-1, 1, -1])
    said = load(str(path), positive="7", schema=Schema.of({"x": [0, 4]}))
    np.testing.assert_array_equal(said.labels, [1, -1, 1])


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        (lambda t: t.assign(city=["Bonn", "Ulm", "Bonn", "Köln"]), "'Köln' in row 4"),
        (
            lambda t: t.assign(income=[1.0, np.inf, 2, 3]),
            "finite number in column 'income'; got 'inf' in row 2",
        ),
        (lambda t: t.assign(income=["a", "b", "c", "d"]), "--categories income=A|B|C"),
        (lambda t: t.assign(income=pd.to_datetime(["2020"] * 4)), "timestamp"),
        (lambda t: t.assign(label="yes"), "two classes"),
        (lambda t: t.iloc[2:3], "at least one complete row"),
        (lambda t: t.iloc[:0], "at least one complete row"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_row(tmp_path, change, needed):
    path = tmp_path / "own.parquet"
    change(frame()).to_parquet(path)
    with pytest.raises(InvalidInput) as caught:
        load(str(path), positive="yes", schema=SCHEMA)
    assert needed in str(caught.value)


def test_what_is_not_finite_in_an_array_is_told_by_row_and_column(tmp_path):
    path = tmp_path / "own.npy"
    np.save(path, np.array([[1.0, 2, 0], [1, np.nan, 1]]))
    with pytest.raises(
        InvalidInput, match=r"number in column '1'; got 'nan' in row 2 of .* such rows"
    ):
        load(str(path), row_bound=9)


def test_text_called_parquet_is_refused(tmp_path):
    path = tmp_path / "own.parquet"
    path.write_text(TEXT)
    with pytest.raises(InvalidInput, match="expected a Parquet file"):
        load(str(path), schema=SCHEMA)


def test_the_schema_of_a_parquet_file(tmp_path, capsys):
    path = tmp_path / "own.parquet"
    frame().to_parquet(path)
    assert template_of(path).kinds == {
        "age": "number",
        "city": "words",
        "married": "true or false",
        "income": "number",
    }
    assert template_of(path, "age").label == "age"
    with pytest.raises(SystemExit, match="0"):
        main(["schema", str(path)])
    shown = capsys.readouterr().out
    assert "city = []" in shown
    assert "Bonn" not in shown
    assert "married = [0, 1]  # 0 is false, 1 is true\n" in shown


def test_true_and_false_need_no_facts_but_their_type(tmp_path):
    """The printed schema is complete, and what it says of a column of truth values loads exactly."""
    path = tmp_path / "own.parquet"
    pd.DataFrame({"paid": [True, False, True], "y": [1, 0, 1]}).to_parquet(path)
    (tmp_path / "own.toml").write_text(template_of(path).to_toml())
    read = load(str(path), schema=read_schema(tmp_path / "own.toml"))
    np.testing.assert_array_equal(read.features, [[1], [-1], [1]])
    words = Schema.of({"paid": ["True", "False"]})
    np.testing.assert_array_equal(load(str(path), schema=words).features, [[1, 0], [0, 1], [1, 0]])


def test_batches_of_rows_are_numbered_through(tmp_path):
    path = tmp_path / "own.parquet"
    x = np.arange(70_000.0)
    x[68_000] = np.inf
    pd.DataFrame({"x": x, "y": np.arange(70_000) % 2}).to_parquet(path)
    with pytest.raises(InvalidInput, match="row 68001"):
        load(str(path), schema=Schema.of({"x": [0, 1e6]}))


@pytest.mark.parametrize("kind", ["double", "single", "sparse"])
def test_rows_in_pieces_are_the_rows_at_once(kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 3)) * (rng.random((20_000, 3)) < 0.5)
    x = x.astype(np.float32).astype(np.float64)
    given = {"double": x, "single": x.astype(np.float32), "sparse": csr_array(x)}[kind]
    order, signs = rng.permutation(20_000), np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
    whole = with_constant(bounded_rows(x, "rescale", bound=1.5) / 1.5)
    found = unit_rows(given, bound=1.5, constant=True, order=order, signs=signs)
    expected = (signs[:, None] * whole)[order]
    if kind == "sparse":  # whose squares are summed up in another order
        assert found.nnz == np.count_nonzero(x) + 20_000
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-15 * 8)
    else:
        np.testing.assert_array_equal(found, expected)


def test_the_first_row_that_is_too_long_or_not_finite_is_told_of_the_whole_table():
    x = np.zeros((9000, 2))
    x[8999] = 3.0
    with pytest.raises(InvalidInput, match="1 of 9000"):
        unit_rows(x, on_large="refuse")
    x[8999] = np.nan
    with pytest.raises(InvalidInput, match="row 8999"):
        unit_rows(x)


def peak(function):
    """Bytes held at most while a function ran, and its result."""
    tracemalloc.start()
    try:
        found = function()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def test_a_libsvm_file_takes_its_entries_and_the_table(tmp_path):
    """Half of the numbers, with where they are, and the array; no sparse matrix in between."""
    x = np.random.default_rng(0).random((4000, 100)).round(3)
    x[:, ::2] = 0
    path = tmp_path / "own.svm"
    lines = (
        " ".join([f"{k % 2}", *(f"{j + 1}:{row[j]}" for j in range(1, 100, 2))])
        for k, row in enumerate(x)
    )
    path.write_text("\n".join(lines))
    load(str(path))  # what is imported once
    used, found = peak(lambda: load(str(path)))
    np.testing.assert_array_equal(found.features, x)
    assert used < 2.1 * x.nbytes


def test_a_parquet_file_and_its_split_take_twice_the_table(tmp_path):
    """Rows as they are scaled by their ranges, and once more shortened and shuffled."""
    path, rows, columns = tmp_path / "own.parquet", 30_000, 50
    x = np.random.default_rng(0).random((rows, columns))
    table = pd.DataFrame(x, columns=[f"x{k}" for k in range(columns)])
    table.assign(y=x[:, 0] > 0.5).to_parquet(path)
    known = Schema.of({"*": [0, 1]})
    load(str(path), schema=known)  # imports
    del x, table
    size = rows * columns * 8

    def read():
        return dealt(load(str(path), schema=known), intercept=True)

    used, found = peak(read)
    assert found.train[0].shape == (24_000, columns + 1)
    assert used <= 2.25 * size


@pytest.mark.parametrize("kind", [ADMMClassifier, ADMMRegressor])
def test_a_fit_takes_the_data_and_a_quarter_as_much_again(kind):
    """One copy of the rows, shortened and shuffled, beside the caller's."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30_000, 80))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    model = kind(row_bound=8.0, rounds=2, random_state=0)
    model.fit(x[:100], y[:100])  # imports
    used, _ = peak(lambda: model.fit(x, y))
    assert used <= 1.25 * x.nbytes


@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
def test_one_exact_minimisation_of_large_data_copies_no_rows(thin, monkeypatch):
    """Half a table would be a copy in single precision; one hot columns would be kept once more."""
    monkeypatch.setattr(consensus, "_LARGE", 10**6)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 60)) * (rng.random(60) < 0.5)
    records = split(csr_array(x) if thin else x, np.ones(20_000), 2, row_bound=20.0)
    problem = ConsensusProblem(
        records=records, network=complete(2), loss=Logistic(), loss_weight=0.1, ridge=0.1
    )
    zero = np.zeros((1, 2, 60))
    used, found = peak(lambda: problem.minimisers(zero, np.ones(2), zero))
    assert np.isfinite(found.points).all()
    assert used <= 0.25 * x.nbytes


def test_a_fit_folds_labels_into_rows_without_changing_a_bit():
    """Against rows and labels dealt out apart, as a run from the command line has them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 3))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    model = ADMMClassifier(row_bound=4.0, rounds=5, random_state=3).fit(x, y)
    ready = model._planned(x, y)
    apart = split(model._rows(x), y, shuffle=0)
    twin = ready.method.algorithm(apart, None, ready.theorem)
    weights = ready.method.weights(twin.run(3, release=twin.full_release))[0]
    np.testing.assert_array_equal(model.coef_[0], weights[:-1] / np.sqrt(2) / 4.0)


@pytest.mark.parametrize("kind", [ADMMClassifier, ADMMRegressor])
def test_weights_are_refused_with_the_reason(kind):
    from sklearn.utils.validation import has_fit_parameter

    x, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    model = kind(rounds=1, random_state=0)
    assert not has_fit_parameter(model, "sample_weight")
    model.fit(x, y, sample_weight=None)
    with pytest.raises(InvalidInput, match="all weigh the same"):
        model.fit(x, y, sample_weight=np.ones(4))
    with pytest.raises(TypeError, match="weights"):
        model.fit(x, y, weights=np.ones(4))
