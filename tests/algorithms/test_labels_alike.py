"""Labels of classes that are different numbers and the same double."""

from __future__ import annotations

import pytest

from dpcalc.algorithms.problems.data.columnar import columnar_parts
from dpcalc.algorithms.problems.data.libsvm import load_libsvm
from dpcalc.algorithms.problems.data.parts import collected
from dpcalc.algorithms.problems.data.tables import load_table
from dpcalc.errors import InvalidInput

SMALL, LARGE = 2**53, 2**53 + 1


def _read(path, labels, positive=None):
    if path.suffix == ".csv":
        path.write_text("x,y\n" + "".join(f"{k},{y}\n" for k, y in enumerate(labels)))
        return load_table(path, "y", positive=positive)
    if path.suffix == ".svm":
        path.write_text("".join(f"{y} 1:{k}\n" for k, y in enumerate(labels)))
        return load_libsvm(path, classes=None, positive=positive)
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": list(range(len(labels))), "y": labels}), path)
    return collected(columnar_parts(path, "y", positive=positive))


@pytest.mark.parametrize("kind", ["csv", "svm", "parquet"])
@pytest.mark.parametrize("others", [[], [5]])
def test_they_are_refused_with_both(tmp_path, kind, others):
    """They were one class, or it was said that all records have the same label."""
    labels = [SMALL, LARGE, SMALL, *others]
    with pytest.raises(InvalidInput, match=f"got '{SMALL}' and '{LARGE}' in .*, which are both"):
        _read(tmp_path / f"d.{kind}", labels)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_as_words_they_are_two(tmp_path, kind):
    found = _read(tmp_path / f"d.{kind}", [SMALL, LARGE, SMALL], positive=str(LARGE))
    assert found.labels.tolist() == [-1, 1, -1]


def test_one_number_spelt_in_two_ways_is_one_label(tmp_path):
    found = _read(tmp_path / "d.csv", ["1", "1.0", "0", "1e0"])
    assert found.labels.tolist() == [1, 1, -1, 1]


@pytest.mark.parametrize("kind", ["csv", "svm", "parquet"])
def test_numbers_to_predict_may_be_rounded(tmp_path, kind):
    found = _read(tmp_path / f"d.{kind}", [SMALL, LARGE, 1, 2, 3])
    assert found.labels.tolist() == [SMALL, SMALL, 1, 2, 3]
