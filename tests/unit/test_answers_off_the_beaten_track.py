"""Answers that no plain composition goes through, against other formulas."""

from __future__ import annotations

import math

import pytest
from mpmath import mp
from scipy.optimize import minimize_scalar

from dpcalc.accounting.composition import chernoff, worst_delta
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt
from dpcalc.accounting.gaussian import gaussian_mu
from dpcalc.guarantees import GDP, PrivacyProfile
from dpcalc.guarantees.claimed import ClaimedCurve
from dpcalc.theorems.averages import COMPOSED
from dpcalc.theorems.catalogue import privacy_result


@pytest.mark.parametrize("delta", [1e-9, 0.05, 0.0999, 0.1, 0.4, 0.9])
def test_total_variation_of_a_gaussian(delta: float) -> None:
    """At ε = 0, δ = erf(μ/√8): mpmath's inverse error function with forty digits."""
    with mp.workdps(40):
        exact = mp.sqrt(8) * mp.erfinv(mp.mpf(delta))
        found = gaussian_mu(0.0, delta)
        assert mp.mpf(found) <= exact < mp.mpf(math.nextafter(found, 9.0))


@pytest.mark.parametrize(("mu", "delta"), [(0.01, 1e-6), (1.0, 1e-12), (8.0, 1e-3), (1e-5, 1e-9)])
def test_chernoff_for_a_gaussian(mu: float, delta: float) -> None:
    """K(c) = c(c+1)μ²/2; the best of all orders by scipy, which a grid of orders just misses."""

    def at(log_c: float) -> float:
        c = math.exp(log_c)
        entropy = c * math.log(c) - (1 + c) * math.log1p(c)
        return (c * (c + 1) * mu**2 / 2 + entropy - math.log(delta)) / c

    best = minimize_scalar(at, bounds=(-13, 18), method="bounded", options={"xatol": 1e-9}).fun
    losses = GDP(mu).losses()
    assert losses is not None
    query = EpsilonAt(delta, 1e-6)
    found = chernoff.enclose(LossSum.of(losses[0]), query)
    assert best <= found.upper <= best * 1.02


def test_nothing_released_reveals_nothing() -> None:
    found = worst_delta(((),), 0.5, relative_width=1e-6)
    assert (found.lower, found.upper) == (0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_claimed_curve_read_the_other_way(epsilon: float) -> None:
    """ε = -ln(δ)/4, so δ = e^(-4ε); the smallest double at which the formula is kept."""
    curve = ClaimedCurve(lambda delta: -math.log(delta) / 4, {})
    found = curve.delta(epsilon)
    assert found == pytest.approx(math.exp(-4 * epsilon), rel=1e-14)
    assert curve.epsilon(found) <= epsilon < curve.epsilon(math.nextafter(found, 0.0))
    assert (curve.delta(math.inf), curve.delta(0.0)) == (0.0, 1.0)


@pytest.mark.parametrize("order", [1.5, 4.0])
def test_the_divergence_of_a_profile_is_that_of_its_losses(order: float) -> None:
    """A Gaussian's is αμ²/2; the pair that the dots of its profile imply dominates it closely."""
    mu = 0.7
    losses = GDP(mu).losses()
    found = PrivacyProfile(GDP(mu).delta, dominating=losses).renyi(order)
    assert order * mu**2 / 2 * (1 - 1e-12) <= found <= order * mu**2 / 2 * (1 + 1e-6)


def test_what_every_iterate_costs_says_its_numbers() -> None:
    """For an average of iterates all steps are composed; the table names their μ."""
    kind = privacy_result("noisy-sgd")
    given = {**kind.example, "release": "average-of-iterates"}
    found = kind.from_parameters(given, "all").certified()
    assert found.method.startswith(COMPOSED)
    step = 2 * given["lipschitz"] / (given["batch_size"] * given["sigma"])
    assert found.numbers["step_mu"] == pytest.approx(step, rel=1e-12)
    assert found.numbers["counted_steps"] == given["steps"]
