"""Matrices as parameters: a table of numbers, or a multiple of the identity of any size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dpcalc.errors import InvalidInput
from dpcalc.numerics.certified_eigenvalues import Array, singular_values
from dpcalc.theorems.schedule import Schedule


@cache
def _extremes(rows: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    return singular_values(np.array(rows))


@dataclass(frozen=True, slots=True)
class Matrix:
    """A real matrix with the few facts that bounds need.

    Attributes:
        text: how it was given.
        rows: its entries, or one entry: the factor of an identity matrix of unstated size.
        scaled_identity: whether it is such a factor.
    """

    text: str
    rows: tuple[tuple[float, ...], ...]
    scaled_identity: bool = False

    @classmethod
    def of(cls, name: str, value: Any) -> Matrix:
        """A matrix from "@file" (comma-separated rows), nested sequences, or a number."""
        if isinstance(value, Matrix):
            return value
        read = Schedule.of(name, value)
        if read.factor != 1.0:
            raise InvalidInput(f"{name} needs a number or @file; got {value!r}")
        rows = read.table or ((read.start,),)
        if not all(math.isfinite(x) for row in rows for x in row):
            raise InvalidInput(f"{name} needs finite entries; got {value!r}")
        text = str(value) if isinstance(value, str | int | float) else f"matrix {read}"
        return cls(text, rows, scaled_identity=not read.table)

    @property
    def array(self) -> Array:
        """The entries."""
        return np.array(self.rows)

    @property
    def columns(self) -> int | None:
        """How many columns, None for a multiple of the identity."""
        return None if self.scaled_identity else len(self.rows[0])

    def require_columns(self, dimension: int | None) -> None:
        """Refuse a dimension other than the columns, and a multiple of the identity without one."""
        if self.columns is None and dimension is None:
            raise InvalidInput("a matrix given as a number needs dimension; try --dimension 10")
        if self.columns is not None and dimension not in (None, self.columns):
            raise InvalidInput(
                f"dimension needs to be the columns of A; got dimension={dimension}, "
                f"columns={self.columns}"
            )

    @property
    def _extremes(self) -> tuple[float, float]:
        if self.scaled_identity:
            factor = abs(self.rows[0][0])
            return factor, factor
        return _extremes(self.rows)

    @property
    def norm(self) -> float:
        """An upper bound of the largest singular value."""
        return self._extremes[1]

    @property
    def row_rank_margin(self) -> float:
        """A lower bound of the smallest singular value if rows are independent, else 0."""
        rows, columns = self.array.shape
        return self._extremes[0] if self.scaled_identity or rows <= columns else 0.0

    @property
    def column_margin(self) -> float:
        """A lower bound of the smallest ``|Ax|/|x|``: 0 if there are fewer rows than columns."""
        rows, columns = self.array.shape
        return self._extremes[0] if self.scaled_identity or rows >= columns else 0.0

    def gram_eigenvalues(self, dimension: int) -> list[tuple[float, int]]:
        """Lower bounds of the eigenvalues of AᵀA with how often each occurs, ``dimension`` in all."""
        if self.scaled_identity:
            return [(self.rows[0][0] ** 2 * (1 - 1e-15), dimension)]
        estimates = np.linalg.eigvalsh(self.array.T @ self.array)
        slack = 1e-12 * max(float(estimates[-1]), 0.0)  # far above what rounding can do
        return [(max(0.0, float(x) - slack), 1) for x in estimates]

    def squared_entries(self, dimension: int) -> float:
        """An upper bound of the sum of all squared entries."""
        factor = dimension if self.scaled_identity else 1
        return math.fsum(x * x for row in self.rows for x in row) * factor * (1 + 1e-12)

    def __str__(self) -> str:
        return self.text
