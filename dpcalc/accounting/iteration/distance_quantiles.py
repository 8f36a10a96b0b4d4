"""How far apart two runs are before the counted steps, by chance of the batches.

Statement
    With shared batches two runs are at most ``s Σ_{i<k} c^i I_i`` apart after k steps, I_i whether a
    batch held the record: independent, each with probability q. By Markov's inequality for
    ``e^(λΣ)`` the sum exceeds ``(Σ_i ln(1 + q(e^(λc^i) - 1)) + ln(1/p))/λ`` with probability at most
    p, for every λ > 0.
Rounding
    Steps are grouped, each counted like the first of its group; levels are enlarged by 1e-9, far
    more than what doubles lose.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.products import product

Reals = NDArray[np.float64]

TAIL_PROBABILITIES = (
    0.5,
    0.2,
    0.1,
    0.05,
    0.02,
    0.01,
    1e-3,
    1e-4,
    1e-5,
    1e-6,
    1e-8,
    1e-10,
    1e-14,
    1e-20,
)
"""Each level is exceeded with at most this probability."""
_GROUPS = 2000


def upper_quantiles(rate: float, contraction: float, steps: int) -> list[float]:
    """Upper ends of the sum, exceeded with at most each of `TAIL_PROBABILITIES`; units of s.

    Args:
        rate: q, in (0, 1), rounded up.
        contraction: c, in [0, 1], rounded up.
        steps: k, at least 1.
    """
    steps_up = math.nextafter(float(steps), math.inf) if steps > 2**53 else float(steps)
    edges = np.unique(np.floor(np.append(0, np.geomspace(1, steps_up, _GROUPS))))
    edges = edges[edges < steps_up]
    sizes = np.diff(np.append(edges, steps_up))
    values = contraction**edges
    slopes = np.geomspace(1e-6, 600.0, 160)
    growth = product(np.log1p(rate * np.expm1(np.outer(slopes, values))), sizes)
    most = float(product(sizes, values)) * (1 + 1e-9)
    found = [
        float(np.min((growth - math.log(p)) / slopes)) * (1 + 1e-9) for p in TAIL_PROBABILITIES
    ]
    return [min(level, most) for level in found]
