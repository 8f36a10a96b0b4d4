"""The Adult data set as zhang2018 and zhang2019 prepare it.

    1. rows with a missing value are left out: 45,222 of 48,842 remain (the papers count 45,223)
    2. a categorical attribute becomes one 0-1 column per category of the *documented* list, whether
       it occurs or not: 99 columns; with 6 numbers, 105
    3. columns are divided by their maximum
    4. rows are shortened to norm 1
    5. income above 50,000 is +1, else -1

Step 3 in the papers takes maxima over all records, which looks at the data. Here the maxima are the
constants below, which are those maxima, written down.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.algorithms.problems.data.dataset import Dataset, bad_row, lines
from dpcalc.algorithms.problems.records import bounded_rows
from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.packed import SUFFIXES, existing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

MAXIMA: dict[str, float] = {
    "age": 90,
    "fnlwgt": 1490400,
    "education-num": 16,
    "capital-gain": 99999,
    "capital-loss": 4356,
    "hours-per-week": 99,
}
"""Largest value of every numeric column over the complete rows."""

_DOCUMENTED = """
workclass: Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay
    Never-worked
education: Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th
    Masters 1st-4th 10th Doctorate 5th-6th Preschool
marital-status: Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent
    Married-AF-spouse
occupation: Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty
    Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving
    Priv-house-serv Protective-serv Armed-Forces
relationship: Wife Own-child Husband Not-in-family Other-relative Unmarried
race: White Asian-Pac-Islander Amer-Indian-Eskimo Other Black
sex: Female Male
native-country: United-States Cambodia England Puerto-Rico Canada Germany
    Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines Italy
    Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan
    Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador
    Trinadad&Tobago Peru Hong Holand-Netherlands
"""


@cache
def categories() -> dict[str, tuple[str, ...]]:
    """The documented categories of every categorical attribute."""
    found: dict[str, list[str]] = {}
    for word in _DOCUMENTED.split():
        if word.endswith(":"):
            found[word[:-1]] = []
        else:
            found[list(found)[-1]].append(word)
    return {name: tuple(words) for name, words in found.items()}


COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
"""Attributes in the order of the files; the income class follows."""

FILES = ("adult.data", "adult.test")


def load_adult(
    path: str | os.PathLike[str], *, maxima: Mapping[str, float] | None = None
) -> Dataset:
    """Read and prepare Adult from the files of the UCI repository.

    Args:
        path: one file, or a folder with ``adult.data`` and ``adult.test``; plain or packed.
        maxima: what to divide numeric columns by; `MAXIMA` if left out.

    Raises:
        InvalidInput: if a file is missing, or a row is neither complete nor marked incomplete.
    """
    folder = Path(path)
    files = [_one_of(folder, name) for name in FILES] if folder.is_dir() else [folder]
    rows = (
        (file, number, [field.strip() for field in line.removesuffix(".").split(",")])
        for file in files
        for number, line in lines(file)
        if line and not line.startswith("|")
    )
    return _prepared(rows, maxima or MAXIMA, f"{path} (UCI Adult)")


def fetch_adult(
    *, maxima: Mapping[str, float] | None = None, cache: str | os.PathLike[str] | None = None
) -> Dataset:
    """Fetch Adult from OpenML by scikit-learn, which caches it, and prepare it.

    Args:
        maxima: what to divide numeric columns by; `MAXIMA` if left out.
        cache: folder to keep it in; scikit-learn's own if left out.
    """
    need("sklearn", purpose="fetching a data set")
    from sklearn.datasets import fetch_openml

    home = None if cache is None else str(cache)
    frame = fetch_openml("adult", version=2, as_frame=True, data_home=home).frame
    table = zip(*(frame[name].astype(object) for name in (*COLUMNS, "class")), strict=True)
    rows = (
        ("OpenML adult", number, ["?" if value != value else str(value) for value in row])
        for number, row in enumerate(table, start=1)
    )
    return _prepared(rows, maxima or MAXIMA, "OpenML 'adult', version 2")


def _one_of(folder: Path, name: str) -> Path:
    found = existing(folder, name)
    if found is None:
        raise InvalidInput(
            f"expected a file {name}, plain or packed ({', '.join(SUFFIXES)}), in {str(folder)!r}"
        )
    return found


def _prepared(
    rows: Iterable[tuple[object, int, Sequence[str]]], maxima: Mapping[str, float], source: str
) -> Dataset:
    names: list[str] = []
    place: dict[str, dict[str, int]] = {}
    documented = categories()
    for column in COLUMNS:
        if column in documented:
            place[column] = {c: len(names) + k for k, c in enumerate(documented[column])}
            names += [f"{column}={c}" for c in documented[column]]
        else:
            place[column] = {"": len(names)}
            names.append(column)
    features, labels, incomplete = [], [], 0
    for file, number, row in rows:
        if len(row) != len(COLUMNS) + 1:
            raise bad_row(file, number, f"{len(COLUMNS) + 1} fields", ",".join(row))
        if "?" in row:
            incomplete += 1
            continue
        vector = np.zeros(len(names))
        for column, value in zip(COLUMNS, row[:-1], strict=True):
            if column not in documented:
                vector[place[column][""]] = _number(file, number, value) / maxima[column]
            elif value in place[column]:
                vector[place[column][value]] = 1
            else:
                raise bad_row(file, number, f"a documented category of {column}", value)
        if row[-1] not in ("<=50K", ">50K"):
            raise bad_row(file, number, "an income class <=50K or >50K", row[-1])
        features.append(vector)
        labels.append(1.0 if row[-1] == ">50K" else -1.0)
    if not features:
        raise InvalidInput(f"expected at least one complete row; got none in {source}")
    return Dataset(
        features=bounded_rows(np.array(features), "rescale"),
        labels=np.array(labels),
        names=tuple(names),
        source=f"{source}; {incomplete} incomplete rows left out",
        label="income",
        classes=("<=50K", ">50K"),
        left_out=incomplete,
    )


def _number(file: object, number: int, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise bad_row(file, number, "a number", value) from error
