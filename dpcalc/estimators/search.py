"""Parameters chosen within the budget: the best of a random number of fits.

Every trial takes one of the candidates at random, fits it on one part of the records and adds noise
to its accuracy on the other. A record is in one part only, so that a trial costs what the more
expensive of fit and score costs. How many trials there are is random and secret; the best one is
released, and nothing else (`dpcalc.guarantees.selection.RandomSelection`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpcalc import checks
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.estimators.budget import FOLDS, shared
from dpcalc.estimators.classifier import PrivateClassifier
from dpcalc.execution import in_order
from dpcalc.guarantees import GDP
from dpcalc.guarantees.selection import RandomSelection, stop_for
from dpcalc.numerics.arithmetic import own_arithmetic

if TYPE_CHECKING:
    from concurrent.futures import Executor

_HALVINGS = 40
_SLACK = 1e-9
"""A trial's ε is this much below what its μ allows, relatively, against rounding."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """One run before it is begun; only the best would be released.

    Attributes:
        parameters: the candidate that was drawn.
        seed: of the fit; None for the operating system's.
        noise: of its score, in units of its standard deviation.
    """

    parameters: dict[str, Any]
    seed: int | None
    noise: float


def _delegated(name: str) -> Any:
    """Whether the estimator that is searched has a method."""
    return lambda self: hasattr(self.estimator, name)


@dataclass(eq=False, repr=False)
class PrivateSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A search over parameters that the budget pays for, by random stopping.

    Source: Papernot and Steinke 2022, in the form proved in docs/theorems/private-selection.md.

    Example::

        import numpy as np
        from dpcalc.estimators import ADMMClassifier, PrivateSearchCV
        X = np.random.default_rng(0).normal(size=(500, 2))
        model = ADMMClassifier(delta=1e-5, row_bound=4, rounds=5)
        steps = {"step_size": [1.0, 4.0]}
        search = PrivateSearchCV(model, steps, epsilon=1, delta=1e-5, expected=2, random_state=0)
        print(search.fit(X, X[:, 0] > 0).best_params_)

    Args:
        estimator: a classifier of this package whose guarantee is Gaussian: `ADMMClassifier`, or
            `AveragingClassifier` with full batches. Its own budget is overwritten; an accountant of
            its own is refused, unless it is the search's.
        candidates: parameter -> values; every combination is a candidate.
        epsilon: ε of the whole search, the final model included.
        delta: δ of it, above 0.
        expected: mean number of trials, above 1.
        law: of the number of trials: logarithmic, which costs least, or geometric.
        held_out: share of the records that scores are computed from, in (0, 1).
        accountant: a `SharedAccountant` that the search is charged to, once.
        random_state: None for a private release; a seed makes an experiment.

    Attributes after `fit`:
        best_estimator_, best_params_: of the trial with the highest noisy score.
        best_score_: its accuracy on the held-out part, with noise.
        certified_: ε of all of it at δ; with an accountant, of all that was charged to it.
        budget_, adjacency_, private_release_, promises_: as for the estimators.
        guarantee_: of the whole search.
    """

    estimator: PrivateClassifier
    candidates: Mapping[str, Sequence[Any]]
    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    expected: float = 10.0
    law: str = "logarithmic"
    held_out: float = 0.2
    accountant: Any = None
    random_state: Any = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        records: ArrayLike | None = None,
        *,
        executor: Executor | None = None,
    ) -> Self:
        """Search, within the budget.

        Args:
            X: shape (n, d).
            y: two different labels; shape (n,).
            records: public numbers of the records, for an accountant.
            executor: who fits the trials, see `dpcalc.execution`; this process if left out. Of a real
                search every fit takes its key from the operating system where it is carried out.

        Raises:
            InvalidInput: if a parameter is out of range, or the estimator's noise is not Gaussian.
            Infeasible: if no noise meets the budget, or the accountant's does not hold it.
            WorkersLost: if a trial cannot be brought to its end; nothing is released then.
        """
        self._check_estimator()
        table: Any = X if hasattr(X, "shape") else np.asarray(X)
        table = table.tocsr() if issparse(table) else table
        labels, candidates = np.asarray(y), _combinations(self.candidates)
        order = np.random.default_rng(0).permutation(len(labels))
        cut = len(labels) - round(checks.probability("held_out", self.held_out) * len(labels))
        if not 1 < cut < len(labels):
            raise InvalidInput(
                f"expected records in both parts; got {len(labels)} with held_out={self.held_out!r}"
            )
        stop = stop_for(self.expected, self.law)
        mu = largest_mu(checks.positive("epsilon", self.epsilon), self.delta, stop, self.law)
        self.guarantee_ = RandomSelection(GDP(mu), stop, self.law).under("replace-one")
        if (accountant := shared(self.accountant)) is not None:
            accountant.charge(self.guarantee_, records)
        source = _source(self.random_state)
        parts = [(_rows(table, rows), labels[rows]) for rows in (order[:cut], order[cut:])]
        trials = []
        for _ in range(_runs(stop, self.law, source.random())):
            chosen = source.choice(candidates)
            seed = None if self.random_state is None else source.getrandbits(31)
            trials.append(_Trial(chosen, seed, source.gauss(0.0, 1.0)))
        work = partial(
            _fitted, clone(self.estimator).set_params(accountant=None), parts, mu, self.delta
        )
        fitted = in_order(work, trials, executor, what="trial")
        scale = 1 / (len(parts[1][1]) * mu)
        found = (
            (right + scale * trial.noise, trial, model)
            for trial, (right, model) in zip(trials, fitted, strict=True)
        )
        self._keep(*max(found, key=lambda entry: entry[0]))
        return self

    def _check_estimator(self) -> None:
        if not isinstance(self.estimator, PrivateClassifier):
            raise InvalidInput(
                "expected a private classifier of this package, such as ADMMClassifier(); got "
                f"{type(self.estimator).__name__}; transform the records before the search, by what "
                "is public"
            )
        own = self.estimator.accountant
        if own is not None and own is not self.accountant:
            raise InvalidInput(
                "expected the accountant that pays at the search, which is charged once for all of "
                "it; got one at its estimator; try PrivateSearchCV(..., accountant=...)"
            )

    def _keep(self, score: float, trial: _Trial, model: Any) -> None:
        self.best_estimator_, self.best_params_ = model, trial.parameters
        self.best_score_, self.classes_ = score, model.classes_
        self.n_features_in_ = model.n_features_in_
        self.budget_ = {"epsilon": self.epsilon, "delta": self.delta}
        model.guarantee_, model.budget_, model.claimed_ = self.guarantee_, self.budget_, None
        model._certified = self.guarantee_.epsilon(self.delta)  # noqa: SLF001 - all trials paid for it
        model._charged_to = shared(self.accountant)  # noqa: SLF001
        self.adjacency_ = "replace-one"
        self.private_release_ = self.random_state is None
        self.promises_ = [*model.promises_, *([] if self.accountant is None else [FOLDS])]

    @property
    def certified_(self) -> float:
        """ε that was spent; see the attributes of the class."""
        if "best_estimator_" not in vars(self):
            raise AttributeError("certified_ is known after fit")
        return self.best_estimator_.certified_

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row, by the best model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(_delegated("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """That of the best model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_delegated("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """That of the best model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))


@own_arithmetic
def _fitted(
    estimator: PrivateClassifier, parts: list[Any], mu: float, delta: float, trial: _Trial
) -> tuple[float, Any]:
    """One fit and its accuracy; with noise, both are μ-GDP, and no record is in both."""
    (X, y), (X_test, y_test) = parts
    budget = {"epsilon": GDP(mu).epsilon(delta) * (1 - _SLACK), "delta": delta}
    model = clone(estimator).set_params(**trial.parameters, **budget, random_state=trial.seed)
    model.fit(X, y)
    guarantee = model.guarantee_
    if not (isinstance(guarantee, GDP) and guarantee.mu <= mu):
        raise InvalidInput(
            "expected an estimator with Gaussian noise, such as ADMMClassifier or "
            f"AveragingClassifier with full batches; got {type(estimator).__name__}, whose guarantee "
            f"is {type(guarantee).__name__}"
        )
    return float(np.mean(model.predict(X_test) == y_test)), model


def largest_mu(epsilon: float, delta: float, stop: float, law: str) -> float:
    """The μ of one trial at which the whole search is (ε, δ)-DP, to a few digits, below it.

    Raises:
        Infeasible: if there is none.
    """
    checks.proper_delta(delta)

    def fits(mu: float) -> bool:
        return RandomSelection(GDP(mu), stop, law).epsilon(delta) <= epsilon

    low, high = 1e-9, 1.0
    if not fits(low):
        raise Infeasible(
            f"expected a budget for a search; got epsilon={epsilon:g}, delta={delta:g}; try a larger "
            "epsilon, or a smaller expected number of trials"
        )
    while fits(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not GDP(low).epsilon(delta) > 0:
        raise Infeasible(
            f"expected a budget that leaves each trial an epsilon above 0; got epsilon={epsilon:g}, "
            f"delta={delta:g}; try a larger epsilon"
        )
    return low


def _runs(stop: float, law: str, uniform: float) -> int:
    """K, by inversion."""
    k, term = 1, (1 - stop) / -np.log(stop) if law == "logarithmic" else stop
    reached = term
    while uniform > reached and term > 0:
        term *= (1 - stop) * (k / (k + 1) if law == "logarithmic" else 1)
        k, reached = k + 1, reached + term
    return k


def _combinations(candidates: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    found = [
        dict(zip(candidates, values, strict=True))
        for values in itertools.product(*(list(known) for known in candidates.values()))
    ]
    taken = {"epsilon", "delta", "accountant", "random_state"} & set(candidates)
    if taken or not found or not candidates:
        raise InvalidInput(
            "candidates needs values of parameters other than the budget's; got "
            f"{', '.join(sorted(candidates)) or 'none'}; try {{'rounds': [50, 100]}}"
        )
    return found


def _source(random_state: Any) -> random.Random:
    """Random numbers of the operating system, or of a seed."""
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        random_state = int.from_bytes(random_state.bytes(16))
    return random.SystemRandom() if random_state is None else random.Random(random_state)


def _rows(table: Any, rows: NDArray[np.intp]) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]
