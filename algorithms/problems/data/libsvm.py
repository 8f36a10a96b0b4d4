"""LIBSVM files: one record per line, ``label index:value index:value ...``, indices from 1."""

from __future__ import annotations

import math
import os
from array import array
from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.problems.data.alike import refuse_alike
from dpcalc.algorithms.problems.data.dataset import Array, Dataset, bad_row, lines, two_classes
from dpcalc.algorithms.problems.data.entries import Entries
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.delimited import is_number
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.sparse import Rows

ON_OPENML = {"a8a": "a8a", "a9a": "a9a", "ijcnn1": "ijcnn"}
"""Data sets of shang2021 by the name that OpenML gives them; training and test part are one there."""


def load_libsvm(
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    classes: bool | None = True,
    positive: str | None = None,
    sparse: bool = False,
) -> Dataset:
    """Read a LIBSVM file, plain, .xz, .gz, .bz2 or .zst.

    Args:
        path: the file.
        features: how many there are; the largest index if left out. A test file may use fewer
            than the training file has, so give the number when both must fit together.
        classes: whether labels are two classes, to become -1 and +1, or numbers to keep; None if two
            different ones are classes and more are numbers.
        positive: the label that becomes +1, all others -1.
        sparse: whether rows of which most numbers are 0 stay a sparse matrix; else they become an
            array.

    Raises:
        InvalidInput: if a line has no label, or an entry that is not index:value with increasing
            indices from 1 and finite values; if the table is larger than memory.
    """
    read = _Table()
    for number, line in lines(path):
        content = line.split("#", 1)[0].split()
        if content:
            read.add(path, number, content)
    if not read.labels:
        raise InvalidInput(
            f"expected at least one record; got none in {str(path)!r}; write one a line: label "
            "index:value index:value ..."
        )
    width = read.width
    if not (width or features):
        raise InvalidInput(
            f"expected numbers to learn from beside the label in {str(path)!r}; got labels alone; "
            "write index:value behind them"
        )
    if features is not None:
        checks.count("features", features)
        if width > features:
            raise InvalidInput(
                f"expected indices up to features={features}; got {width} in {str(path)!r}"
            )
        width = features
    said = f"index {width} in line {read.widest}" if width == read.width else f"{features=}"
    table = read.rows(path, width, said, sparse=sparse)
    values = np.frombuffer(read.labels) + 0.0  # no -0, which is no label of its own
    many = classes is False or (classes is None and len(np.unique(values)) > 2)
    if positive is not None or not many:
        refuse_alike(path, read.spelt)
    y, said_classes = _labelled(path, values, classes, positive)
    said_of = "" if said_classes is None else f"; +1 is {said_classes[1]}, -1 is {said_classes[0]}"
    return Dataset(
        features=table,
        labels=y,
        names=tuple(str(k + 1) for k in range(width)),
        source=f"{path}{said_of}",
        label=LABEL if y is values else "",
        classes=said_classes,
    )


def _labelled(
    path: object, labels: Array, classes: bool | None, positive: str | None
) -> tuple[Array, tuple[str, str] | None]:
    """Labels as they are trained on, and what became -1 and +1 unless the file has these."""
    values = np.unique(labels)
    if positive is not None:
        found = float(positive) if is_number(positive) else math.nan
        if len(values) > 1 and found not in values:
            known = ", ".join(word(value) for value in values[:8]) + ", ..." * (len(values) > 8)
            raise InvalidInput(
                f"expected a label that occurs; got positive={positive!r}, which is not in "
                f"{str(path)!r}; known: {known}"
            )
        if len(values) > 1:
            return np.where(labels == found, 1.0, -1.0), ("any other", word(found))
    if classes is False or (classes is None and len(values) > 2):
        return labels, None
    y = two_classes(labels, str(path))
    own = values.tolist() == [-1.0, 1.0]
    return y, None if own else (word(values[0]), word(values[1]))


def _of_label(content: list[str]) -> str:
    """What to try with a line that does not begin with a number."""
    label = content[0]
    if "," in label and all(map(is_number, label.split(","))) and len(content) > 1:
        return "if these are several labels of one record, write one that is to be told, such as 1 or 0"
    if ":" in label:
        return "put the label first, one number"
    if len(content) > 1 and ":" in content[1]:
        return "write a number for each class"
    return "if this is CSV, give the file a name that ends in .csv"


def _of_entry(entry: str) -> str:
    """What to try with an entry that is not index:value."""
    index, colon, value = entry.partition(":")
    if index == "qid":
        return "queries mean nothing here: take qid out"
    if not colon:
        return "if this is CSV, give the file a name that ends in .csv"
    if "," in value:
        return "write decimals with a point, and a blank between entries"
    return ""


def _of_index(index: int, last: int) -> str:
    """What to try with an index that is no larger than the one before."""
    if index == 0:
        return "if indices count from 0, add 1 to every index"
    if index < 0:
        return ""
    if index == last:
        return "it stands there twice in a row: add its values up, or take one out"
    return "sort the entries of every line by their index"


LABEL = "label"
"""Name of the label where it is a number to predict; features are called by their index."""

_LARGEST_INDEX = 2**31 - 1
_COPIES = 2
"""Tables in memory at once: this one, and the one that is split."""

_RARE = 1 / 3
"""Share of numbers that are not 0 up to which a sparse matrix takes half of an array's memory."""

_SPELT = 2**10
"""Spellings of labels that are kept: classes have fewer."""

_EACH_NAME = 100
"""Bytes of the name of a column."""


def _memory() -> float:
    """Bytes that this machine has; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


class _Table:
    """Labels and numbers, as they are read."""

    def __init__(self) -> None:
        self.labels, self.numbers = array("d"), Entries()
        self.width, self.widest = 0, 0
        self.spelt = set[str]()

    def add(self, path: object, number: int, content: list[str]) -> None:
        """A record; refused with its line if it is none."""
        try:
            label = float(content[0])
        except ValueError as error:
            raise bad_row(
                path, number, "a numeric label", content[0], _of_label(content)
            ) from error
        if not np.isfinite(label):
            raise bad_row(path, number, "a finite label", content[0])
        last = 0
        for entry in content[1:]:
            try:
                index, value = int(entry.partition(":")[0]), float(entry.partition(":")[2])
            except ValueError as error:
                hint = _of_entry(entry)
                raise bad_row(path, number, "an entry index:value", entry, hint) from error
            if index <= last:
                hint = _of_index(index, last)
                raise bad_row(path, number, "increasing indices from 1", entry, hint)
            if not math.isfinite(value):
                hint = "leave the record out, or write a number"
                raise bad_row(path, number, "finite values", entry, hint)
            if index > _LARGEST_INDEX:
                raise bad_row(path, number, f"indices up to {_LARGEST_INDEX}", entry)
            last = index
            self.numbers.add(index - 1, value)
        if last > self.width:
            self.width, self.widest = last, number
        self.labels.append(label)
        if len(self.spelt) < _SPELT:
            self.spelt.add(content[0])
        self.numbers.end_row()

    def rows(self, path: object, width: int, said: str, *, sparse: bool) -> Rows:
        """All numbers; refused, with what made it so wide, if they are too many."""
        count, there = len(self.labels), _memory()
        sparse = sparse and self.numbers.count <= _RARE * count * width
        needed = width * (_EACH_NAME + (0 if sparse else 8 * _COPIES * count))
        try:
            if needed <= there:
                return self.numbers.matrix(width) if sparse else self.numbers.array(width)
        except (MemoryError, ValueError):  # a limit of the process; more bytes than have addresses
            pass
        has = "" if math.isinf(there) else f"; this machine has {there / 1e9:.3g} GB"
        held = "" if sparse else ", where rows are held with their zeros"
        of = ", whose names alone" if sparse else f" of {count} records, which"
        raise InvalidInput(
            f"expected a table that fits into memory{held}; {said} of {str(path)!r} makes {width} "
            f"columns{of} need {needed / 1e9:.3g} GB{has}; number the features that occur from 1 on"
            + ("" if sparse else ", or leave out ranges, with which no number stays 0")
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
