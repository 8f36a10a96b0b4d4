"""Observations as they come in, held once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.sampling.observations import Observations

_FIRST = 2**16
_GROWTH = 1.25
"""How much longer the arrays become when they are full; on most systems nothing is copied then."""


@dataclass(slots=True, eq=False)
class Collected:
    """Scores and worlds of all runs so far, 9 bytes a run.

    Attributes:
        runs: how many there are.
    """

    runs: int = 0
    _is_in: NDArray[np.bool_] = field(default_factory=lambda: np.empty(_FIRST, dtype=bool))
    _score: NDArray[np.float64] = field(default_factory=lambda: np.empty(_FIRST))
    _fair_coins: bool = True
    _exact: bool = True

    def add(self, batch: Observations) -> None:
        """Take more runs; scores are exact and coins fair if they are in every batch."""
        end = self.runs + batch.runs
        if end > len(self._score):
            size = max(end, int(_GROWTH * len(self._score)))
            self._score.resize(size, refcheck=False)
            self._is_in.resize(size, refcheck=False)
        self._is_in[self.runs : end] = batch.is_in
        self._score[self.runs : end] = batch.score
        self._fair_coins &= batch.fair_coins
        self._exact &= batch.exact
        self.runs = end

    def observations(self) -> Observations:
        """All runs so far; nothing may be added afterwards."""
        return Observations(
            is_in=self._is_in[: self.runs],
            score=self._score[: self.runs],
            fair_coins=self._fair_coins,
            exact=self._exact,
        )
