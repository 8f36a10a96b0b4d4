"""What the estimators share: rows to public bounds, a calibrated run, and what it spent."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcalc import checks
from dpcalc.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpcalc.algorithms.problems.records import dealing_order, split, unit_rows
from dpcalc.errors import InvalidInput
from dpcalc.estimators.budget import FOLDS, shared, without_accountant
from dpcalc.guarantees.composition import compose
from dpcalc.training.catalogue import method
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import PreparedRun, prepare

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.noise import Seed
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.training.method import Method

Array = NDArray[np.float64]

FLOATS = (np.float64, np.float32)
"""Types of numbers that rows are taken in as they are."""


# Parameters are dataclass fields: a class and its parents write the constructor that scikit-learn
# reads parameters from. Estimators are compared by identity and shown by scikit-learn.
@dataclass(eq=False, repr=False)
class PrivateLinearModel(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A linear model fitted with noise for an (ε, δ) budget.

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget.
        row_bound: a public number; longer rows are shortened to it. Columns in natural units drown
            one another: scale them by public ranges first (`dpcalc.training.schema`).
        fit_intercept: whether a constant column is added.
        accountant: a `SharedAccountant` that fits of this estimator and of its clones are charged to;
            a fit that it does not hold is refused. None for none.
        random_state: None for a private release. A seed makes an experiment that can be repeated;
            fits with one seed on neighbouring data share their noise, which hides nothing.

    Attributes after `fit`:
        coef_: shape (n_features,) for a regressor, (models, n_features) for a classifier.
        intercept_: a number, or shape (models,).
        guarantee_: of the fit, at every δ.
        budget_: {"epsilon", "delta"} that was asked for.
        certified_: ε at that δ that the fit spent, certified; at most the budget's. Of a fit that was
            charged to an accountant ε, at its δ, of all that was charged to that one up to now.
        adjacency_: the neighbouring relation that these numbers are about.
        release_: what is released and covered by them.
        claimed_: ε that the paper would claim for the same noise; None where it claims nothing.
        private_release_: whether the fit is what certified_ speaks of; False with a random_state:
            an experiment, not a private release.
        promises_: what the bound rests on that only the caller can vouch for.
        plan_: the calibrated theorem of one model.
        n_iter_: rounds.
        notes_: what nobody has shown of the parameters, convergence among it; none about privacy.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    row_bound: float = 1.0
    fit_intercept: bool = True
    accountant: Any = None
    random_state: Any = None

    @abstractmethod
    def _method(self, n_records: int, dimension: int, budget: Budget) -> Method:
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

    def _network(self, n_records: int) -> Network | None:
        """The network that records are dealt out to; None for one place."""
        return None

    def _rows(self, X: Array) -> Array:
        """Rows with the intercept's column, shortened to the bound and divided by it.

        Every row is looked at alone, with public numbers, so nothing is spent.
        """
        return unit_rows(X, bound=self.row_bound, constant=self.fit_intercept)

    def _planned(self, X: Array, y: Array, budget: Budget | None = None) -> PreparedRun:
        """A calibrated run on rows as given, for the whole budget or for a part of it."""
        budget = (budget or Budget(self.epsilon, self.delta)).checked()
        checks.positive("row_bound", self.row_bound)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InvalidInput(
                f"fit_intercept needs True or False; got fit_intercept={self.fit_intercept!r}"
            )
        n_records, dimension = X.shape[0], X.shape[1] + self.fit_intercept
        network = self._network(n_records)
        return prepare(
            self._method(n_records, dimension, budget),
            self._dealt(X, y, network),
            network=network,
            budget=budget,
        )

    def _dealt(self, X: Array, y: Array, network: Network | None) -> Records:
        # The order is public; dealing in a shuffled one keeps sorted labels from one node.
        order = dealing_order(0, len(y))
        signs = y if self._of_margin() else None  # a loss of y·xᵀf: that row and label 1
        rows = unit_rows(
            X, bound=self.row_bound, constant=self.fit_intercept, order=order, signs=signs
        )
        labels = y[order] if signs is None else np.ones(len(y))
        return split(rows, labels, 1 if network is None else network.nodes)

    def _of_margin(self) -> bool:
        """Whether the loss is one of label times prediction, for labels ±1."""
        return False

    def _fitted(self, X: Array, targets: list[Array], records: ArrayLike | None) -> Array:
        """Weights of the rows as given, the intercept last, and the fitted attributes.

        Args:
            X: the rows.
            targets: labels of every model; all models share the budget.
            records: see `fit`.

        Returns:
            Shape (models, d + 1).
        """
        ready = self._planned_for_one(X, targets)
        self._account(ready, records, len(targets))
        weights, rest = [], {part.name: getattr(ready, part.name) for part in fields(ready)}
        del rest["records"], rest["algorithm"]
        for k, y in enumerate(targets):
            if k:
                del ready  # before the rows of the next model are made
                ready = self._prepared_again(X, y, rest)
            transcript = ready.run(_seed(self.random_state, k))
            weights.append(ready.method.weights(transcript)[0])
            self.private_release_ = not transcript.experiment
            del transcript
        found = np.array(weights)
        if self.fit_intercept:
            found = found / np.sqrt(2)
            return np.hstack([found[:, :-1] / self.row_bound, found[:, -1:]])
        return np.hstack([found / self.row_bound, np.zeros((len(found), 1))])

    def _prepared_again(self, X: Array, y: Array, rest: dict[str, Any]) -> PreparedRun:
        """That of another model of as many records and columns: the same method and noise."""
        dealt = self._dealt(X, y, rest["network"])
        model = rest["method"].algorithm(dealt, rest["network"], rest["theorem"])
        return PreparedRun(records=dealt, algorithm=model, **rest)

    def _planned_for_one(self, X: Array, targets: list[Array]) -> PreparedRun:
        """The first of several models that together keep to the budget."""
        models = len(targets)
        if models == 1:
            return self._planned(X, targets[0])
        epsilon = checks.positive("epsilon", self.epsilon) / models
        if checks.delta(self.delta) > 0:
            mu = gaussian_mu(self.epsilon, self.delta) / math.sqrt(models)
            epsilon = max(epsilon, gaussian_epsilon(mu, self.delta) * (1 - _ROUNDING))
        while True:
            ready = self._planned(X, targets[0], Budget(epsilon, self.delta))
            if ready.theorem is None:
                return ready
            spent = compose((ready.theorem.certified().guarantee, models)).epsilon(self.delta)
            if spent <= self.epsilon:
                return ready
            del ready  # before the rows are made again
            epsilon *= max(self.epsilon / spent, _LEAST) * (1 - _SPARED)

    @property
    def certified_(self) -> float:
        """ε that was spent; see the attributes of the class."""
        if "_certified" not in vars(self):
            raise AttributeError("certified_ is known after fit")
        return self._certified if self._charged_to is None else self._charged_to.epsilon_spent()

    def __getstate__(self) -> Any:
        """What is saved; without its accountant a model keeps what that one has counted so far."""
        return without_accountant(self, super().__getstate__())

    def _account(self, ready: PreparedRun, records: ArrayLike | None, models: int) -> None:
        theorem = ready.theorem
        if theorem is None:
            raise InvalidInput(f"expected a private method; got method={ready.method.key!r}")
        from dpcalc.theorems.base import Scope

        rows, relation = sum(ready.records.sizes), ready.relation.name
        if records is not None and np.size(records) != rows:
            raise InvalidInput(
                f"records needs one number per row; got {np.size(records)} for {rows} rows"
            )
        guarantee = theorem.certified().guarantee
        guarantee = (guarantee if models == 1 else compose((guarantee, models))).under(relation)
        if (accountant := shared(self.accountant)) is not None:
            accountant.charge(guarantee, records)
        self.plan_, self.guarantee_ = ready.theorem, guarantee
        self.budget_ = {"epsilon": self.epsilon, "delta": self.delta}
        self._certified, self._charged_to = guarantee.epsilon(checks.delta(self.delta)), accountant
        self.adjacency_, self.release_ = ready.relation.name, theorem.release.value
        self.claimed_ = ready.claimed if models == 1 else None
        self.promises_ = [a.text for a in theorem.unattested(Scope.CERTIFIED)] + [SCALING]
        if accountant is not None:
            self.promises_.append(FOLDS)
        self.n_iter_ = ready.algorithm.rounds
        self.notes_ = list(ready.method.notes(ready.network))

    def _scores(self, X: ArrayLike) -> Array:
        """The linear functions at rows shortened as those of `fit` were; shape (n, models)."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        longer = np.maximum(np.sqrt(_squares(rows)) / self.row_bound, 1.0)
        products = rows @ np.atleast_2d(self.coef_).T
        return np.asarray(products / longer[:, None] + np.ravel(self.intercept_))

    def __sklearn_tags__(self) -> Any:
        """Noise for a budget makes small data sets hopeless, and every fit another one."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags


SCALING = (
    "Numbers that columns were scaled by, and bounds of rows and labels, were set without a look at "
    "these records. What is longer is shortened to its bound."
)
"""What rows do not show."""

_AT_ONCE = 2**12  # rows whose squares are in memory at once


def _squares(rows: Any) -> Array:
    """Sums of squares of rows, which may lie in a mapped file that is larger than memory."""
    if issparse(rows):
        return np.ravel(rows.multiply(rows).sum(axis=1))
    found = np.empty(len(rows))
    for first in range(0, len(rows), _AT_ONCE):
        part = rows[first : first + _AT_ONCE]
        found[first : first + _AT_ONCE] = (part * part).sum(axis=1)
    return found


_ROUNDING = 1e-9
_LEAST, _SPARED = 0.5, 1e-3
"""All models spend about in proportion to one; with a little less the next budget mostly fits."""


def _seed(random_state: Any, model: int) -> Seed:
    """scikit-learn's random_state as a seed of one of several models.

    None stays None: the operating system's source.
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, numbers.Integral):
        return np.random.SeedSequence([int(random_state), model]) if model else int(random_state)
    raise InvalidInput(
        f"random_state needs None, an integer or a generator; got random_state={random_state!r}"
    )


def refuse_fit_parameters(model: Any, given: dict[str, Any]) -> None:
    """The error for what `fit` does not take; weights of None are none."""
    weights = given.pop("sample_weight", None)
    if given:
        raise TypeError(f"{type(model).__name__}.fit() takes no {', '.join(sorted(given))}")
    if weights is not None:
        raise InvalidInput(
            "expected records that all weigh the same: noise covers what one of them adds to a "
            "mean over a public number; got sample_weight; leave it out, or draw a sample of records "
            "by public weights and fit on that"
        )
