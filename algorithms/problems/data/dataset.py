"""Features and labels as they come out of a file, and how files are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import delimited
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """How scaled numbers follow from those in the file: (number - shift)/stretch.

    Attributes:
        shift, stretch: of the features; shape (d,).
        label_shift, label: the same of the label.
    """

    shift: Array
    stretch: Array
    label_shift: float = 0.0
    label: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A table ready to be dealt out to nodes with `records.split`.

    Attributes:
        features: shape (n, d), finite; an array, or in a file.
        labels: shape (n,), finite.
        names: of the features; d of them.
        source: where it came from and what was left out.
        label: name of the label, "" if it has none.
        classes: what became -1 and +1, as the file says it; None of labels that are numbers, and
            where the file has the two itself without a name.
        left_out: how many incomplete rows were left out.
        row_bound: the largest norm that a row can have by the public ranges of its columns; None
            if there are none.
        units: what those ranges made of the numbers in the file; None if nothing.
        clipped: which labels lay outside their range and are clipped to it; None of classes.
    """

    features: Rows
    labels: Array
    names: tuple[str, ...]
    source: str
    label: str = ""
    classes: tuple[str, str] | None = None
    left_out: int = 0
    row_bound: float | None = None
    units: Units | None = None
    clipped: NDArray[np.bool_] | None = None

    @property
    def of_classes(self) -> bool:
        """Whether the labels are two classes, -1 and +1."""
        return bool(np.isin(self.labels, (-1.0, 1.0)).all())


def lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Line numbers, from 1, and stripped lines of a text file, plain or with .xz, .gz, .bz2 or .zst.

    Raises:
        InvalidInput: if the file cannot be read.
    """
    for number, line in delimited.lines(path):
        yield number, line.strip()


def bad_row(
    path: object, number: int, needed: str, given: str, try_this: str = "", *, where: str = "line"
) -> InvalidInput:
    """The error for a row that cannot be used."""
    tail = f"; {try_this}" if try_this else ""
    return InvalidInput(
        f"expected {needed}; got {given!r} in {where} {number} of {str(path)!r}{tail}"
    )


def two_classes(labels: Array, source: str) -> Array:
    """Labels of two values as -1 (the smaller) and +1.

    Raises:
        InvalidInput: if there are not exactly two values.
    """
    values = np.unique(labels)
    if len(values) == 1:
        raise InvalidInput(
            f"expected two classes; got {word(values[0])} for every record in {source}; one class "
            "alone leaves nothing to learn"
        )
    if len(values) != 2:
        shown = ", ".join(word(value) for value in values[:5])
        some = "; write 1 for one of them and -1 for all others" if len(values) > 2 else ""
        raise InvalidInput(f"expected two classes; got {len(values)} ({shown}) in {source}{some}")
    return np.where(labels == values[1], 1.0, -1.0)
