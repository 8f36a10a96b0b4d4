"""Densities of single mechanisms."""

from __future__ import annotations

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.gaussian_update import MovedGaussian
from dpcalc.accounting.losses.laplace_density import LaplaceBody
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)

Mixture = list[tuple[float, float, float]]


def mixtures(pair: DensityPair) -> tuple[Mixture, Mixture]:
    """P and Q as weights, means and standard deviations of normal laws."""
    if isinstance(pair, MovedGaussian):
        return [(1.0, pair.mu / 2, 1.0)], [(1.0, -pair.mu / 2, 1.0)]
    if isinstance(pair, WithoutReplacement):
        return [(1 - pair.rate, 0.0, 1.0), (pair.rate, pair.mu, 1.0)], [(1.0, 0.0, 1.0)]
    assert isinstance(pair, PoissonRemove | PoissonAdd | PoissonReplace)
    if isinstance(pair, PoissonReplace):
        return (
            [(1 - pair.rate, 0.0, pair.sigma), (pair.rate, 1.0, pair.sigma)],
            [(1 - pair.rate, 0.0, pair.sigma), (pair.rate, -1.0, pair.sigma)],
        )
    mean, s = (1.0 if isinstance(pair, PoissonRemove) else -1.0), pair.sigma
    mixed = [(1 - pair.rate, 0.0, s), (pair.rate, mean, s)]
    plain = [(1.0, 0.0, s)]
    return (mixed, plain) if isinstance(pair, PoissonRemove) else (plain, mixed)


PAIRS = [
    PoissonRemove(0.8, 0.01), PoissonRemove(3.0, 0.7), PoissonRemove(0.1, 0.5), PoissonRemove(1.0, 1.0),
    PoissonAdd(0.8, 0.01), PoissonAdd(3.0, 0.7), PoissonReplace(0.8, 0.2), PoissonReplace(2.0, 0.9),
    WithoutReplacement(1.2, 0.3), MovedGaussian(0.7), LaplaceBody(0.6),
]  # fmt: skip
