"""The parts of a contour integral, each against a plain recomputation or a closed form.

A Gaussian loss smoothed by s is a Gaussian loss with μ² + s², so that both bounds of a contour sum are
known in closed form up to its aliases, which stay below 1e-9 of δ, and its rounding.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import bracket_delta, two_rounds
from dpcalc.accounting.contour.contour_sum import ContourSum, contour_sum
from dpcalc.accounting.contour.saddle_points import (
    Contour,
    SaddlePoints,
    summed_cumulants,
)
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    RandomisedResponseLoss,
    disclosure,
)
from tests.oracles.exact import gaussian_delta
from tests.unit.contour_laws import LAPLACE, RESPONSES

pytestmark = pytest.mark.usefixtures("fifty_digits")


def smoothed(mu: float, s: float, epsilon: float) -> float:
    """δ of the Gaussian mechanism composed with one of μ = s."""
    return float(gaussian_delta(math.hypot(mu, s), epsilon))


def chord(mu: float, s: float, epsilon: float) -> float:
    """The lower bound that the chord inequality gives."""
    left, right = smoothed(mu, s, epsilon - 2 * s), smoothed(mu, s, epsilon + 2 * s)
    mean = (math.exp(s) * left + math.exp(-s) * right) / (math.exp(s) + math.exp(-s))
    return 2 * smoothed(mu, s, epsilon) - mean


def gaussian_sum(mu: float, epsilon: float, smoothing: float, most: int = 4000) -> ContourSum:
    rounds = [(GaussianLoss(mu), 1)]
    contour = SaddlePoints(rounds).contour_for_epsilon(epsilon)
    return contour_sum(rounds, contour, smoothing=smoothing, most_nodes=most)


@pytest.mark.parametrize(
    ("mu", "epsilon", "smoothing"),
    [(1.0, 0.5, 0.05), (1.0, 5.0, 0.01), (3.0, 2.0, 0.2), (0.05, 0.1, 0.004), (6.0, 30.0, 0.3)],
)
def test_both_bounds_are_those_of_the_smoothed_law(
    mu: float, epsilon: float, smoothing: float
) -> None:
    found = gaussian_sum(mu, epsilon, smoothing)
    assert found.smoothing == smoothing
    truth, above = float(gaussian_delta(mu, epsilon)), smoothed(mu, smoothing, epsilon)
    upper, lower = found.upper(epsilon), found.lower(epsilon)
    assert lower < truth < upper
    # Aliases are below 1e-9 of δ; the growth of the integrand, at most e^8 here, costs digits.
    assert 0 <= upper / above - 1 < 2e-9
    below = chord(mu, smoothing, epsilon)
    weight = 2 + math.cosh(2 * smoothing * (found.c + 0.5))
    assert 0 <= below - lower < 4e-9 * weight * above


@pytest.mark.parametrize("shift", [-0.05, 0.02, 0.3])
def test_a_contour_serves_its_neighbours(shift: float) -> None:
    found = gaussian_sum(1.0, 2.0, 0.02)
    epsilon = 2.0 + shift
    assert 0 <= found.upper(epsilon) / smoothed(1.0, 0.02, epsilon) - 1 < 1e-8
    assert 0 <= chord(1.0, 0.02, epsilon) - found.lower(epsilon) < 1e-7 * found.upper(epsilon)


def of_atoms(atoms: list[tuple[float, float]], s: float, epsilon: float) -> float:
    """δ of a loss with these values and probabilities, composed with a Gaussian one of μ = s."""
    return float(sum(p * gaussian_delta(s, epsilon - loss) for loss, p in atoms))


@pytest.mark.parametrize(("epsilon", "smoothing", "most"), [(0.6, 1e-6, 200), (1.3, 1e-4, 300)])
def test_too_few_nodes_are_smoothed_more(epsilon: float, smoothing: float, most: int) -> None:
    """The nodes of a lattice of losses come back for ever; how much is smoothed the sum says."""
    rounds = [(RandomisedResponseLoss.of({0.7: 3}), 1)]
    p = 1 / (1 + math.exp(-0.7))
    atoms = [((2 * k - 3) * 0.7, math.comb(3, k) * p**k * (1 - p) ** (3 - k)) for k in range(4)]
    contour = Contour(1.5, 40.0, 9.0, epsilon, -1.0, 1.5)
    found = contour_sum(rounds, contour, smoothing=smoothing, most_nodes=most)
    used = found.smoothing
    assert used == pytest.approx(min(6.6 / (most * 2 * math.pi / 40.0), 0.3), rel=1e-12)
    left, right = (of_atoms(atoms, used, epsilon + side * 2 * used) for side in (-1, 1))
    above = of_atoms(atoms, used, epsilon)
    below = 2 * above - (math.exp(used) * left + math.exp(-used) * right) / 2 / math.cosh(used)
    # Left out is what the smoothing leaves at 6.6/s, e^{-21.8} of the first node each.
    assert 0 <= found.upper(epsilon) / above - 1 < 1e-6
    assert -1e-5 * above < found.lower(epsilon) - below <= 1e-12


def test_infinite_losses_count_whole() -> None:
    rounds = [(GaussianLoss(1.0), 1), (disclosure(0.001), 3)]
    contour = SaddlePoints(rounds).contour_for_epsilon(1.0)
    found = contour_sum(rounds, contour, smoothing=0.005, most_nodes=4000)
    revealed = 1 - 0.999**3
    assert found.infinite == pytest.approx(revealed, rel=1e-13)
    truth = revealed + (1 - revealed) * float(gaussian_delta(1.0, 1.0))
    assert found.lower(1.0) < truth < found.upper(1.0)
    assert found.upper(1.0) - found.lower(1.0) < 3e-4 * truth
    # Where the chord says nothing, what is revealed still stands.
    wide = contour_sum(rounds, contour, smoothing=0.3, most_nodes=4000)
    assert wide.lower(-200.0) == pytest.approx(revealed, rel=1e-12)


@pytest.mark.parametrize("probability", [3e-5, 1e-20, 3.5573249176669054e-27])
def test_infinite_losses_alone_are_enclosed_to_the_last_digit(
    monkeypatch: pytest.MonkeyPatch, probability: float
) -> None:
    """What was rounded up is rounded down by more."""
    monkeypatch.setattr(two_rounds, "enclose", lambda *_: None)
    rare = DiscreteLoss(np.array([-1.1, -0.7]), np.array([1e-16, 1e-16]), infinite_mass=probability)
    found = bracket_delta([(rare, 2), (GaussianLoss(0.00133), 1)], 1e4)
    truth = mp.mpf(probability) * (2 - mp.mpf(probability))
    assert found.lower <= truth <= found.upper <= truth * (1 + mp.mpf("1e-13"))


def test_what_a_sum_says_of_itself() -> None:
    rounds = [(LAPLACE, 5), (RESPONSES, 2)]
    contour = Contour(1.5, 40.0, 9.0, 1.0, -3.0, 1.5)
    found = contour_sum(rounds, contour, smoothing=0.1, most_nodes=4000)
    assert found.c == 1.5
    assert found.step == 2 * math.pi / 40.0
    assert found.nodes[0] == 0
    assert found.values[0] == pytest.approx(1.0, abs=1e-14)
    assert np.diff(found.nodes).min() == pytest.approx(found.step)
    assert 5 * 0.7 + 2 * 2.3 <= found.largest <= (5 * 0.7 + 2 * 2.3) * (1 + 1e-11)
    np.testing.assert_allclose(found.orders, [9.0, math.sqrt(1.5 * 9.0), 13.5])
    gain = 0.005
    plain = summed_cumulants(rounds, found.orders)[0]
    np.testing.assert_allclose(found.exponents, plain + gain * found.orders * (found.orders + 1))
    at_c = summed_cumulants(rounds, np.array([1.5]))[0, 0]
    scale = at_c + gain * 1.5 * 2.5 - math.log(1.5 * 2.5)
    assert found.log_scale == pytest.approx(scale, rel=1e-12)
    assert found.truncated < 1e-8
    assert found.rounding < 1e-11
