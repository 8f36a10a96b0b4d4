"""A mechanism of a user and a claim about it."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import (
    Claim,
    mechanism,
)
from dpcalc.guarantees import GDP

CURVE = Claim(guarantee=GDP(1.0), delta=1e-5, adjacency="add-remove")


def noisy_sum(data, generator, runs):
    return data.sum() + generator.laplace(scale=1.0, size=runs)


OWN = mechanism(noisy_sum, np.ones(3), np.ones(2), adjacency="add-remove", name="noisy sum")
