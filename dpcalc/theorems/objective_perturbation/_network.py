"""What the objective-perturbation results share: a network, its schedules and their cost."""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dpcalc import checks
from dpcalc.errors import AssumptionViolated, Infeasible, InvalidInput
from dpcalc.guarantees import Guarantee, PureDP, WorstOf, compose
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.numerics.rounding import extended, inflate
from dpcalc.theorems.base import Assumption, Bound, Finding, Scope, Theorem
from dpcalc.theorems.objective_perturbation._degrees import check_degrees
from dpcalc.theorems.objective_perturbation._update import (
    OPERATIONS,
    Values,
    cost_of_any_loss,
    cost_of_logistic_loss,
    curvature_share,
    gradient_cost,
)
from dpcalc.theorems.parameters import choice, count, number, schedule
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency, Bearing, Release

NodeCosts = list[tuple[tuple[float, int], ...]]
"""For every node that may differ the costs of its noisy rounds, with how many have each."""

_MOST_NODES = 100_000


def _neighbours(name: str, value: float) -> int:
    return checks.count(name, value, hint="try 1 or more")


def _decreasing(theorem: NetworkTheorem) -> str | None:
    rows = [row for row, _ in theorem.penalty.rounds("penalty", theorem.rounds, theorem.cases)]
    for t, (before, after) in enumerate(itertools.pairwise(rows), start=2):
        if any(y < x for x, y in zip(before, after, strict=True)):
            return (
                f"penalties must not decrease; round {t} has {min(after):.6g} after "
                f"{max(before):.6g}; try a factor of 1 or above"
            )
    return None


def _beyond(theorem: NetworkTheorem) -> bool:
    records = theorem.n_records.nodes("n_records", theorem.cases)
    return theorem.loss_weight > min(records) or theorem.regularization == 0


BEYOND = Finding(
    "The paper takes C <= B_i at every node and ρ > 0; this instance does not, so its formula is read "
    "beyond its conditions. The certified bound needs neither.",
    Bearing.REMARK,
    _beyond,
)

PROMISES = (
    Assumption(
        "row-norms", "Every feature vector has Euclidean norm at most 1 and every label is ±1."
    ),
    Assumption(
        "data-independent-scaling",
        "Features are scaled by constants that do not depend on the data "
        "(column maxima over all records do).",
    ),
    Assumption(
        "public-parameters",
        "Penalties, noise rates, record counts, regularisation and starting points do not depend "
        "on the data.",
    ),
    Assumption(
        "exact-minimiser",
        "Every primal update is the exact minimiser; an inexact one voids the bijection.",
    ),
    Assumption(
        "loss",
        "The loss is convex and twice differentiable with |L'| <= 1 and L'' at most the curvature; "
        "the regulariser is 1-strongly convex.",
    ),
)
"""What only the caller can vouch for."""

INCREASING = Assumption(
    "penalties-increase",
    "Penalties do not decrease from round to round.",
    Scope.CLAIMED,
    _decreasing,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkTheorem(Theorem):
    """Nodes that release every noisy primal update; the record may sit at any of them."""

    releases: ClassVar[tuple[Release, ...]] = (Release.EVERY_ITERATE,)
    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    noise: ClassVar[str] = "noise_rate"
    less_is_private: ClassVar[bool] = True

    n_records: Schedule = schedule(
        "records per node, B; a number or one per node", check=checks.count
    )
    n_nodes: int = count("nodes in the network, N")
    degree: Schedule = schedule(
        "neighbours of a node, V: one number, the fewest that any node has, or one per node",
        check=_neighbours,
    )
    loss_weight: float = number("weight of the loss in the objective, C")
    regularization: float = number("weight of the regulariser, ρ", check=checks.non_negative)
    penalty: Schedule = schedule("penalty per noisy round, η")
    noise_rate: Schedule = schedule("rate of the noise density exp(-α|b|) per noisy round, α")
    rounds: int = count("noisy rounds, T or K")
    loss: str = choice("loss function", ("logistic", "general"), default="logistic")
    curvature: float | None = number(
        "largest second derivative of the loss, c₁ (1/4 for the logistic loss)", default=None
    )
    attest: Iterable[str] = dataclasses.field(default=())

    def _check_together(self) -> None:
        if self.curvature is None:
            if self.loss == "general":
                raise InvalidInput("loss general needs its curvature c₁; try --curvature 0.25")
            object.__setattr__(self, "curvature", 0.25)
        if self.loss == "logistic" and self.curvature != 0.25:
            raise InvalidInput(
                f"the logistic loss has curvature 0.25; got curvature={self.curvature!r}; "
                "try --loss general"
            )
        if self.cases > _MOST_NODES:
            raise InvalidInput(
                f"at most {_MOST_NODES} nodes that differ are taken one by one; got "
                f"n_nodes={self.n_nodes}; try the same number for all nodes"
            )
        self.n_records.nodes("n_records", self.cases)
        for degree in self.degree.nodes("degree", self.cases):
            if degree >= self.n_nodes:
                raise InvalidInput(
                    f"degree needs to be below n_nodes; got degree={degree:g}, "
                    f"n_nodes={self.n_nodes}; a node is not its own neighbour"
                )
        if len(self.degree.values) > 1:
            check_degrees("degree", self.degree.nodes("degree", self.n_nodes))
        self.penalty.rounds("penalty", self.rounds, self.cases)
        self.noise_rate.rounds("noise_rate", self.rounds, self.cases)

    @property
    def cases(self) -> int:
        """Nodes that may differ: 1 if every number is the same at all of them, otherwise N."""
        fixed = any(len(s.table) > 1 or s.width > 1 for s in (self.n_records, self.degree))
        varied = any(s.width > 1 for s in (self.penalty, self.noise_rate))
        return self.n_nodes if fixed or varied else 1

    @property
    def largest_curvature(self) -> float:
        """c₁, 1/4 for the logistic loss."""
        return 0.25 if self.curvature is None else self.curvature

    @abstractmethod
    def _effective_rate(self, noise_rate: Values, pull: Values) -> Values:
        """Rate of the effective linear noise; ``pull`` is ηV."""

    @abstractmethod
    def _claimed_terms(self, noise_rate: Values, pull: Values, n_records: Values) -> Values:
        """What the paper charges for one noisy round."""

    def claimed(self) -> Bound:
        """Max over nodes of the sum over rounds of the printed terms."""
        self.require(Scope.CLAIMED)
        totals = [self._total(costs) for costs in self._costs(self._claimed_terms)]
        worst = int(np.argmax(totals))
        beta = totals[worst]
        return Bound(PureDP(beta), {"beta": beta, "worst_node": worst + 1}, "printed formula")

    def certified(self) -> Bound:
        """Rounds compose adaptively: by the sum at δ = 0, optimally above it."""
        self.require(Scope.CERTIFIED)
        nodes = self._costs(self._update_cost)
        totals = [self._total(costs) for costs in nodes]
        worst = int(np.argmax(totals))
        guarantee = _over_nodes(nodes)
        numbers = {"beta": totals[worst], "worst_node": worst + 1}
        return Bound(
            guarantee, numbers, "Jacobian bound per round, optimal composition over rounds"
        )

    def _update_cost(self, noise_rate: Values, pull: Values, n_records: Values) -> Values:
        a = gradient_cost(self._effective_rate(noise_rate, pull), self.loss_weight, n_records)
        kappa = curvature_share(
            self.loss_weight, n_records, self.regularization, self.n_nodes, pull
        )
        if self.loss == "logistic":
            return cost_of_logistic_loss(a, kappa)
        return cost_of_any_loss(a, kappa, self.largest_curvature)

    def _costs(self, cost: Callable[[Values, Values, Values], Values]) -> NodeCosts:
        """The cost of every noisy round at every node, rounded up, equal rounds counted."""
        records = extended(self.n_records.nodes("n_records", self.cases))
        degrees = extended(self.degree.nodes("degree", self.cases))
        penalties, rates, counts = self._aligned()
        values = cost(extended(rates), extended(penalties) * degrees, records)
        rounded = [[inflate(x, OPERATIONS) for x in row] for row in values]
        return [
            tuple((row[i], n) for row, n in zip(rounded, counts, strict=True))
            for i in range(self.cases)
        ]

    def _aligned(self) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]], list[int]]:
        """Rows of penalties and noise rates side by side, with how many rounds each serves."""
        penalties = self.penalty.rounds("penalty", self.rounds, self.cases)
        rates = self.noise_rate.rounds("noise_rate", self.rounds, self.cases)
        if len(penalties) == 1:
            return [penalties[0][0]] * len(rates), [r for r, _ in rates], [n for _, n in rates]
        if len(rates) == 1:
            return (
                [p for p, _ in penalties],
                [rates[0][0]] * len(penalties),
                [n for _, n in penalties],
            )
        return [p for p, _ in penalties], [r for r, _ in rates], [1] * self.rounds

    @staticmethod
    def _total(costs: Sequence[tuple[float, int]]) -> float:
        total = mpf(0)
        for cost, n in costs:
            total += mpf(cost) * n
        return round_up(total)

    def _level_for(self, beta: float, total: Callable[[Self], float], what: str) -> Self:
        """The instance with the largest noise rate whose total is at most β; totals are affine."""
        at_zero = total(self.with_noise_level(1e-300))
        if not at_zero < beta:
            raise Infeasible(
                f"the {what} charges {at_zero:.6g} even without the noise term; the budget is "
                f"{beta:.6g}; try a larger penalty, fewer rounds or a smaller loss weight"
            )
        slope = total(self.with_noise_level(1.0)) - at_zero
        level = (beta - at_zero) / slope
        found = self.with_noise_level(level)
        while total(found) > beta:
            level = math.nextafter(level * (1 - 1e-15), 0.0)
            found = self.with_noise_level(level)
        return found

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """The largest noise rate whose printed β is at most ε; δ plays no part."""
        del delta
        return self._level_for(
            epsilon, lambda theorem: theorem.claimed().numbers["beta"], "printed formula"
        )

    def noise_tolerance(self) -> float:
        """Equal rounds are summed up exactly; others compose to nine digits or so."""
        equal = self.penalty.constant and self.noise_rate.constant
        return Theorem.noise_tolerance(self) if equal else 1e-8

    def remedy(self, epsilon: float, delta: float) -> str:
        """Which penalty, loss weight or number of rounds would make a budget feasible."""
        silent = self.with_noise_level(1e-300)
        tries: list[str] = []
        for name, direction in (("penalty", 2.0), ("loss_weight", 0.5), ("rounds", 0.5)):
            found = _first_feasible(silent, name, direction, epsilon, delta)
            if found is not None:
                tries.append(f"{name.replace('_', '-')} {found:.4g}")
        return " or ".join(tries) if tries else "a larger epsilon or delta"


def _first_feasible(
    theorem: NetworkTheorem, name: str, factor: float, epsilon: float, delta: float
) -> float | None:
    """A value of one parameter at which no noise term would leave room in the budget."""
    value: Any = getattr(theorem, name)
    for _ in range(40):
        if isinstance(value, Schedule):
            value = value.scaled(value.first * factor)
        else:
            value = max(1, int(value * factor)) if name == "rounds" else value * factor
        try:
            if (
                theorem.replace(**{name: value}).certified().guarantee.epsilon(delta)
                < 0.9 * epsilon
            ):
                return value.first if isinstance(value, Schedule) else float(value)
        except (InvalidInput, AssumptionViolated):
            return None
        if name == "rounds" and value == 1:
            return None
    return None


def _over_nodes(nodes: NodeCosts) -> Guarantee:
    """The worst node's composition; nodes that another one exceeds in every round are left out."""
    distinct: dict[tuple[tuple[float, int], ...], int] = {}
    for i, costs in enumerate(nodes):
        distinct.setdefault(costs, i + 1)
    kept = [
        (label, costs)
        for costs, label in distinct.items()
        if not any(_exceeds(other, costs) for other in distinct if other is not costs)
    ]
    cases = tuple(
        (label, compose([(PureDP(cost), n) for cost, n in costs])) for label, costs in kept
    )
    return cases[0][1] if len(cases) == 1 else WorstOf(cases)


def _exceeds(larger: tuple[tuple[float, int], ...], smaller: tuple[tuple[float, int], ...]) -> bool:
    """Whether one node's cost is above another's in every round."""
    return all(x[0] >= y[0] for x, y in zip(larger, smaller, strict=True))
