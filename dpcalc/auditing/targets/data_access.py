"""What an algorithm declares about its looks at the data; kept apart from any algorithm."""

from __future__ import annotations

from typing import Any, Protocol

from dpcalc.vocabulary import Adjacency


class DataAccess(Protocol):
    """A noisy look at the data, as `dpcalc.algorithms.engine.access.DataAccess` declares it."""

    @property
    def round(self) -> int:
        """Counted from 1."""

    @property
    def node(self) -> int | None:
        """Whose records are read; None if it is chosen at random."""

    @property
    def released(self) -> str:
        """Name of the released array that exposes the query."""

    @property
    def sensitivity(self) -> float:
        """Largest Euclidean change of the query between neighbours."""

    @property
    def adjacency(self) -> Adjacency:
        """Between which inputs."""

    @property
    def noise(self) -> Any:
        """The noise law: it has ``sigma`` (Gaussian), ``rate`` (exponential norm) or neither."""

    @property
    def sampling_rate(self) -> float:
        """Chance that the differing record enters the query at all."""

    @property
    def batch(self) -> int:
        """Which fixed part of the records the query reads."""

    @property
    def curvature_change(self) -> float:
        """Largest eigenvalue that one record adds to the minimised function's Hessian."""

    @property
    def curvature_floor(self) -> float:
        """Least eigenvalue of that Hessian without the record."""

    @property
    def dimension(self) -> int | None:
        """How many coordinates carry noise; None where it does not matter."""
