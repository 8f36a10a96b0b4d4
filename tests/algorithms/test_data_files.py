"""The loaders with every kind of file and every kind of mistake in it."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest

from dpcalc.algorithms.problems.builtin import classification, regression
from dpcalc.algorithms.problems.data import adult as adult_module
from dpcalc.algorithms.problems.data.adult import (
    COLUMNS,
    MAXIMA,
    categories,
    fetch_adult,
    load_adult,
)
from dpcalc.algorithms.problems.data.libsvm import fetch_libsvm, load_libsvm
from dpcalc.algorithms.problems.data.tables import load_table
from dpcalc.errors import InvalidInput


def test_generated_data_are_the_same_everywhere():
    one, other = classification(30, 4, nodes=3), classification(30, 4, nodes=3)
    np.testing.assert_array_equal(one.features, other.features)
    assert set(one.labels) == {-1.0, 1.0}
    assert np.linalg.norm(regression(30, 4).features, axis=1).max() <= 1 + 1e-12
    assert one.features[0, 0] == pytest.approx(0.06286511, abs=1e-8)


LIBSVM = "+1 1:0.5 3:-2e-1  # remark\n\n-1 2:1\n-1\n"


@pytest.mark.parametrize(
    ("name", "opener"), [("f", open), ("f.xz", lzma.open), ("f.gz", gzip.open)]
)
def test_libsvm_files_plain_and_packed(tmp_path, name, opener):
    with opener(tmp_path / name, "wt") as file:
        file.write(LIBSVM)
    data = load_libsvm(tmp_path / name)
    np.testing.assert_array_equal(data.features, [[0.5, 0, -0.2], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.labels, [1, -1, -1])
    assert data.names == ("1", "2", "3")
    assert load_libsvm(tmp_path / name, features=5).features.shape == (3, 5)


def test_libsvm_labels_of_any_two_values_or_numbers(tmp_path):
    path = tmp_path / "f"
    path.write_text("2 1:1\n1 1:1\n2 1:1\n")
    np.testing.assert_array_equal(load_libsvm(path).labels, [1, -1, 1])
    np.testing.assert_array_equal(load_libsvm(path, classes=False).labels, [2, 1, 2])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1 1:2\nx 1:2\n", "numeric label.*line 2"),
        ("nan 1:2\n", "finite label"),
        ("1 1:2 0:3\n", "increasing"),
        ("1 1:2 1:3\n", "increasing"),
        ("1 1:inf\n", "finite"),
        ("1 1=2\n", "index:value"),
        ("1 1:2\n1 1:3\n", "two classes"),
        ("", "at least one record"),
    ],
)
def test_bad_libsvm_rows_are_named(tmp_path, text, word):
    path = tmp_path / "f"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=word):
        load_libsvm(path)


def test_missing_broken_and_too_wide_files(tmp_path):
    with pytest.raises(InvalidInput, match="readable"):
        load_libsvm(tmp_path / "none")
    (tmp_path / "f.xz").write_bytes(b"not xz")
    with pytest.raises(InvalidInput, match="readable"):
        load_libsvm(tmp_path / "f.xz")
    (tmp_path / "g").write_text("1 7:1\n-1 1:1\n")
    with pytest.raises(InvalidInput, match="features=3"):
        load_libsvm(tmp_path / "g", features=3)


ROW = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"

RICH = ROW.replace("<=50K", ">50K.").replace("39", "90").replace("Male", "Female")

PARTIAL = ROW.replace("State-gov", "?")


def test_adult_is_prepared_as_documented(tmp_path):
    (tmp_path / "adult.data").write_text(f"{ROW}\n{PARTIAL}\n\n")
    with lzma.open(tmp_path / "adult.test.xz", "wt") as file:
        file.write(f"|1x3 Cross validator\n{RICH}\n")
    data = load_adult(tmp_path)
    assert data.features.shape == (2, 105)
    assert "1 incomplete" in data.source
    np.testing.assert_array_equal(data.labels, [-1, 1])
    np.testing.assert_allclose(np.linalg.norm(data.features, axis=1), 1)
    raw = {
        "age": 39 / 90,
        "fnlwgt": 77516 / 1490400,
        "education-num": 13 / 16,
        "capital-gain": 2174 / 99999,
        "hours-per-week": 40 / 99,
    } | {
        f"{column}={value}": 1.0
        for column, value in zip(COLUMNS, ROW.split(", "), strict=False)
        if column in categories()
    }
    length = np.sqrt(sum(v * v for v in raw.values()))
    for name, value in zip(data.names, data.features[0], strict=True):
        assert value == pytest.approx(raw.get(name, 0.0) / length), name


def test_documented_categories_and_numbers_make_105_columns():
    assert sum(map(len, categories().values())) + len(MAXIMA) == 105
    assert set(categories()) | set(MAXIMA) == set(COLUMNS)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (ROW.replace("White", "Green"), "documented category of race"),
        (ROW.replace("39", "old"), "number.*line 1"),
        (ROW + ", 5", "15 fields"),
        (ROW.replace("<=50K", "rich"), "income class"),
        (PARTIAL, "complete row"),
    ],
)
def test_bad_adult_rows_are_named(tmp_path, row, word):
    (tmp_path / "adult.data").write_text(row + "\n")
    with pytest.raises(InvalidInput, match=word):
        load_adult(tmp_path / "adult.data")


def test_a_folder_without_adult_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"adult\.data"):
        load_adult(tmp_path)


def test_adult_from_openml_is_the_same_as_from_files(tmp_path, monkeypatch):
    """The fetch itself is replaced: a table as scikit-learn hands it over."""
    import pandas as pd
    import sklearn.datasets

    asked = {}

    def fetch(name, **settings):
        asked.update(settings, name=name)
        fields = [
            [f.strip() for f in row.removesuffix(".").split(",")] for row in (ROW, PARTIAL, RICH)
        ]
        frame = pd.DataFrame(fields, columns=[*COLUMNS, "class"]).replace("?", np.nan)
        return type("Bunch", (), {"frame": frame})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    fetched = fetch_adult(cache=tmp_path)
    assert asked == {
        "name": "adult",
        "version": 2,
        "as_frame": True,
        "data_home": str(tmp_path),
    }
    (tmp_path / "adult.data").write_text(f"{ROW}\n{PARTIAL}\n{RICH}\n")
    read = load_adult(tmp_path / "adult.data")
    np.testing.assert_array_equal(fetched.features, read.features)
    np.testing.assert_array_equal(fetched.labels, read.labels)
    assert adult_module.FILES == ("adult.data", "adult.test")


def test_libsvm_data_from_openml(monkeypatch):
    import scipy.sparse
    import sklearn.datasets

    def fetch(name, **_):
        return type(
            "Bunch",
            (),
            {
                "data": scipy.sparse.csr_array([[1.0, 0], [0, 2.0]]),
                "target": np.array(["-1", "1"]),
                "feature_names": ["a", "b"],
            },
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    data = fetch_libsvm("a9a")
    np.testing.assert_array_equal(data.features, [[1, 0], [0, 2]])
    np.testing.assert_array_equal(data.labels, [-1, 1])
    with pytest.raises(InvalidInput, match="did you mean 'a9a'"):
        fetch_libsvm("a9")


CSV = "age,colour,income\n30, red ,1\n40,blue,0\n?,red,1\n\n"


def test_csv_files_with_categories(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    data = load_table(path, "income", categories={"colour": ["red", "green", "blue"]})
    np.testing.assert_array_equal(data.features, [[30, 1, 0, 0], [40, 0, 0, 1]])
    np.testing.assert_array_equal(data.labels, [1, -1])
    assert data.names == ("age", "colour=red", "colour=green", "colour=blue")
    assert "1 incomplete" in data.source


def test_csv_labels_by_name_and_as_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1;good\n2;bad\n3;good\n")
    data = load_table(path, "y", positive="good", delimiter=";")
    np.testing.assert_array_equal(data.labels, [1, -1, 1])
    path.write_text("x,y\n1,0.5\n2,0.7\n3,0.9\n")
    np.testing.assert_array_equal(load_table(path, "y").labels, [0.5, 0.7, 0.9])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a,b\n1,2\n1\n", "line 3.*1 cell"),
        ("a,b\n1,2,3\n", "line 2.*3 cells"),
        ("a,b\n0,5,2\n", "line 2.*3 cells"),
        ("a;b\n0,5;2\n", "line 2.*decimal point"),
        ("b,c,b\n1,2,3\n", "has 'b' in columns 1 and 3; rename all but one"),
        (
            "1,b,1,1\n1,2,3,4\n",
            "'1' in columns 1, 3 and 4; put the names .* above the first record",
        ),
        ("a,b\n1,\0\n", "NUL"),
        ('a,b\n"1,2\n3,4\n', "line 2"),
        ("a,b\n" + "1" * 140_000 + ",2\n", "line 2"),
        ("a,b\nred,2\n", "line 2.*categories"),
        (
            "a,b\n1,2\ninf,2\n",
            "finite number in column 'a'; got 'inf' in line 3 .*; leave .* empty",
        ),
        ("a,b\n1,nan\n", "finite number as label in column 'b'; got 'nan' in line 2"),
        ("a,c\n1,2\n", "column"),
        ("a,b\n", "complete row; got none in .* names of columns alone; add the records"),
        ("a,b\n,1\n?,2\n", r"complete row; .* all incomplete \(2\); take out columns"),
        ("", "got an empty file .*; put the names of the columns in its first line"),
    ],
)
def test_bad_csv_files_are_named(tmp_path, text, word):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=word):
        load_table(path, "b")


def test_a_byte_order_mark_and_semicolons_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("b;a\n1;0.5\n#2;0.7\n3;0.9\n", encoding="utf-8-sig")
    with pytest.raises(InvalidInput, match="line 3"):
        load_table(path, "a")
    path.write_text("b;a\n1;0.5\n2;0.7\n3;0.9\n", encoding="utf-8-sig")
    assert load_table(path, "b").features.ravel().tolist() == [0.5, 0.7, 0.9]


def test_an_undeclared_category_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    with pytest.raises(InvalidInput, match="categories of 'colour'"):
        load_table(path, "income", categories={"colour": ["red"]})


def test_indices_from_0_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "t.libsvm"
    path.write_text("+1 0:1 1:2\n-1 1:1\n")
    with pytest.raises(InvalidInput, match=r"'0:1' in line 1 of .*; .* add 1 to every index$"):
        load_libsvm(path)
    path.write_text("+1 2:1 1:2\n-1 1:1\n")
    with pytest.raises(InvalidInput, match=r"got '1:2' in line 1 of '[^']*'; sort the entries"):
        load_libsvm(path)
