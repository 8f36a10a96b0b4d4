"""What a method is: an algorithm, its public parameters, and the theorem that covers it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.theorems.parameters import choice, converted, parameters

__all__ = [
    "Budget",
    "Method",
    "get_loss",
    "is_loss",
    "loss_choice",
    "require_calibrated",
    "require_network",
    "table",
]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.theorems.schedule import Schedule
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Method(ABC):
    """An algorithm with public parameters, on whatever data and for whatever budget comes.

    Class attributes:
        key: the algorithm's key, and the file's name with dashes.
        title: one line for lists.
        theorem_key: of the privacy result that covers it; None for a method without noise.
        distributed: whether records are dealt out to the nodes of a network.
        attested: promises of the theorem that hold by the way the method is built.
        in_blocks: whether it goes through records in blocks, so that they may be in a file.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    theorem_key: ClassVar[str | None] = None
    distributed: ClassVar[bool] = True
    attested: ClassVar[tuple[str, ...]] = ()
    in_blocks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        converted(self)

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any]) -> Self:
        """A method from parameters by name.

        Raises:
            InvalidInput: for an unknown name, with the nearest known one.
        """
        known = parameters(cls)
        for name in given:
            if name not in known:
                raise unknown_name(f"parameter of {cls.key}", name, known)
        return cls(**given)

    def inputs(self) -> dict[str, Any]:
        """The parameters by name, schedules and somebody's own loss as text."""
        from dpcalc.theorems.schedule import Schedule

        found = {name: getattr(self, name) for name in parameters(type(self))}
        return {k: str(v) if isinstance(v, Schedule) or is_loss(v) else v for k, v in found.items()}

    def resolved(self, records: Records, network: Network | None, budget: Budget | None) -> Self:
        """The method with every open parameter set from public information."""
        return self

    def theorem(self, records: Records, network: Network | None) -> Theorem | None:
        """The privacy result for these record counts and this network, with noise of size 1."""
        return None

    @abstractmethod
    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """The algorithm with the noise of the calibrated theorem, or without noise."""

    def noise_level(self, calibrated: Theorem | None) -> float:
        """The noise of the calibrated theorem.

        Raises:
            InvalidInput: if there is none, since a private method needs a budget.
        """
        theorem: Any = require_calibrated(calibrated, self.key)
        level: float = theorem.noise_level()
        return level

    def notes(self, network: Network | None) -> tuple[str, ...]:
        """What nobody has shown of these parameters on this network; none of it is about privacy."""
        return ()

    @property
    def uses_every_round(self) -> bool:
        """Whether `weights` needs what every round released, not the end alone."""
        return False

    @abstractmethod
    def weights(self, transcript: Transcript) -> Array:
        """The released model of every run; shape (runs, d)."""

    def replace(self, **changes: Any) -> Self:
        """The same method with other parameters."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent: (ε, δ)-DP for one run."""

    epsilon: float
    delta: float

    def checked(self) -> Budget:
        """The same in doubles: against a shorter float a larger ε would compare as equal.

        Raises:
            InvalidInput: if one is out of range.
        """
        return Budget(checks.positive("epsilon", self.epsilon), checks.delta(self.delta))


def is_loss(value: object) -> TypeGuard[Loss]:
    """Whether it is a loss itself, not the name of one.

    Raises:
        InvalidInput: for the class of a loss.
    """
    if isinstance(value, str):
        return False
    from dpcalc.algorithms.problems.losses import Loss

    if isinstance(value, type) and issubclass(value, Loss):
        raise InvalidInput(
            f"expected a loss, not the class of one; got loss={value.__name__}; give an instance: "
            f"{value.__name__}()"
        )
    return isinstance(value, Loss)


def loss_choice(*names: str, default: str, of_one: str = "record") -> Any:
    """The parameter for a loss: a name, or in Python a `Loss`, whose bounds are checked."""
    return choice(f"loss of one {of_one}", names, default=default, also=is_loss)


def get_loss(name: str | Loss, width: float = 1.0) -> Loss:
    """The loss of that name; a loss stays as it is."""
    from dpcalc.algorithms.problems import losses

    if is_loss(name):
        return name
    if name == "huber":
        return losses.Huber(width=width)
    if name == "smoothed-hinge":
        return losses.SmoothedHinge(width=width)
    known = {"logistic": losses.Logistic, "hinge": losses.Hinge, "squared": losses.Squared}
    if name not in known:
        raise unknown_name("loss", name, [*known, "huber", "smoothed-hinge"])
    return known[name]()


def table(name: str, schedule: Schedule, rounds: int, nodes: int) -> Array:
    """A schedule as the algorithms take it; shape (rounds, nodes)."""
    rows = schedule.rounds(name, rounds, nodes)
    return np.array([row for row, count in rows for _ in range(count)])


def require_network(network: Network | None, key: str) -> Network:
    """The network, or the error that says that one is needed."""
    if network is None or network.nodes < 2:
        raise InvalidInput(
            f"{key} needs a network of 2 nodes or more; got nodes="
            f"{1 if network is None else network.nodes}; try --nodes 5 --graph ring"
        )
    return network


def require_calibrated(theorem: Theorem | None, key: str) -> Theorem:
    """The calibrated theorem, or the error that says that a private method needs a budget."""
    if theorem is None:
        raise InvalidInput(f"{key} adds noise for a budget; got none; try --epsilon 1 --delta 1e-6")
    return theorem
