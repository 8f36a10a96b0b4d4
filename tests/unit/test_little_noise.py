"""Noise that is too small for cells: what is sampled is as good as revealed."""

from __future__ import annotations

import mpmath as mp
import pytest

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses import GaussianLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)


def gaussian(mu: float, epsilon: float) -> mp.mpf:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(
    ("loss", "rate"),
    [
        (PoissonReplace(0.01, 0.5), 0.5),
        (PoissonRemove(1e-3, 0.3), 0.3),
        (WithoutReplacement(500.0, 0.5), 0.5),
    ],
)
def test_what_is_sampled_is_as_good_as_revealed(loss: PrivacyLoss, rate: float) -> None:
    """A sampled record's loss is above a thousand but for 1e-300, that of others within 1e-300 of
    -ln(1 - q) or 0: δ(ε) = 1 - (1-q)^3 (1 - δ of the Gaussian) but for that, and the width asked for."""
    with mp.workdps(50):
        kept = (1 - mp.mpf(rate)) ** 3
        apart = 3 * mp.log1p(-mp.mpf(rate)) if isinstance(loss, PoissonRemove) else mp.mpf(0)
        truth = 1 - kept * (1 - gaussian(1.0, 1.0 - apart))
        found = bracket_delta([(loss, 3), (GaussianLoss(1.0), 1)], 1.0)
        assert found.lower <= truth <= found.upper <= 1 - kept * (1 - gaussian(1.0, 1.0)) + 1e-6


def test_what_is_left_of_delta_is_spent_on_the_others() -> None:
    with mp.workdps(50):
        found = bracket_epsilon([(PoissonReplace(0.01, 0.5), 3), (GaussianLoss(1.0), 1)], 0.9)
        revealed = 1 - mp.mpf(1) / 8
        assert revealed + gaussian(1.0, found.upper) / 8 <= mp.mpf(0.9)
        assert found.upper < 0.654


def test_with_enough_noise_nothing_is_taken_for_revealed() -> None:
    assert LossSum(((PoissonReplace(0.04, 0.5), 3),)).with_disclosure is None
