"""Algorithms of nodes that send one message a round to their neighbours.

Round t at node i: a message from its own memory, its own records and its own noise (`_send`); then,
from its own message and those of its neighbours, the memory of round t+1 (`_receive`). Simulated, all
nodes are one array; apart (`dpcalc.algorithms.engine.apart`), every node is a process. An algorithm
says the two steps once, and both are the same bits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.algorithm import Algorithm, Arrays

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.records import Records

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkAlgorithm(Algorithm):
    """An algorithm over a network; ``problem`` has its records and its network."""

    if TYPE_CHECKING:
        problem: Any

    def with_records(self, records: Records) -> Self:
        """The same method and parameters on other data."""
        return replace(self, problem=self.problem.with_records(records))

    @abstractmethod
    def _send(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Array, Arrays]:
        """The messages of round ``t``, shape (runs, nodes, d), and by-products for diagnostics."""

    @abstractmethod
    def _receive(self, t: int, memory: Arrays, sent: Array) -> tuple[Arrays, Arrays]:
        """The memory after the messages of round ``t`` arrived, and what the round released."""

    def _advance(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        sent, extra = self._send(t, memory, unit)
        after, released = self._receive(t, memory, sent)
        return after, released, extra

    def alone(self, node: int) -> Self:
        """The algorithm as one node knows it: all public parameters, and its own records.

        Of the arrays of `_send` and `_receive` only this node's row means anything.
        """
        return self.with_records(self.problem.records.of_node(node))
