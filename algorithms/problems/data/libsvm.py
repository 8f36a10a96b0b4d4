"""LIBSVM files: one record per line, ``label index:value index:value ...``, indices from 1."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.problems.data.dataset import Dataset, bad_row, lines, two_classes
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.extras import need

if TYPE_CHECKING:
    import os

ON_OPENML = {"a8a": "a8a", "a9a": "a9a", "ijcnn1": "ijcnn"}
"""Data sets of shang2021 by the name that OpenML gives them; training and test part are one there."""


def load_libsvm(
    path: str | os.PathLike[str], *, features: int | None = None, classes: bool = True
) -> Dataset:
    """Read a LIBSVM file, plain, .xz, .gz or .bz2, into a dense table.

    Args:
        path: the file.
        features: how many there are; the largest index if left out. A test file may use fewer
            than the training file has, so give the number when both must fit together.
        classes: whether labels are two classes, to become -1 and +1, or numbers to keep.

    Raises:
        InvalidInput: if a line has no label, or an entry that is not index:value with increasing
            indices from 1 and finite values.
    """
    labels, values = array("d"), array("d")
    rows, columns = array("q"), array("q")  # eight bytes a number
    for number, line in lines(path):
        content = line.split("#", 1)[0].split()
        if not content:
            continue
        try:
            label = float(content[0])
        except ValueError as error:
            hint = "" if ":" in line else "if this is CSV, give the file a name that ends in .csv"
            raise bad_row(path, number, "a numeric label", content[0], hint) from error
        if not np.isfinite(label):
            raise bad_row(path, number, "a finite label", content[0])
        last = 0
        for entry in content[1:]:
            try:
                index, value = int(entry.partition(":")[0]), float(entry.partition(":")[2])
            except ValueError as error:
                raise bad_row(path, number, "an entry index:value", entry) from error
            if index <= last or not np.isfinite(value):
                hint = "" if index else "if indices count from 0, add 1 to every index"
                raise bad_row(path, number, "increasing indices from 1, finite values", entry, hint)
            last = index
            rows.append(len(labels))
            columns.append(index - 1)
            values.append(value)
        labels.append(label)
    if not labels:
        raise InvalidInput(f"expected at least one record; got none in {str(path)!r}")
    width = max(columns, default=-1) + 1
    if features is not None:
        checks.count("features", features)
        if width > features:
            raise InvalidInput(
                f"expected indices up to features={features}; got {width} in {str(path)!r}"
            )
        width = features
    table = np.zeros((len(labels), width))
    table[np.frombuffer(rows, np.int64), np.frombuffer(columns, np.int64)] = np.frombuffer(values)
    y = np.frombuffer(labels)
    return Dataset(
        features=table,
        labels=two_classes(y, str(path)) if classes else y,
        names=tuple(str(k + 1) for k in range(width)),
        source=str(path),
    )


def fetch_libsvm(name: str, *, cache: str | os.PathLike[str] | None = None) -> Dataset:
    """One of a8a, a9a, ijcnn1 from OpenML, by scikit-learn, kept in its cache.

    Args:
        name: the data set's name.
        cache: folder to keep it in; scikit-learn's own if left out.
    """
    if name not in ON_OPENML:
        raise unknown_name("data set", name, ON_OPENML)
    need("sklearn", purpose="fetching a data set")
    from sklearn.datasets import fetch_openml

    home = None if cache is None else str(cache)
    bunch = fetch_openml(
        ON_OPENML[name], version=1, as_frame=False, data_home=home, parser="liac-arff"
    )
    table = bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.asarray(bunch.data)
    labels = np.array([float(label) for label in bunch.target])
    return Dataset(
        features=np.asarray(table, dtype=np.float64),
        labels=two_classes(labels, name),
        names=tuple(str(entry) for entry in bunch.feature_names),
        source=f"OpenML {ON_OPENML[name]!r}, version 1",
    )
