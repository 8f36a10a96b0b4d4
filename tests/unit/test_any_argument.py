"""A sum's δ below zero and its negative ε, next to losses that are as good as certain."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.composition.any_argument import AnyArgument
from dpcalc.accounting.composition.driver import enclosed
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove

Curve = Callable[[mp.mpf], mp.mpf]


def sampled(sigma: float, rate: float, removed: bool) -> Curve:
    """δ of sampled Gaussian noise by its hypotheses' best test, at any real argument."""
    s, q = mp.mpf(sigma), mp.mpf(rate)

    def curve(t: mp.mpf) -> mp.mpf:
        # The mixture over N(0, s²) at x is 1 - q + q e^{(x - 1/2)/s²}; tests are x above a place or below.
        ratio = mp.exp(t) if removed else mp.exp(-t)
        odds = (ratio - 1 + q) / q
        if odds <= 0:
            return 1 - mp.exp(t) if removed else mp.mpf(0)
        place = s * s * mp.log(odds) + mp.mpf(1) / 2
        plain, moved = mp.ncdf(place / s), mp.ncdf((place - 1) / s)
        if removed:
            return (1 - q) * (1 - plain) + q * (1 - moved) - mp.exp(t) * (1 - plain)
        return plain - mp.exp(t) * ((1 - q) * plain + q * moved)

    return curve


def next_to(response: float, rest: Curve) -> Curve:
    """The same after randomised response."""
    e = mp.mpf(response)
    right = 1 / (1 + mp.exp(-e))
    return lambda t: right * rest(t - e) + (1 - right) * rest(t + e)


def after_gaussian(mu: float, rate: float, rest: Curve, removed: bool) -> Curve:
    """The same after a Gaussian mechanism, by an integral over its outcomes."""
    m, corner = mp.mpf(mu), mp.log1p(-mp.mpf(rate)) * (1 if removed else -1)

    def curve(t: mp.mpf) -> mp.mpf:
        kink = min(max((t - corner - m * m / 2) / m, mp.mpf(-11)), mp.mpf(11))
        places = sorted({mp.mpf(-12), mp.mpf(-4), mp.mpf(0), mp.mpf(4), mp.mpf(12), kink})
        return mp.quad(lambda x: mp.npdf(x) * rest(t - m * m / 2 - m * x), places)

    return curve


CASES = {
    "a record removed": (PoissonRemove(0.8, 0.3), True),
    "a record added": (PoissonAdd(0.8, 0.3), False),
    "a record in a thousand": (PoissonRemove(3.3, 0.001), True),
}
"""Next to Gaussian noise and a certain response: two rounds alone would be listed."""


def composed(name: str) -> tuple[list[tuple[PrivacyLoss, int]], Curve]:
    loss, removed = CASES[name]
    curve = after_gaussian(0.3, loss.rate, sampled(loss.sigma, loss.rate, removed), removed)
    parts = [(RandomisedResponseLoss.of({40.0: 1}), 1), (GaussianLoss(0.3), 1), (loss, 1)]
    return parts, next_to(40.0, curve)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
def test_the_rest_has_a_negative_epsilon(name: str, delta: float) -> None:
    parts, whole = composed(name)
    found = bracket_epsilon(parts, delta)
    assert found.relative_width <= 1e-6
    with mp.workdps(25):
        assert whole(mp.mpf(found.lower)) >= delta >= whole(mp.mpf(found.upper))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [37.0, 39.5, 39.99])
def test_delta_below_what_is_certain(name: str, epsilon: float) -> None:
    parts, whole = composed(name)
    found = bracket_delta(parts, epsilon)
    assert found.relative_width <= 1e-5
    with mp.workdps(25):
        assert found.lower <= whole(mp.mpf(epsilon)) <= found.upper


@pytest.mark.parametrize("count", [1, 20])
def test_nothing_is_known_of_the_reversed_pairs(count: int) -> None:
    """The outcomes are summed one by one; the enclosure is as wide as δ(0) is large."""
    low, high = (mp.mpf(-0.5), mp.mpf(0.2)), (mp.mpf(0.3), mp.mpf(0.7))
    rest: list[tuple[PrivacyLoss, int]] = [
        (DiscreteLoss(np.array([-0.5, 0.3]), np.array([0.2, 0.7])), count)
    ]
    found = AnyArgument(LossSum.of(rest), enclosed, 1e-6).epsilon(0.9, 1e-6)

    def delta(t: mp.mpf) -> mp.mpf:
        total = mp.mpf(0)
        for i in range(count + 1):
            for j in range(count - i + 1):
                ways = mp.binomial(count, i) * mp.binomial(count - i, j)
                mass = ways * low[1] ** i * high[1] ** j * (1 - low[1] - high[1]) ** (count - i - j)
                total += mass * max(0, 1 - mp.exp(t - low[0] * i - high[0] * j))
        return total

    with mp.workdps(40):
        assert delta(mp.mpf(found.low)) >= mp.mpf(0.9) >= delta(mp.mpf(found.high))
        assert found.low >= mp.log(mp.mpf(0.1)) * (1 + mp.mpf(10) ** -14)
