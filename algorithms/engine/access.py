"""What a run asks of the data: the list that a checker holds against a theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.noise import NoiseLaw
    from dpcalc.vocabulary import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True)
class DataAccess:
    """One noisy look at the records of one node.

    The query's value differs between neighbouring data sets by at most ``sensitivity``, whatever
    was released before. ``noise`` is added to it; the sum, or an invertible function of it, is what
    ``released`` holds for this round and node.

    Attributes:
        round: counted from 1; 0 for what happens before the first round.
        node: node or user whose records are read, counted from 0; None if it is chosen at random.
        released: name of the released array that exposes the query.
        query: what is computed from the data.
        sensitivity: largest Euclidean change of the query's value, from public constants.
        adjacency: between which data sets.
        noise: law of the noise vector.
        sampling_rate: chance that the node's differing record enters the query at all.
        batch: which fixed part of the node's records the query reads; a record is in one part.
        curvature_change: where the release is an exact minimiser: the largest eigenvalue by which
            one record raises the minimised function's Hessian. Zero if the release is the noisy
            query itself.
        curvature_floor: the least eigenvalue of that Hessian without the record; infinite if the
            release is the noisy query itself.
        dimension: coordinates that carry noise; None where it does not matter.
    """

    round: int
    node: int | None
    released: str
    query: str
    sensitivity: float
    adjacency: Adjacency
    noise: NoiseLaw
    sampling_rate: float = 1.0
    batch: int = 0
    curvature_change: float = 0.0
    curvature_floor: float = math.inf
    dimension: int | None = None
