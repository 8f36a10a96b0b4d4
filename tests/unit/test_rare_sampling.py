"""Rates next to nothing and little noise: losses far below one although likelihoods are far apart."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses.subsampled_gaussian import mixture_loss
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian

DISTANCES = [-40.0, -1e-9, 1e-9, 29.0, 31.0, 50.0, 69.0, 300.0, 699.0, 701.0, 1e4]


@pytest.mark.parametrize("rate", [1e-300, 1e-30, 1e-20, 1e-8, 0.3, 1 - 2**-53, 1.0])
def test_losses_of_mixtures(rate: float) -> None:
    found = mixture_loss(np.array(DISTANCES), rate)
    with mp.workdps(400):
        for t, loss in zip(DISTANCES, found.tolist(), strict=True):
            exact = mp.log1p(mpf(rate) * mp.expm1(mpf(t)))
            assert abs(mpf(loss) - exact) <= 4 * 2**-53 * (1 + abs(t)) * abs(exact) + 1e-322


@pytest.mark.parametrize("rate", [1e-12, 1e-20, 1e-30, 1e-60])
@pytest.mark.parametrize("noise", [0.123, 0.2, 0.5])
def test_total_variation_is_enclosed(noise: float, rate: float) -> None:
    """Replace-one: q P(|N| < 1/σ). Add-remove: q P(|N| < 1/2σ)."""
    for adjacency, distance in (("replace-one", 1.0), ("add-remove", 0.5)):
        mechanism = poisson_subsampled_gaussian(noise, rate, adjacency)
        both = mechanism.delta_bracket(0.0)  # type: ignore[attr-defined]
        with mp.workdps(40):
            exact = mpf(rate) * mp.erf(distance / mpf(noise) / mp.sqrt(2))
        assert both.lower <= exact <= both.upper
