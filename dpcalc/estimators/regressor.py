"""What estimators of numbers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.estimators.base import FLOATS, Array, PrivateLinearModel, refuse_fit_parameters


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A number, by a linear function of the row.

    Args:
        label_bound: a public number; labels are clipped to ±label_bound.
    """

    label_bound: float = 1.0

    def fit(
        self, X: ArrayLike, y: ArrayLike, records: ArrayLike | None = None, **refused: Any
    ) -> Self:
        """Spend the budget on these records.

        Args:
            X: shape (n, d).
            y: numbers; clipped to ±``label_bound``. Shape (n,).
            records: see `PrivateClassifier.fit`.
            **refused: see there.
        """
        refuse_fit_parameters(self, refused)
        rows, labels = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, accept_sparse="csr")
        checks.positive("label_bound", self.label_bound)
        if labels.dtype.kind not in "fiub":
            raise InvalidInput(
                f"expected numbers to predict; got labels such as {str(labels[0])!r}; for classes take "
                "ADMMClassifier"
            )
        scaled = np.clip(np.asarray(labels / self.label_bound, dtype=np.float64), -1, 1)
        (weights,) = self._fitted(rows, [scaled], records) * self.label_bound
        self.coef_, self.intercept_ = weights[:-1], float(weights[-1])
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The linear function; shape (n,)."""
        return self._scores(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        """Scores of a small data set say nothing."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
