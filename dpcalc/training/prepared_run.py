"""From a method, data and a budget to an algorithm that may be run.

The noise is calibrated through the theorem's certified bound, on the safe side: the run's
certified ε at δ is at most the budget's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.accounting.enclosure import relative_width
from dpcalc.calibration import smallest_noise
from dpcalc.claims.relations import NO_RELATION, Basis, Relation, relation_of
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.kept import kept_within
from dpcalc.theorems.parameters import default_of, parameters
from dpcalc.training.method import Budget, is_loss
from dpcalc.vocabulary import Release

__all__ = [
    "PreparedRun",
    "prepare",
]

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.data.dataset import Units
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.noise import Seed
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.store import Store
    from dpcalc.theorems.base import Theorem
    from dpcalc.training.method import Method
    from dpcalc.transcript import Transcript


_BETWEEN_SAVES = 1.0
"""Seconds of work that an interruption may cost; a save waits for the disk, a round hardly takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A calibrated run that has not started.

    Attributes:
        method: with every open parameter set from public information.
        algorithm: with its data and its noise.
        theorem: calibrated; None for a method without noise.
        budget: what may be spent; None for a method without noise.
        records: what it is run on.
        network: of nodes; None for one place.
        asked: the method as it was before its open parameters were set.
        said: names of parameters that the caller chose, even where they equal the defaults.
    """

    method: Method
    algorithm: Algorithm
    theorem: Theorem | None
    budget: Budget | None
    records: Records
    network: Network | None
    asked: Method
    said: frozenset[str] = frozenset()

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of the budget; where the method has a choice, its default."""
        if self.theorem is None:
            return NO_RELATION
        if "adjacency" not in parameters(type(self.method)):
            return replace(relation_of(self.theorem, stated=True), basis=Basis.ONLY)
        usual = default_of(type(self.method), "adjacency")
        chosen = "adjacency" in self.said or self.method.inputs()["adjacency"] != usual
        return relation_of(self.theorem, stated=chosen)

    @property
    def certified(self) -> float:
        """ε of one run at the budget's δ; infinite without noise."""
        if self.theorem is None or self.budget is None:
            return math.inf
        return self.theorem.certified().guarantee.epsilon(self.budget.delta)

    @property
    def claimed(self) -> float | None:
        """What the paper would say the same run spends; None where it says nothing."""
        if self.theorem is None or self.budget is None:
            return None
        try:
            return self.theorem.claimed().guarantee.epsilon(self.budget.delta)
        except AssumptionViolated:
            return None

    def run(
        self,
        rng: Seed = None,
        *,
        runs: int = 1,
        first_run: int = 0,
        full_release: bool = False,
        measure_every: int = 0,
        progress: Callable[[int, int], None] | None = None,
        checkpoint: str | os.PathLike[str] | Store | None = None,
    ) -> Transcript:
        """Run it.

        Args:
            rng: a seed for experiments; None takes 256 bits from the operating system.
            runs: independent runs at once; each spends the budget. For many see
                `dpcalc.training.repetition`.
            first_run: number of the first.
            full_release: keep all that the theorem's adversary sees, instead of the end alone.
            measure_every: rounds between two looks at objective and consensus, which are no part of
                the release; 0 for none.
            progress: called with (rounds done, rounds).
            checkpoint: a file, or a section of an open store, to resume from and to save to; as
                secret as the data.
        """
        release = Release.LAST_ITERATE
        full_release = full_release or self.method.uses_every_round
        if full_release and (self.theorem is None or self.theorem.release != release):
            release = self.algorithm.full_release
        return self.algorithm.run(
            rng,
            runs=runs,
            first_run=first_run,
            release=release,
            diagnostics=measure_every,
            progress=progress,
            checkpoint=checkpoint,
            checkpoint_every=1,
            checkpoint_seconds=_BETWEEN_SAVES,
        )


@own_arithmetic
def prepare(
    method: Method,
    records: Records,
    *,
    network: Network | None = None,
    budget: Budget | None = None,
    said: Iterable[str] = (),
    units: Units | None = None,
) -> PreparedRun:
    """A method made ready for data and a budget.

    Args:
        method: parameters may be left open.
        records: dealt out to as many nodes as the network has.
        network: None for a method that keeps all records in one place.
        budget: (ε, δ) of one run; None for a method without noise.
        said: names of the method's parameters that the caller chose, for the answer to say so.
        units: what the labels' numbers were before their range scaled them, for errors.

    Raises:
        InvalidInput: if a private method has no budget, or another one has one.
        Infeasible: if no noise meets the budget; says what to change.
        AssumptionViolated: if the theorem does not cover these parameters.
    """
    if method.theorem_key is None and budget is not None:
        raise InvalidInput(
            f"{method.key} adds no noise, so it meets no budget; got epsilon={budget.epsilon:g}; "
            "leave --epsilon out or take a private method"
        )
    if budget is not None:
        budget = budget.checked()
    _check_labels(method, records, units)
    asked, method = method, method.resolved(records, network, budget)
    calibrated = None
    if budget is not None:
        calibrated = _calibrated(method, records, network, budget)
    algorithm = method.algorithm(records, network, calibrated)
    return PreparedRun(
        method=method,
        algorithm=algorithm,
        theorem=calibrated,
        budget=budget,
        records=records,
        network=network,
        asked=asked,
        said=frozenset(said),
    )


def _check_labels(method: Method, records: Records, units: Units | None) -> None:
    """Refuse numbers to predict where the loss needs two classes, with the loss that takes them."""
    loss = getattr(method, "loss", "logistic")  # the network methods know no other
    if is_loss(loss):
        takes_numbers, loss = not loss.of_margin, loss.name
    else:
        takes_numbers = loss in _REGRESSIONS
    if takes_numbers or np.isin(records.labels, (-1.0, 1.0)).all():
        return
    known = parameters(type(method)).get("loss")
    takes = [name for name in _REGRESSIONS if known is not None and name in known.choices]
    hint = f"--loss {takes[0]}" if takes else "dpcalc run dp-admm --loss huber"
    found = np.unique(records.labels)
    ends, clipped = found[[0, -1]], ""
    if units is not None:
        ends, clipped = units.label_shift + units.label * ends, " once clipped to their range"
    raise InvalidInput(
        f"expected labels +1 or -1 by loss={loss!r} of {method.key}; got {len(found)} different "
        f"labels from {ends[0]:.4g} to {ends[1]:.4g}{clipped}; for numbers to predict "
        f"try {hint}, for classes name the one that becomes +1: --positive VALUE"
    )


_REGRESSIONS = ("huber", "squared")
"""Losses of the difference between answer and label."""


def _calibrated(
    method: Method, records: Records, network: Network | None, budget: Budget
) -> Theorem:
    start = method.theorem(records, network)
    if start is None:
        raise RuntimeError(f"{method.key} names a theorem and does not give it")
    at_zero = start.certified().guarantee.epsilon(0.0)
    if budget.delta == 0 and math.isinf(at_zero):
        raise InvalidInput(
            f"{method.key} adds Gaussian noise, which needs a delta above 0; got delta=0; "
            "try --delta 1e-6, or less than one over the number of records"
        )
    return _smallest(start, repr(start), relative_width(), budget.epsilon, budget.delta)


@kept_within(2**22)
def _smallest(start: Theorem, written: str, width: float, epsilon: float, delta: float) -> Theorem:
    """The noise of a theorem for a budget, kept: folds and repetitions of a fit ask for the same.

    Args:
        start: a theorem.
        written: it in words, since 1 and 1.0 are equal and are not written alike.
        width: of enclosures where it is asked for.
        epsilon: see `Budget`.
        delta: see `Budget`.
    """
    del written, width  # they tell questions apart
    return smallest_noise(start, epsilon, delta)
