"""What the objective-perturbation results share: a network, its schedules and their cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from dpcalc import checks
from dpcalc.accounting.enclosure import TOLERANCE
from dpcalc.accounting.losses.exponential_norm import LARGEST_DIMENSION
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import PureDP
from dpcalc.numerics.rounding import deflate, extended, inflate
from dpcalc.theorems.authoring import Theorem, choice, count, number, theorem
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.objective_perturbation._budget import feasible_changes, largest_rate
from dpcalc.theorems.objective_perturbation._degrees import check_degrees
from dpcalc.theorems.objective_perturbation._rounds import (
    Noise,
    Round,
    Rounds,
    attained,
    largest_total,
    over_nodes,
)
from dpcalc.theorems.objective_perturbation._update import (
    OPERATIONS,
    Fixed,
    Values,
    cost_of_any_loss,
    cost_of_logistic_loss,
    curvature_share,
    gradient_cost,
)
from dpcalc.theorems.parameters import schedule
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency

Rounding = Callable[[np.floating, int], float]
"""`inflate` or `deflate`."""

_MOST_NODES = 100_000


def _neighbours(name: str, value: float) -> int:
    return checks.count(name, value, hint="try 1 or more")


@theorem(
    releases="every iterate",
    noise="noise_rate",
    noise_is_a_rate=True,
)
class NetworkTheorem(Theorem):
    """Nodes that release every noisy primal update; the record may sit at any of them."""

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
    loss: Literal["logistic", "general"] = choice("loss function", default="logistic")
    curvature: float | None = number(
        "largest second derivative of the loss, c₁ (1/4 for the logistic loss)", default=None
    )
    dimension: int | None = count(
        "coordinates that carry noise, d: features, and the intercept if there is one; makes the "
        "bound at δ > 0 tighter (any dimension unless given)",
        default=None,
    )
    adjacency: Literal["replace-one", "add-remove"] = choice(
        "neighbouring relation; the papers' is replace-one",
        default="replace-one",
    )

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
        if self.dimension is not None and self.dimension > LARGEST_DIMENSION:
            raise InvalidInput(
                f"dimension needs to be at most {LARGEST_DIMENSION:,}; got "
                f"dimension={self.dimension}; without one the bound holds in every dimension"
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
    def effective_rate(self, noise_rate: Any, pull: Any) -> Any:
        """Rate of the effective linear noise, for numbers or symbols; ``pull`` is ηV."""

    @abstractmethod
    def printed_term(self, noise_rate: Any, pull: Any, n_records: Any, fixed: Fixed) -> Any:
        """What the paper charges for one noisy round, for numbers or symbols."""

    @property
    def tied(self) -> bool:
        """Whether a record's gradient decides its curvature, as for the logistic loss."""
        return self.loss == "logistic"

    def claimed(self) -> Bound:
        """Max over nodes of the sum over rounds of the printed terms."""
        self.require(Scope.CLAIMED)
        fixed = Fixed(
            extended(self.loss_weight),
            extended(self.largest_curvature),
            extended(self.regularization) / self.n_nodes,
        )
        printed = self._table(partial(self.printed_term, fixed=fixed))
        counts = self._aligned()[2]
        nodes = [tuple(zip(map(Round.of_cost, row), counts, strict=True)) for row in printed]
        beta, worst = largest_total(nodes)
        return Bound(PureDP(beta), {"beta": beta, "worst_node": worst}, "printed formula")

    def certified(self) -> Bound:
        """Rounds compose adaptively: by the sum at δ = 0, by their laws above it."""
        self.require(Scope.CERTIFIED)
        nodes = self._nodes(inflate)
        beta, worst = largest_total(nodes)
        method = "Jacobian bound per round, optimal composition over rounds"
        if self.dimension is not None:
            method = f"law of the noise in dimension {self.dimension}, composed over rounds"
        noise = None if self.dimension is None else self._noise(self.dimension)
        return Bound(over_nodes(nodes, noise), {"beta": beta, "worst_node": worst}, method)

    def attained(self) -> Bound:
        """Records whose losses are linear where the iterates are, at the node with the largest β."""
        self.require(Scope.CERTIFIED)
        nodes = self._nodes(deflate)
        rounds = nodes[int(largest_total(nodes)[1]) - 1]
        plane = 2 if self.adjacency == "replace-one" else 1
        noise = self._noise(plane if self.dimension is None else self.dimension)
        return Bound(
            attained(rounds, noise),
            {"dimension": noise.dimension},
            "one record's loss linear around all iterates, all other records zero",
        )

    def _noise(self, dimension: int) -> Noise:
        return Noise(dimension, self.tied, Adjacency(self.adjacency))

    def _bound(self, noise_rate: Values, pull: Values, n_records: Values) -> Values:
        """A."""
        rate, weight = self.effective_rate(noise_rate, pull), extended(self.loss_weight)
        cost: Values = gradient_cost(rate, weight, n_records)
        return cost

    def _curvature(self, noise_rate: Values, pull: Values, n_records: Values) -> Values:
        """κ, times c₁ if gradient and curvature are not tied."""
        del noise_rate
        ridge = extended(self.regularization) / self.n_nodes
        kappa: Values = curvature_share(extended(self.loss_weight), n_records, ridge, pull)
        return kappa if self.tied else kappa * extended(self.largest_curvature)

    def _update_cost(self, noise_rate: Values, pull: Values, n_records: Values) -> Values:
        a = self._bound(noise_rate, pull, n_records)
        curvature = self._curvature(noise_rate, pull, n_records)
        records = 2 if self.adjacency == "replace-one" else 1
        if self.tied:
            return cost_of_logistic_loss(a, curvature, records=records)
        return cost_of_any_loss(a, curvature, records=records)

    def _nodes(self, rounded: Rounding) -> list[Rounds]:
        """The noisy rounds of every node that may differ, equal ones counted."""
        formulas = self._update_cost, self._bound, self._curvature
        costs, bounds, curvatures = (self._table(each, rounded) for each in formulas)
        counts = self._aligned()[2]
        return [
            tuple((Round(*each), n) for *each, n in zip(c, b, k, counts, strict=True))
            for c, b, k in zip(costs, bounds, curvatures, strict=True)
        ]

    def _table(
        self, formula: Callable[[Values, Values, Values], Values], rounded: Rounding = inflate
    ) -> list[list[float]]:
        """A row for every node that may differ, with a formula's value in each of its rounds."""
        records = extended(self.n_records.nodes("n_records", self.cases))
        degrees = extended(self.degree.nodes("degree", self.cases))
        penalties, rates, _ = self._aligned()
        pulls = extended(penalties) * degrees
        values = np.broadcast_to(formula(extended(rates), pulls, records), pulls.shape)
        return [[rounded(x, OPERATIONS) for x in row] for row in values.T]

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

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """The largest noise rate whose printed β is at most ε; δ plays no part."""
        checks.positive("epsilon", epsilon)
        checks.delta(delta)
        return largest_rate(self, epsilon)

    def calibration_tolerance(self) -> float:
        """Equal rounds are summed up exactly; others smoothly, laws to what an enclosure is worth."""
        if self.dimension is not None:
            return TOLERANCE
        equal = self.penalty.constant and self.noise_rate.constant
        return Theorem.calibration_tolerance(self) if equal else 1e-8

    def suggestion(self, epsilon: float, delta: float) -> str:
        """Which penalty, loss weight or number of rounds would make a budget feasible."""
        return feasible_changes(self, epsilon, delta) or "a larger epsilon or delta"
