"""Every algorithm in the folder, its neighbours and the random numbers of a step."""

from __future__ import annotations

import numpy as np

from dpcalc.algorithms import catalogue, load
from dpcalc.algorithms.problems.noise import (
    NoNoise,
)

KEYS = catalogue()


def noisy(key):
    return not all(isinstance(a.noise, NoNoise) for a in load(key).example().data_accesses())


NOISY = [key for key in KEYS if noisy(key)]


def neighbour(algorithm, row=1):
    """Replace-one: a record turned around, as far away as its norm allows."""
    records = algorithm.problem.records
    turned = -records.features[row][::-1]
    turned = turned / np.linalg.norm(turned) * records.row_bound
    return records.replaced(row, turned, records.labels[row])
