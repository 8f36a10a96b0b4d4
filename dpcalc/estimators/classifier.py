"""What classifiers share: two classes, or one model per class within one budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.errors import InvalidInput
from dpcalc.estimators.base import FLOATS, Array, PrivateLinearModel, refuse_fit_parameters
from dpcalc.training.method import get_loss


def _logistic(model: Any) -> bool:
    """True where the loss is one whose scores are log-odds; else the error that says so."""
    loss = getattr(model, "loss", "logistic")
    if loss == "logistic" or isinstance(loss, Logistic):
        return True
    raise AttributeError(
        f"probabilities need scores that are log-odds; got loss={loss!r}; take loss='logistic', or "
        "decision_function"
    )


class PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """Classes, by the sign of a linear function; of several, by the largest of one per class.

    Each of several classes has a model of it against all others (one versus rest). The models are
    fitted on the same records, so that they share the budget: `certified_` is that of all of them.
    The set of classes is taken as public.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, records: ArrayLike | None = None, **refused: Any
    ) -> Self:
        """Spend the budget on these records.

        Args:
            X: shape (n, d); a sparse matrix stays one.
            y: at least two different labels; shape (n,).
            records: public numbers of the records, for an accountant to tell folds apart; any
                record may be among them if left out.
            **refused: ``sample_weight`` among others, with the reason.

        Raises:
            InvalidInput: if all labels are the same, or a parameter is out of range.
            Infeasible: if no noise meets the budget; says what to change.
        """
        refuse_fit_parameters(self, refused)
        rows, labels = validate_data(
            self, X, y, dtype=FLOATS, ensure_min_samples=2, accept_sparse="csr"
        )
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"expected two classes; got one class, {self.classes_.tolist()[0]!r}: with it alone "
                "there is nothing to learn"
            )
        modelled = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = [np.where(codes == k, 1.0, -1.0) for k in modelled]
        weights = self._fitted(rows, targets, records)
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        return self

    def _of_margin(self) -> bool:
        return get_loss(getattr(self, "loss", "logistic")).of_margin

    def decision_function(self, X: ArrayLike) -> Array:
        """The linear function, positive for the second class, shape (n,); of several, (n, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row; shape (n,)."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_logistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes by the logistic model; shape (n, classes).

        Of several classes each model's probability is divided by the sum of all. Nothing calibrates
        them: noise and a budget's short training draw them away from the frequencies.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.hstack([expit(-scores), expit(scores)])
        odds = expit(scores)
        sums = odds.sum(axis=1, keepdims=True)
        even = np.full_like(odds, 1 / odds.shape[1])
        return np.divide(odds, sums, out=even, where=sums > 0)

    @available_if(_logistic)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def __sklearn_tags__(self) -> Any:
        """Scores of a small data set say nothing."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
