"""What the estimators share: rows to public bounds, a calibrated run, and what it spent."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.estimators.budget import FOLDS, shared
from dpcalc.training.catalogue import method
from dpcalc.training.defaults import noise_norm
from dpcalc.training.method import Budget
from dpcalc.training.plan import plan

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.training.method import Method
    from dpcalc.training.plan import Plan

Array = NDArray[np.float64]


# Parameters are dataclass fields: a class and its parents write the constructor that scikit-learn
# reads parameters from. Estimators are compared by identity and shown by scikit-learn.
@dataclass(eq=False, repr=False)
class PrivateLinearModel(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A linear model fitted with noise for an (ε, δ) budget.

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget.
        row_bound: a public number; longer rows are shortened to it.
        fit_intercept: whether a constant column is added.
        accountant: a `SharedAccountant` that fits of this estimator and of its clones are charged to;
            a fit that it does not hold is refused. None for none.
        random_state: None for a private release. A seed makes an experiment that can be repeated;
            fits with one seed on neighbouring data share their noise, which hides nothing.

    Attributes after `fit`:
        coef_: shape (n_features,) for a regressor, (1, n_features) for a classifier.
        intercept_: a number, or shape (1,).
        budget_: {"epsilon", "delta"} that was asked for.
        certified_: ε at that δ that the fit spent, certified; at most the budget's. With an
            accountant ε, at its δ, of all that was charged to it up to now.
        adjacency_: the neighbouring relation that these numbers are about.
        release_: what is released and covered by them.
        claimed_: ε that the paper would claim for the same noise; None where it claims nothing.
        private_release_: whether the fit is what certified_ speaks of; False with a random_state:
            an experiment, not a private release.
        promises_: what the bound rests on that only the caller can vouch for.
        plan_: the calibrated theorem and the algorithm's settings.
        n_iter_: rounds.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    row_bound: float = 1.0
    fit_intercept: bool = True
    accountant: Any = None
    random_state: Any = None

    @abstractmethod
    def _method(self, n_records: int, dimension: int) -> Method:
        """The method with the estimator's parameters, those left open filled in by public numbers."""

    def _made(self, key: str, fields: str, **open_: Any) -> Method:
        """The method ``key`` with the estimator's parameters of these names.

        Args:
            key: of the method.
            fields: names of parameters.
            open_: values of further parameters, for those that the estimator has as None.
        """
        given = {name: getattr(self, name) for name in fields.split()}
        for name, value in open_.items():
            own = getattr(self, name, None)
            given[name] = value if own is None else own
        return method(key).from_parameters(given)

    def _noise(self, n_records: int, dimension: int, *, pure: bool = False) -> float:
        """The noise that one look at the records asks for; see `noise_norm`."""
        checks.positive("epsilon", self.epsilon)
        checks.delta(self.delta)
        return noise_norm(n_records, dimension, self.epsilon, self.delta, pure=pure)

    def _network(self, n_records: int) -> Network | None:
        """The network that records are dealt out to; None for one place."""
        return None

    def _rows(self, X: Array) -> Array:
        """Rows with the intercept's column, shortened to the bound and divided by it.

        Every row is looked at alone, with public numbers, so nothing is spent.
        """
        from dpcalc.algorithms.problems.records import bounded_rows, with_constant

        rows = bounded_rows(X, "rescale", bound=self.row_bound) / self.row_bound
        return with_constant(rows) if self.fit_intercept else np.asarray(rows)

    def _planned(self, X: Array, y: Array) -> Plan:
        """A calibrated run on rows as given."""
        network, rows = self._network(len(y)), self._rows(X)
        return plan(
            self._method(*rows.shape),
            self._records(rows, y, 1 if network is None else network.nodes),
            network=network,
            budget=Budget(self.epsilon, self.delta),
        )

    def _fitted(self, X: Array, y: Array, records: ArrayLike | None) -> Array:
        """Weights of the rows as given, the intercept last; fills in the fitted attributes."""
        ready = self._planned(X, y)
        self._account(ready, records, len(y))
        transcript = ready.carry_out(_seed(self.random_state))
        weights = ready.method.weights(transcript)[0]
        self.private_release_ = not transcript.experiment
        if self.fit_intercept:
            weights = weights / np.sqrt(2)
            return np.append(weights[:-1] / self.row_bound, weights[-1])
        return np.append(weights / self.row_bound, 0.0)

    def _records(self, rows: Array, y: Array, nodes: int) -> Records:
        from dpcalc.algorithms.problems.records import split

        # The order is public; dealing in a shuffled one keeps sorted labels from one node.
        return split(rows, y, nodes, shuffle=0)

    @property
    def certified_(self) -> float:
        """ε that was spent; see the attributes of the class."""
        if "_certified" not in vars(self):
            raise AttributeError("certified_ is known after fit")
        accountant = shared(self.accountant)
        return self._certified if accountant is None else accountant.epsilon_spent()

    def _account(self, ready: Plan, records: ArrayLike | None, rows: int) -> None:
        theorem = ready.theorem
        if theorem is None:
            raise InvalidInput(f"a private method was needed; got method={ready.method.key!r}")
        from dpcalc.theorems.base import Scope

        if records is not None and np.size(records) != rows:
            raise InvalidInput(
                f"records needs one number per row; got {np.size(records)} for {rows} rows"
            )
        accountant = shared(self.accountant)
        if accountant is not None:
            relation = ready.relation.name
            accountant.charge(theorem.certified().guarantee.under(relation), records)
        self.plan_ = ready.theorem
        self.budget_ = {"epsilon": self.epsilon, "delta": self.delta}
        self._certified = ready.certified
        self.adjacency_, self.release_ = ready.relation.name, theorem.release.value
        self.claimed_ = ready.claimed
        self.promises_ = [a.text for a in theorem.unattested(Scope.CERTIFIED)]
        if accountant is not None:
            self.promises_.append(FOLDS)
        self.n_iter_ = ready.algorithm.rounds

    def _scores(self, X: ArrayLike) -> Array:
        """The linear function at rows shortened as those of `fit` were."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        from dpcalc.algorithms.problems.records import bounded_rows

        short = bounded_rows(rows, "rescale", bound=self.row_bound)
        return np.asarray(short @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def __sklearn_tags__(self) -> Any:
        """Noise for a budget makes small data sets hopeless, and every fit another one."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """Two classes, by the sign of a linear function. The set of classes is taken as public."""

    def fit(self, X: ArrayLike, y: ArrayLike, records: ArrayLike | None = None) -> Self:
        """Spend the budget on these records.

        Args:
            X: shape (n, d).
            y: two different labels; shape (n,).
            records: public numbers of the records, for an accountant to tell folds apart; any
                record may be among them if left out.

        Raises:
            InvalidInput: if the labels are not of two classes, or a parameter is out of range.
            Infeasible: if no noise meets the budget; says what to change.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"two classes were needed; got one class, {self.classes_[0]!r}: with it alone "
                "there is nothing to learn"
            )
        if len(self.classes_) > 2:
            raise InvalidInput(
                f"Only binary classification is supported. The type of the target is multiclass; "
                f"got {len(self.classes_)} classes; fit one model per class and add up the budgets"
            )
        weights = self._fitted(rows, np.where(codes == 1, 1.0, -1.0), records)
        self.coef_, self.intercept_ = weights[None, :-1], weights[-1:]
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """The linear function; positive for the second class. Shape (n,)."""
        return self._scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row; shape (n,)."""
        scores = self._scores(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A number, by a linear function of the row.

    Args:
        label_bound: a public number; labels are clipped to ±label_bound.
    """

    label_bound: float = 1.0

    def fit(self, X: ArrayLike, y: ArrayLike, records: ArrayLike | None = None) -> Self:
        """Spend the budget on these records.

        Args:
            X: shape (n, d).
            y: numbers; clipped to ±``label_bound``. Shape (n,).
            records: see `PrivateClassifier.fit`.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        checks.positive("label_bound", self.label_bound)
        scaled = np.clip(np.asarray(labels / self.label_bound, dtype=np.float64), -1, 1)
        weights = self._fitted(rows, scaled, records) * self.label_bound
        self.coef_, self.intercept_ = weights[:-1], float(weights[-1])
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The linear function; shape (n,)."""
        return self._scores(X)

    def __sklearn_tags__(self) -> Any:
        """Scores of a small data set say nothing."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _seed(random_state: Any) -> int | np.random.Generator | None:
    """scikit-learn's random_state as a seed; None stays None: the operating system's source."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    raise InvalidInput(
        f"random_state needs None, an integer or a generator; got random_state={random_state!r}"
    )
