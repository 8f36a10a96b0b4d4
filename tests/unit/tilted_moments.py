"""Laws of one round, and their moments to forty digits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mpmath import mp

from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    LossDistribution,
    RandomisedResponseLoss,
)

ATOMS = DiscreteLoss(
    np.array([-0.5, 0.3, 1.1]),
    np.array([0.2, 0.3, 0.25]),
    infinite_mass=0.01,
    missing=0.04,
    mass_error=1e-14,
    blur=np.array([0.01, 0.02, 0.03]),
)

LAWS: list[LossDistribution] = [
    GaussianLoss(0.4),
    GaussianLoss(3.0),
    GaussianMixtureLoss((0.3, 0.8), (0.4, 0.2)),
    LaplaceLoss(0.7, 0.7),
    LaplaceLoss(0.01, 0.01),
    RandomisedResponseLoss.of({0.7: 3, 0.2: 1}),
    RandomisedResponseLoss.of({0.001: 1000}),
    ATOMS,
]

NAMES = [f"{type(law).__name__}{k}" for k, law in enumerate(LAWS)]


def moment(law: LossDistribution, z: mp.mpc) -> mp.mpc:
    """E e^{zL} over finite losses, from the law's definition."""
    if isinstance(law, GaussianLoss):
        return mp.exp(mp.mpf(law.mu) ** 2 * (z * z + z) / 2)
    if isinstance(law, GaussianMixtureLoss):
        parts = list(zip(law.mus, law.weights, strict=True))
        rest = 1 - mp.fsum(w for _, w in parts)
        return rest + mp.fsum(w * mp.exp(mp.mpf(m) ** 2 * (z * z + z) / 2) for m, w in parts)
    if isinstance(law, LaplaceLoss):
        e = mp.mpf(law.epsilon)
        return ((z + 1) * mp.exp(z * e) + z * mp.exp(-(z + 1) * e)) / (2 * z + 1)
    if isinstance(law, DiscreteLoss):
        parts = list(zip(law.losses.tolist(), law.masses.tolist(), strict=True))
        rest = 1 - mp.fsum(p for _, p in parts) - law.infinite_mass - law.missing
        return rest + mp.fsum(p * mp.exp(z * loss) for loss, p in parts)
    assert isinstance(law, RandomisedResponseLoss)
    total = mp.mpf(1)
    for epsilon, count in zip(law.epsilons, law.counts, strict=True):
        e = mp.mpf(epsilon)
        p = mp.exp(e) / (1 + mp.exp(e))
        total *= (p * mp.exp(z * e) + (1 - p) * mp.exp(-z * e)) ** count
    return total


def log_ratios(law: LossDistribution, c: float, ys: Sequence[float]) -> list[mp.mpc]:
    base = moment(law, mp.mpf(c))
    return [moment(law, mp.mpc(c, y)) / base for y in ys]
