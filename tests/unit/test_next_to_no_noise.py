"""Sampled Gaussian noise of next to no size: Chernoff's inequality at the best order, never below."""

from __future__ import annotations

import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_epsilon
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.odometer import Odometer


@pytest.mark.parametrize(
    ("sigma", "rate", "adjacency", "rounds", "delta"),
    [
        (0.0277, 0.0127, "replace-one", 1, 6.4e-9),
        (1.0916e-4, 1.9966e-5, "replace-one", 2, 1.9e-25),
        (0.0024868, 7.8455e-5, "add-remove", 5, 5.05e-17),
        (7.4e-4, 0.062, "replace-one", 1, 8.2e-10),
    ],
)
def test_an_accountant_is_no_larger_than_an_odometer(
    sigma: float, rate: float, adjacency: str, rounds: int, delta: float
) -> None:
    odometer = Odometer(epsilon=1e300, delta=delta)
    step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": sigma, "rate": rate}
    odometer.spend({**step, "adjacency": adjacency}, rounds)
    assert odometer.accountant.epsilon_spent() <= odometer.epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("sigma", "rate"), [(0.0025, 8e-5), (5e-4, 0.3)])
def test_one_round_is_not_below_its_closed_form(sigma: float, rate: float) -> None:
    """δ at ε is q times that of Gaussian noise at ln(1 + (e^ε - 1)/q); with four hundred digits."""
    delta = 1e-12
    found = bracket_epsilon([(PoissonRemove(sigma, rate), 1)], delta)
    with mp.workdps(400):
        mu, shifted = 1 / mpf(sigma), mpf(found.upper) - mp.log(mpf(rate))  # e^ε is astronomic
        a, b = shifted / mu - mu / 2, shifted / mu + mu / 2
        exact = mp.ncdf(-a) - mp.exp(shifted) * mp.ncdf(-b)
        assert rate * exact <= delta
        assert (
            rate * exact >= delta / 1e6
        )  # Chernoff's inequality is off by a few deviations at most
