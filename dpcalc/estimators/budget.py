"""One budget for many fits: an accountant that clones share.

    budget = SharedAccountant(epsilon=3, delta=1e-6)
    model = ADMMClassifier(epsilon=0.5, delta=1e-6, accountant=budget)
    GridSearchCV(model, {"l1": [0, 1e-3]}, cv=KFold(3)).fit(X, y)
    budget.epsilon_spent()

Statement
    The models of all fits together are (ε, δ)-DP with what `epsilon_spent` says. A fit without
    ``records`` may have seen any record. Fits that name their records compose in parallel: a record
    pays for the fits it is in, and the record that pays most decides.
Promises
    Which records a fit sees must not depend on what is in them. Folds by position (KFold,
    ShuffleSplit) keep that; folds by label (StratifiedKFold, scikit-learn's default for classifiers)
    do not: one record replaced moves others between folds. Scores on held-out records, and a choice
    made by them, are looks that no fit pays for: `PrivateSearchCV` pays for its choice.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import GDP, Guarantee, WorstOf, compose

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Charge:
    """One release: its guarantee, and which records it may have seen; None for any."""

    guarantee: Guarantee
    records: Ids | None


class SharedAccountant:
    """What fits of estimators and their clones have spent of one budget.

    Example::

        import numpy as np
        from dpcalc.estimators import ADMMClassifier, SharedAccountant
        X = np.random.default_rng(0).normal(size=(500, 2))
        budget = SharedAccountant(epsilon=3, delta=1e-5)
        ADMMClassifier(epsilon=1, delta=1e-5, row_bound=4, accountant=budget).fit(X, X[:, 0] > 0)
        print(budget.epsilon_spent())

    Args:
        epsilon: of the budget; infinite to count only.
        delta: of the budget, in [0, 1).

    It belongs to the process that made it: a copy in another one would count for itself, so that
    pickling is refused; use ``n_jobs=1`` or threads.
    """

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon = checks.non_negative_or_infinite("epsilon", epsilon)
        self.delta = checks.delta(delta)
        self._charges: tuple[_Charge, ...] = ()
        self._lock = threading.Lock()

    def charge(self, guarantee: Guarantee, records: ArrayLike | None = None) -> None:
        """Count a release before it is made; nothing is counted if it does not fit.

        Args:
            guarantee: of the release.
            records: numbers of the records it may see, each once; any record if left out.

        Raises:
            Infeasible: if the budget does not hold it.
            InvalidInput: for records that are not different whole numbers, or a guarantee under
                another neighbouring relation than those before.
        """
        ids = None if records is None else _ids(records)
        with self._lock:
            self._check_relation(guarantee)
            after = (*self._charges, _Charge(guarantee, ids))
            spent = _total(after).epsilon(self.delta)
            if not spent <= self.epsilon:
                raise Infeasible(
                    f"expected a budget that holds one more release; it would spend {spent:.6g} of "
                    f"epsilon={self.epsilon:.6g} at delta={self.delta:g} after "
                    f"{len(self._charges)} releases; fit less often, with a smaller epsilon each, or "
                    "give the accountant more"
                )
            self._charges = after

    def _check_relation(self, guarantee: Guarantee) -> None:
        known = {str(c.guarantee.adjacency) for c in self._charges if c.guarantee.adjacency}
        if guarantee.adjacency and known - {str(guarantee.adjacency)}:
            raise InvalidInput(
                "expected one neighbouring relation for all releases; got "
                f"{guarantee.adjacency} after {', '.join(known)}"
            )

    @property
    def releases(self) -> int:
        """How many there were."""
        return len(self._charges)

    def total(self) -> Guarantee:
        """The guarantee of all releases together."""
        return _total(self._charges)

    def epsilon_spent(self) -> float:
        """A certified ε of all releases together, at the budget's δ."""
        return self.total().epsilon(self.delta)

    def __repr__(self) -> str:
        """The budget and the number of releases."""
        return (
            f"SharedAccountant(epsilon={self.epsilon:g}, delta={self.delta:g}) # "
            f"{self.releases} releases"
        )

    def __copy__(self) -> Self:
        """Itself: a budget is not doubled by copying it."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Itself, so that clones of an estimator share it."""
        return self

    def __sklearn_clone__(self) -> Self:
        """Itself, so that clones of an estimator share it."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refused: another process would count for itself."""
        raise InvalidInput(
            "expected one process for one budget; got an accountant to be pickled; use n_jobs=1, or "
            "joblib.parallel_config('threading'); save a fitted model after set_params(accountant=None)"
        )


def _total(charges: tuple[_Charge, ...]) -> Guarantee:
    """Composition over the charges that may have seen a record, for the record that pays most."""
    if not charges:
        return GDP(0.0)
    named = [charge.records for charge in charges if charge.records is not None]
    if not named:
        return _composed(list(charges))
    everyone = np.unique(np.concatenate(named))
    member = np.array(
        [
            np.ones(len(everyone), bool) if c.records is None else np.isin(everyone, c.records)
            for c in charges
        ]
    )
    patterns: Any = np.unique(member, axis=1).T
    kept = [p for p in patterns if not any((p <= q).all() and (p < q).any() for q in patterns)]
    cases = [_composed([c for c, seen in zip(charges, p, strict=True) if seen]) for p in kept]
    if len(cases) == 1:
        return cases[0]
    return WorstOf(tuple(enumerate(cases)))


def _composed(charges: list[_Charge]) -> Guarantee:
    counted: list[tuple[Guarantee, int]] = []
    for charge in charges:
        for k, (known, count) in enumerate(counted):
            if known == charge.guarantee:
                counted[k] = (known, count + 1)
                break
        else:
            counted.append((charge.guarantee, 1))
    return compose(*counted)


def _ids(records: ArrayLike) -> Ids:
    found = np.asarray(records)
    if found.ndim != 1 or found.dtype.kind not in "iu" or len(np.unique(found)) < len(found):
        raise InvalidInput(
            "records needs different whole numbers, one per row; got an array of "
            f"shape={found.shape!r} and type {found.dtype}; try np.arange(len(X))"
        )
    return found.astype(np.int64)


def shared(accountant: Any) -> SharedAccountant | None:
    """An estimator's accountant, or the error that says what one is."""
    if accountant is None or isinstance(accountant, SharedAccountant):
        return accountant
    raise InvalidInput(
        f"accountant needs a SharedAccountant or None; got {type(accountant).__name__}; try "
        "SharedAccountant(epsilon=3, delta=1e-6)"
    )


def without_accountant(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state of a fitted model to save, with what it cost in the place of who counted that.

    As long as the accountant is the model's own it is part of the state, and refuses to be saved.
    """
    charged_to = state.get("_charged_to")
    if charged_to is None or model.accountant is not None:
        return state
    return {**state, "_charged_to": None, "_certified": charged_to.epsilon_spent()}


FOLDS = (
    "Which records a fit sees does not depend on what is in them (folds by position, not by label), "
    "and nothing was chosen by scores on these records, other than by PrivateSearchCV."
)
"""What an accountant cannot see."""
