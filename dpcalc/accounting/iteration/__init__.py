"""Amplification by iteration in f-DP: what a last iterate reveals about earlier steps.

`blocks` is for gradient ADMM, whose state is masked by two consecutive noises; `descent` for noisy
gradient descent with regularly repeated uses of a record; `chain` for any sequence of steps;
`minorant` holds the one optimisation behind all of them.
"""

from dpcalc.accounting.iteration.blocks import (
    Block,
    StronglyConvexNorm,
    convex_block,
    gradient_noise_block,
    largest_eigenvalue,
    local_mu,
    strongly_convex_block,
    strongly_convex_norm,
)
from dpcalc.accounting.iteration.chain import Allocation, cheapest_shifts
from dpcalc.accounting.iteration.descent import Descent, Visits, contraction_factor
from dpcalc.accounting.iteration.minorant import convex_minorant, energy
from dpcalc.accounting.iteration.orders import mixed_positions

__all__ = [
    "Allocation",
    "Block",
    "Descent",
    "StronglyConvexNorm",
    "Visits",
    "cheapest_shifts",
    "contraction_factor",
    "convex_block",
    "convex_minorant",
    "energy",
    "gradient_noise_block",
    "largest_eigenvalue",
    "local_mu",
    "mixed_positions",
    "strongly_convex_block",
    "strongly_convex_norm",
]
