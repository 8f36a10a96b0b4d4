"""How many runs of a figure fit into memory at once.

A run's temporaries hold numbers per record, which its state does not: what runs take is estimated
from above by sizes that are public, so that groups of runs, which decide last bits, are the same on
every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.problems.consensus import AT_ONCE
from dpcalc.algorithms.problems.draws import RandomPermutation, StandardNormal, UniformIndex
from dpcalc.algorithms.problems.noise import numbers_ahead
from dpcalc.errors import InvalidInput
from dpcalc.numerals import spelt_size

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.consensus import AT_ONCE
from dpcalc.algorithms.problems.draws import Draw

_NUMBER = 8
"""Bytes of a number."""

_PER_RECORD = 4
"""Arrays of one number for every record of a node, or held out, that a run has at a time."""

_IN_TILES = 8
"""The same of what goes through the records tile by tile, where a tile holds less."""

_TILE, _TILE_RECORDS = 2**18, 16
"""Numbers of a tile, records times runs, at most; and records that it has at least."""

_STATES = 12
"""Times that what a run keeps is held: before a round, after it, and in what a step makes of it."""

_DRAWN = 3
"""Times that numbers drawn ahead are held: the last ones, the new ones, and while they are made."""

_ROWS = 6
"""Times that rows are held in forms of their own: signed, scaled, in single precision, by column."""

_SQUARES = 8
"""Matrices, as wide as what a node keeps, that the runs share, for every node."""

_ARRAY = 200
"""Bytes of an array beside its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What decides how much the runs of a curve take.

    Attributes:
        records: of all nodes.
        most: records of the largest node.
        held_out: records beside these that measures look at.
        dimension: columns of the records.
        width: the longest axis of what a node keeps, or the dimension.
        nodes: of the network.
        state: bytes that one run keeps.
        drawn: what a run draws, or more; permutations of records and rounds where it keeps an order.
        measured: numbers that are kept of one run.
    """

    records: int
    most: int
    held_out: int
    dimension: int
    width: int
    nodes: int
    state: int
    drawn: tuple[Draw, ...]
    measured: int

    @classmethod
    def of(cls, algorithm: Algorithm, seed: int, *, held_out: int, measured: int) -> Sizes:
        """The sizes of an algorithm with its records."""
        records: Any = algorithm.problem.records  # type: ignore[attr-defined] # every algorithm has one
        kept = [np.asarray(values) for values in algorithm.start(seed).memory.values()]
        widths = [values.shape[-1] for values in kept if values.ndim > 1]
        noise = StandardNormal((records.nodes, records.dimension))
        drawn: tuple[Draw, ...] = (noise, noise, _index(records.nodes))
        if any(np.issubdtype(values.dtype, np.integer) for values in kept):
            drawn += RandomPermutation((sum(records.sizes),)), _index(algorithm.rounds)
        return cls(
            records=sum(records.sizes),
            most=max(records.sizes),
            held_out=held_out,
            dimension=records.dimension,
            width=max(records.dimension, *widths),
            nodes=records.nodes,
            state=sum(values.nbytes for values in kept),
            drawn=drawn,
            measured=measured,
        )

    def estimate(self, at_once: int, runs: int) -> int:
        """Bytes that so many runs at once take at most, with what all runs share."""
        rows = _ROWS * self.records * (self.dimension + 1)
        squares = _SQUARES * self.nodes * self.width**2
        measured = self.measured * (3 * _NUMBER * runs + _ARRAY)
        ahead = _DRAWN * sum(numbers_ahead(kind, at_once) for kind in self.drawn)
        together = min(self.nodes, AT_ONCE)
        per_record = _PER_RECORD * (together * self.most + self.held_out) * at_once
        tile = together * _IN_TILES * min(self.most * at_once, _TILE + _TILE_RECORDS * at_once)
        kept = at_once * (_STATES * self.state + _ARRAY * self.nodes)
        return _NUMBER * (rows + squares + ahead + per_record + tile) + measured + kept


def most_at_once(key: str, sizes: Sizes, *, runs: int, memory: float) -> int:
    """How many runs of a curve may be carried out at once.

    Args:
        key: of the algorithm, for the refusal.
        sizes: of the algorithm and of its measures.
        runs: in all.
        memory: bytes for what runs take in one process, beside their records; above 0.

    Raises:
        InvalidInput: if one run does not fit; says how much would do.
    """
    checks.positive("memory", memory)
    for at_once in range(runs, 0, -1):
        if sizes.estimate(at_once, runs) <= memory:
            return at_once
    least = sizes.estimate(1, runs)
    raise InvalidInput(
        f"expected memory for one run of {key!r} on {sizes.records} records, "
        f"{spelt_size(least, at_least=True)}; got {spelt_size(memory)}; give more, or leave the "
        "bound out"
    )


def _index(length: int) -> UniformIndex:
    return UniformIndex((length,), high=(1,) * length)
