"""Whose turn it is: orders of users and random stopping, with their exact chances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems.draws import RandomPermutation, UniformIndex
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.noise import Streams

Order = Literal["fixed", "permutation", "with-replacement"]

_ORDER, _STOP = 98, 97  # purpose numbers, apart from those of the rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOrder:
    """How users come.

    Attributes:
        users: how many there are.
        rounds: how many turns, at most.
        order: "fixed" (0, 1, 2, ... and again from 0), "permutation" (uniform, every user at most
            once) or "with-replacement" (a uniform user every time).
        stopping: None, or the first and the last round after which a run stops, uniformly.
    """

    users: int
    rounds: int
    order: Order
    stopping: tuple[int, int] | None

    def __post_init__(self) -> None:
        if self.order not in ("fixed", "permutation", "with-replacement"):
            raise InvalidInput(
                "order needs 'fixed', 'permutation' or 'with-replacement'; "
                f"got order={self.order!r}"
            )
        if self.order == "permutation" and self.rounds > self.users:
            raise InvalidInput(
                f"expected at most one round per user ({self.users}) by order='permutation'; "
                f"got rounds={self.rounds}"
            )
        if self.stopping is not None:
            first, last = self.stopping
            checks.count("stopping", first)
            if not first <= last <= self.rounds:
                raise InvalidInput(
                    f"stopping needs 1 <= first <= last <= rounds={self.rounds}; "
                    f"got stopping={self.stopping!r}"
                )

    @property
    def random(self) -> bool:
        """Whether chance has a part in it."""
        return self.order != "fixed" or self.stopping is not None

    def cyclic(self, runs: int) -> NDArray[np.int64]:
        """The fixed order; shape (runs, rounds)."""
        return np.tile(np.arange(self.rounds) % self.users, (runs, 1))

    def draw(self, streams: Streams) -> dict[str, NDArray[np.int64]]:
        """The users of all rounds, "order", and if runs stop at random the round, "stop"."""
        if self.order == "permutation":
            kind = RandomPermutation((self.users,))
            choices = {"order": streams.draw(kind, _ORDER, 0)[:, : self.rounds]}
        elif self.order == "with-replacement":
            index = UniformIndex((self.rounds,), high=(self.users,) * self.rounds)
            choices = {"order": streams.draw(index, _ORDER, 0)}
        else:
            choices = {"order": self.cyclic(streams.runs)}
        if self.stopping is not None:
            first, last = self.stopping
            index = UniformIndex((1,), high=(last - first + 1,))
            choices["stop"] = first + streams.draw(index, _STOP, 0)[:, 0]
        return choices

    def log_chance(self, used: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log-probability of the users that came and of how many came, ``used``; (runs,)."""
        chance = np.zeros(len(used))
        if self.order == "with-replacement":
            chance -= used * math.log(self.users)
        elif self.order == "permutation":
            steps = -np.log(np.arange(self.users, 0, -1.0))
            chance += np.concatenate([[0.0], np.cumsum(steps)])[used]
        if self.stopping is not None:
            chance -= math.log(self.stopping[1] - self.stopping[0] + 1)
        return chance
