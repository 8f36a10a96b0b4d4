"""Looking for the worst neighbour: which record to replace, by which, in which direction.

A pair of inputs is as good as the adversary's distance between them. Where the noise is Gaussian
that is V = Σ‖d_t‖²/σ_t² on replayed histories, else the mean absolute log-likelihood ratio; both are
looked up on a few pilot runs that no bound uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.records import Records
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

PILOT = 16
"""Histories on which candidates are compared."""


def replacements(
    records: Records,
    *,
    rows: Sequence[int] = (0,),
    scales: Sequence[float] = (1.0, 0.5, 0.0),
    labels: Sequence[float] = (1.0, -1.0),
    directions: Iterable[Array] | None = None,
) -> Iterator[Records]:
    """Data sets with one record replaced: row × direction × sign × scale × label.

    Args:
        records: the data.
        rows: which record to replace.
        scales: norms of the new record, in units of the bound on rows.
        labels: of the new record.
        directions: unit vectors; the axes, the row's own and the diagonal if left out.
    """
    for row in rows:
        own = _directions(records, row) if directions is None else directions
        for direction in own:
            for sign in (1.0, -1.0):
                for scale in scales:
                    for label in labels:
                        x = sign * scale * records.row_bound * direction
                        yield records.replaced(row, x, label)


def worst(
    algorithm: Any, candidates: Iterable[Records], *, seed: int = 1, pilot: int = PILOT
) -> tuple[Records, float]:
    """The candidate that is furthest from the algorithm's own data, and its distance.

    Args:
        algorithm: on the data of the world IN.
        candidates: neighbouring data.
        seed: of the pilot runs.
        pilot: how many.
    """
    transcript = algorithm.run(seed, runs=pilot)
    best: tuple[Records, float] | None = None
    for records in candidates:
        found = _distance(algorithm, transcript, records)
        if best is None or found > best[1]:
            best = records, found
    if best is None:
        raise InvalidInput("expected at least one candidate neighbour")
    return best


def _distance(algorithm: Any, transcript: Any, records: Records) -> float:
    here = algorithm.implied_noise(transcript)
    there = algorithm.implied_noise(transcript, records)
    if here.law == "gaussian":
        return float(np.square(here.unit - there.unit).sum(axis=(1, 2, 3)).mean())
    gap = here.log_density_terms() - there.log_density_terms()
    return float(np.abs(gap.sum(axis=(1, 2))).mean())


def _directions(records: Records, row: int) -> list[Array]:
    d = records.dimension
    found = list(np.eye(d))
    found.append(np.full(d, 1 / np.sqrt(d)))
    norm = float(np.linalg.norm(records.features[row]))
    if norm > 0:
        found.append(records.features[row] / norm)
    return found
