"""What the network methods share: the objective, the penalty, and objective perturbation's promises.

Left open, the penalty is the smallest at which the Jacobian of a noisy update costs nothing: with
noise whose largest loss is 2a a round and κ = C/(B·h), the logistic cost is 2a alone once a >= κ, so
h = ρ/N + 2ηV = C/(B·a). It is computed from the budget, the rounds, the record counts and the number
of columns, all public. So are the ridge, and the rounds of a private method, which follow the rules
of `dpcalc.training.defaults`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcalc.errors import InvalidInput
from dpcalc.guarantees.composition import compose
from dpcalc.theorems.parameters import choice, count, number, schedule
from dpcalc.theorems.schedule import Schedule
from dpcalc.training.defaults import MOST_LOOKS, looks, noise_norm
from dpcalc.training.defaults import ridge as local_ridge
from dpcalc.training.method import Array, Budget, Method, require_calibrated, require_network, table

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.transcript import Transcript

_WITHOUT_BUDGET = Budget(1.0, 0.0)
"""The budget whose penalty a method without noise takes, so that both can be compared."""


def open_rounds(which: str) -> Any:
    """The parameter ``rounds`` of a private method, left open."""
    return count(f"rounds, {which} (from the nodes and the budget unless given)", default=None)


def model_choice() -> Any:
    """The parameter of a private method for what its model is made of."""
    return choice(
        "the model, a mean over nodes: of their last broadcasts, or of those of the later half of the "
        "rounds, which are released and paid for as well",
        ("last", "mean"),
        default="mean",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkMethod(Method):
    """Nodes of a network that agree on one logistic regression."""

    in_blocks: ClassVar[bool] = True

    loss_weight: float = number("weight of the mean loss in a node's objective, C", default=1.0)
    ridge: float | None = number(
        "weight of the regulariser over all nodes, ρ (from the records, nodes and the budget unless "
        "given; without a budget 1e-3)",
        default=None,
    )
    penalty: Schedule | None = schedule(
        "penalty per noisy round, η (the smallest that makes curvature free unless given)",
        default=None,
    )

    def all_rounds(self) -> int:
        """Rounds of a resolved method."""
        rounds: int | None = getattr(self, "rounds")  # noqa: B009 # each method has its own help
        if rounds is None:
            raise RuntimeError("a method is resolved before it is used")
        return rounds

    def noisy_rounds(self) -> int:
        """Rounds that look at the data."""
        return self.all_rounds()

    def rounds_of_looks(self, count: int) -> int:
        """Rounds of which so many look at the data."""
        return count

    def problem(self, records: Records, network: Network | None) -> ConsensusProblem:
        """The consensus problem."""
        from dpcalc.algorithms.problems.consensus import ConsensusProblem
        from dpcalc.algorithms.problems.losses import Logistic

        return ConsensusProblem(
            records=records,
            network=require_network(network, self.key),
            loss=Logistic(),
            loss_weight=self.loss_weight,
            ridge=self.own_ridge(),
        )

    def resolved(self, records: Records, network: Network | None, budget: Budget | None) -> Self:
        """With rounds, a ridge and a penalty."""
        network = require_network(network, self.key)
        changes: dict[str, Any] = {}
        if getattr(self, "rounds") is None:  # noqa: B009 # as above
            fits = MOST_LOOKS
            if budget is not None:
                fits = looks(network.nodes, records.dimension, budget.epsilon, budget.delta)
            changes["rounds"] = self.rounds_of_looks(fits)
        if self.ridge is None:
            changes["ridge"] = self._rule_of_ridge(records, budget)
        if changes:
            return self.replace(**changes).resolved(records, network, budget)
        if self.penalty is not None:
            return self
        found = free_curvature_penalty(
            budget or _WITHOUT_BUDGET,
            rounds=self.noisy_rounds(),
            loss_weight=self.loss_weight,
            stiffness=self.own_ridge() / network.nodes,
            sizes=np.array(records.sizes),
            degrees=network.degrees.astype(np.float64),
            dimension=records.dimension,
        )
        return self.replace(penalty=Schedule(found))

    def _rule_of_ridge(self, records: Records, budget: Budget | None) -> float:
        """What a node's own minimiser needs, for all nodes."""
        if budget is None:
            return 1e-3
        least, d = min(records.sizes), records.dimension
        noise = noise_norm(least, d, budget.epsilon, budget.delta, pure=True)
        return self.loss_weight * records.nodes * local_ridge(noise)

    def own_ridge(self) -> float:
        """The ridge of a resolved method."""
        if self.ridge is None:
            raise RuntimeError("a method is resolved before it is used")
        return self.ridge

    def own_penalty(self) -> Schedule:
        """The penalty of a resolved method."""
        if self.penalty is None:
            raise RuntimeError("a method is resolved before it is used")
        return self.penalty

    def penalties(self, network: Network | None) -> Array:
        """Penalties as the algorithms take them; shape (noisy rounds, nodes)."""
        nodes = require_network(network, self.key).nodes
        return table("penalty", self.own_penalty(), self.noisy_rounds(), nodes)

    @property
    def uses_every_round(self) -> bool:
        """Whether the model is made of more than the last round; of two rounds half is the last."""
        return getattr(self, "output", "last") == "mean" and self.all_rounds() > 2

    def weights(self, transcript: Transcript) -> Array:
        """The mean of the nodes' last broadcasts, or of those of the later half of the rounds."""
        primal = np.asarray(transcript["primal"], dtype=np.float64)
        if primal.ndim == 3:
            return primal.mean(axis=1)
        first = primal.shape[1] // 2 if self.uses_every_round else -1
        return primal[:, first:].mean(axis=(1, 2))


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateNetworkMethod(NetworkMethod):
    """A network method with exponential-norm noise."""

    attested: ClassVar[tuple[str, ...]] = ("row-norms", "exact-minimiser", "loss")

    noise_growth: float = number("factor of the noise rate from round to round", default=1.0)
    output: str = model_choice()

    def network_parameters(self, records: Records, network: Network | None) -> dict[str, Any]:
        """The parameters that all objective-perturbation results have."""
        network = require_network(network, self.key)
        return {
            "n_records": [list(records.sizes)],
            "n_nodes": network.nodes,
            "degree": [network.degrees.tolist()],
            "loss_weight": self.loss_weight,
            "regularization": self.own_ridge(),
            "penalty": self.own_penalty(),
            "noise_rate": Schedule(1.0, self.noise_growth),
            "dimension": records.dimension,
            "rounds": self.noisy_rounds(),
            "attest": self.attested,
        }

    def rates(self, calibrated: Theorem | None, network: Network | None) -> Array:
        """The calibrated noise rates; shape (noisy rounds, nodes)."""
        nodes = require_network(network, self.key).nodes
        rate: Schedule = getattr(require_calibrated(calibrated, self.key), "noise_rate")  # noqa: B009
        return table("noise_rate", rate, self.noisy_rounds(), nodes)


def free_curvature_penalty(
    budget: Budget,
    *,
    rounds: int,
    loss_weight: float,
    stiffness: float,
    sizes: Array,
    degrees: Array,
    dimension: int,
) -> float:
    """The smallest penalty at which a round of a uniform run costs its noise alone.

    Args:
        budget: of the whole run.
        rounds: noisy ones.
        loss_weight: C.
        stiffness: ρ/N.
        sizes: B_i; shape (nodes,).
        degrees: V_i; shape (nodes,).
        dimension: coordinates that carry noise.
    """
    a = _share(budget, rounds, dimension) / 2
    needed = loss_weight / (sizes * a) - stiffness
    return float(np.maximum((needed / (2 * degrees)).max(), 1e-3 * stiffness + 1e-12))


def _share(budget: Budget, rounds: int, dimension: int) -> float:
    """The largest loss of a round's noise of which ``rounds`` make the budget, to a few digits.

    It is a mere guide.
    """
    from dpcalc.accounting.enclosure import with_relative_width
    from dpcalc.guarantees.objective_perturbation import moved_noise

    low = budget.epsilon / rounds
    if budget.delta == 0 or budget.epsilon > _NO_GUIDE_NEEDED:
        return low
    high = budget.epsilon * max(1.0, dimension**0.5)
    with with_relative_width(1e-3):
        for _ in range(16):
            middle = (low * high) ** 0.5
            each = moved_noise(middle, dimension, middle)
            fits = compose((each, rounds)).epsilon(budget.delta) <= budget.epsilon
            low, high = (middle, high) if fits else (low, middle)
    return low


_NO_GUIDE_NEEDED = 2e4
"""Budgets that next to no noise keeps, by the largest loss as by any other bound."""


def constant_penalty(method: NetworkMethod) -> float:
    """The penalty of a method that knows one only.

    Raises:
        InvalidInput: if it changes over rounds or nodes.
    """
    penalty = method.own_penalty()
    if not penalty.constant:
        raise InvalidInput(f"{method.key} needs one constant penalty; got penalty={penalty}")
    return penalty.first


def network_algorithm(
    method: NetworkMethod, records: Records, network: Network | None, **own: Any
) -> Algorithm:
    """The algorithm with a method's key, on its problem.

    Args:
        method: a resolved one with ``rounds``.
        records: of every node.
        network: who talks to whom.
        own: what this algorithm takes besides; ``penalty`` where it is not one per round and node.
    """
    from dpcalc.algorithms import load

    kind: Any = load(method.key)
    own.setdefault("rounds", method.all_rounds())
    if "penalty" not in own:
        own["penalty"] = method.penalties(network)
    made: Algorithm = kind(method.problem(records, network), **own)
    return made


class RecycledMethod(NetworkMethod):
    """Even rounds recycle the gradients of odd ones; has ``rounds`` and ``proximal_weight``."""

    __slots__ = ()

    proximal_weight: float | None

    def noisy_rounds(self) -> int:
        """K, the odd rounds."""
        return (self.all_rounds() + 1) // 2

    def rounds_of_looks(self, count: int) -> int:
        """2K."""
        return 2 * count

    def own_proximal_weight(self) -> float:
        """γ, half the first penalty unless given."""
        half = self.own_penalty().first / 2
        return half if self.proximal_weight is None else self.proximal_weight
