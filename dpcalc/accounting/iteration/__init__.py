"""Amplification by iteration in f-DP: what a last iterate reveals about earlier steps.

`kernels` is for states that two consecutive noises mask, `admm` for gradient ADMM among them, `shares`
for how a noise is divided between two kernels; `descent` for noisy gradient descent with regularly
repeated uses of a record, `expanding` if its steps may expand; `chain` for any sequence of steps;
`minorant` holds the one optimisation behind all of them.
"""

from dpcalc.accounting.iteration.admm import (
    StronglyConvexNorm,
    convex_kernels,
    gradient_noise_kernels,
    local_mu,
    strongly_convex_kernels,
    strongly_convex_norm,
)
from dpcalc.accounting.iteration.descent import NoisyContraction, Participation, contraction_factor
from dpcalc.accounting.iteration.expanding import Expanding
from dpcalc.accounting.iteration.kernels import Kernels
from dpcalc.accounting.iteration.minorant import convex_minorant, total_cost
from dpcalc.accounting.iteration.optimal_shifts import Shifts, optimal_shifts
from dpcalc.accounting.iteration.position_mixture import mixed_positions

__all__ = [
    "Expanding",
    "Kernels",
    "NoisyContraction",
    "Participation",
    "Shifts",
    "StronglyConvexNorm",
    "contraction_factor",
    "convex_kernels",
    "convex_minorant",
    "gradient_noise_kernels",
    "local_mu",
    "mixed_positions",
    "optimal_shifts",
    "strongly_convex_kernels",
    "strongly_convex_norm",
    "total_cost",
]
