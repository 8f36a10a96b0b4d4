"""Moduli of moments, sums of atoms and what is known of single laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    LossDistribution,
    RandomisedResponseLoss,
    constant_loss,
    disclosure,
)
from dpcalc.accounting.losses.modulus import ModulusBounds
from tests.unit.tilted_moments import ATOMS, LAWS, NAMES, log_ratios, moment

pytestmark = pytest.mark.usefixtures("fifty_digits")


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_moduli_are_bounded_over_intervals_and_at_nodes(law: LossDistribution) -> None:
    c, step = 0.8, 0.3
    tilted = law.tilted(c)
    edges = np.geomspace(0.2, 60.0, 40)
    inside = [np.linspace(low, high, 9) for low, high in itertools.pairwise(edges)]
    with mp.workdps(30):
        heights = [max(float(mp.log(abs(r))) for r in log_ratios(law, c, ys)) for ys in inside]
        nodes = [float(abs(r)) for r in log_ratios(law, c, [step * n for n in range(80)])]
    before = np.zeros(len(heights))
    for level in range(tilted.refinements):
        bound = tilted.log_modulus_bound(edges, level)
        assert np.all(bound <= 0)
        assert np.all(bound >= np.array(heights) - 1e-13)
        before = np.minimum(before, bound)
    at_nodes = tilted.node_moduli(step, 80)
    assert len(at_nodes) >= 80
    assert np.all(at_nodes[:80] >= np.array(nodes) * (1 - 1e-13))


@pytest.mark.parametrize("mu", [0.4, 3.0])
def test_a_gaussian_modulus_is_that_of_an_intervals_left_end(mu: float) -> None:
    edges = np.array([0.5, 1.0, 4.0])
    found = GaussianLoss(mu).tilted(1.0).log_modulus_bound(edges, 0)
    np.testing.assert_allclose(found, -(mu**2) * edges[:2] ** 2 / 2, rtol=2e-12)
    mixture = GaussianMixtureLoss((mu,), (0.25,)).tilted(1.0)
    weight = 0.25 * math.exp(mu**2) / (0.75 + 0.25 * math.exp(mu**2))
    truth = np.log(1 - weight + weight * np.exp(-(mu**2) * edges[:2] ** 2 / 2))
    np.testing.assert_allclose(mixture.log_modulus_bound(edges, 0), truth, rtol=1e-9)


def test_a_modulus_of_responses_is_sharp_between_their_zeros() -> None:
    tilted = RandomisedResponseLoss.of({0.7: 3}).tilted(0.5)
    edges = np.array([0.5, 1.0, 2.0, 4.0, 5.0])
    least = [math.sin(0.35), math.sin(0.7), math.sin(2.8), 0.0]  # past π the sine has a zero
    rare = 1 / math.cosh(0.7) ** 2
    truth = [1.5 * math.log1p(-rare * s * s) for s in least]
    np.testing.assert_allclose(tilted.log_modulus_bound(edges, 0), truth, rtol=1e-10, atol=1e-300)


def test_a_laplace_modulus_charges_the_pairs_next_to_its_end() -> None:
    epsilon, c = 0.7, 0.5
    tilted = LaplaceLoss(epsilon, epsilon).tilted(c)
    edges = np.array([0.1, 1.0, 5.0, 40.0])
    reach = np.minimum(1 / edges[1:], 1.4)
    # Tilted: the atom at ε has w = e^{cε}/2M, the density at its end g = e^{cε}/4M.
    top = math.exp(c * epsilon) / float(moment(LaplaceLoss(epsilon, epsilon), mp.mpf(c)))
    pairs = 0.4583 * edges[:-1] ** 2 * 2 * (top / 2) * (top / 4)
    pairs *= np.exp(-(c + 0.5) * reach) * reach**3 / 3
    found = tilted.log_modulus_bound(edges, 0)
    np.testing.assert_allclose(found, np.log1p(-pairs) / 2, rtol=2e-6)


def atoms_on_a_line(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(size)
    return rng.normal(size=size), rng.dirichlet(np.ones(size))


def brute_pairs(losses: np.ndarray, weights: np.ndarray, low: float, high: float) -> float:
    """√(1 - 0.4583y²E[(L-L')²]) over pairs in the same window of width 1/y around the mean."""
    centred = losses - float(weights @ losses)
    window = np.floor(centred * high + 0.5)
    total = 0.0
    for k in np.unique(window):
        x, p = centred[window == k], weights[window == k]
        total += float(p @ (x[:, None] - x) ** 2 @ p)
    return math.sqrt(1 - 0.4583 * low**2 * total)


@pytest.mark.parametrize("size", [3, 40])
def test_bounds_by_pairs(size: int) -> None:
    losses, weights = atoms_on_a_line(size)
    centred = losses - float(weights @ losses)
    spread = math.sqrt(float(weights @ centred**2))
    bounds = ModulusBounds(losses, weights, spread)
    edges = np.array([0.05, 0.3, 0.9, 1.4])
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        # Level 0 counts the pairs within 1/2y of the mean alone.
        near = np.abs(centred) <= 0.5 / high
        x, p = centred[near], weights[near]
        pairs = float(p @ (x[:, None] - x) ** 2 @ p)
        coarse = 0.5 * math.log(1 - 0.4583 * low**2 * pairs)
        assert bounds.log_bound(edges, 0)[k] == pytest.approx(coarse, rel=1e-6, abs=1e-11)
        both = bounds.log_bound(edges, 2)[k]
        assert both <= math.log(brute_pairs(losses, weights, low, high)) + 1e-8
    fine = np.linspace(0.05, 0.3, 200)
    truth = np.abs(np.exp(1j * np.multiply.outer(fine, losses)) @ weights).max()
    for level in (1, 2):
        sampled = bounds.log_bound(edges, level)[0]
        assert math.log(truth) <= sampled + 1e-13
    # A sample every quarter of 1/y, at most 24 deviations off: the modulus to a few percent.
    assert bounds.log_bound(edges, 2)[2] <= 0.5 * math.log(
        np.abs(np.exp(1j * np.multiply.outer(np.linspace(0.9, 1.4, 99), losses)) @ weights).max()
    )


def test_sampled_moduli_are_near_the_truth() -> None:
    rng = np.random.default_rng(5)
    losses, weights = rng.normal(size=400), np.full(400, 1 / 400)
    spread = float(np.std(losses))
    bounds = ModulusBounds(losses, weights, spread)
    edges = np.array([1.0, 1.05, 2.0, 2.05])
    truth = np.abs(np.exp(1j * np.multiply.outer(edges, losses)) @ weights)
    for level, off in ((1, 0.2), (2, 0.08)):
        found = np.exp(bounds.log_bound(edges, level))
        assert found[0] >= truth[0]
        assert found[0] - truth[0] < off
        assert found[2] - truth[2] < off


def test_a_sum_of_atoms_brackets_its_profile() -> None:
    """Masses are right to their error; a loss that may have been rounded below ε counts as well."""
    for epsilon in (0.0, 0.29, 0.7, 1.1, 2.0):
        low, high = ATOMS.delta(epsilon)
        held = [(loss, p) for loss, p in zip(ATOMS.losses, ATOMS.masses, strict=True)]
        value = sum(p * -math.expm1(epsilon - loss) for loss, p in held if loss > epsilon)
        exposed = sum(
            p * abs(loss) + b
            for (loss, p), b in zip(held, ATOMS.blur, strict=True)
            if loss + 1e-9 * abs(loss) > epsilon
        )
        error = 2e-14 * (value + exposed)
        assert high == pytest.approx(0.01 + value + error, abs=3e-17)
        assert low == pytest.approx(0.01 + max(value - error, 0.0), abs=3e-17)
    assert ATOMS.supremum == 1.1
    assert ATOMS.total_variation_bound == ATOMS.delta(0.0)[1]
    assert DiscreteLoss(np.array([-1.0]), np.array([1.0])).supremum == 0.0
    assert DiscreteLoss(np.array([50.0]), np.array([1.0])).total_variation_bound == 1.0


def test_far_atoms_overflow_to_infinity_and_nothing_else() -> None:
    law = DiscreteLoss(np.array([100.0, 1.0]), np.array([0.1, 0.2]))
    near, far = law.cumulants(np.array([6.0, 7.0]))[0]
    assert near == pytest.approx(math.log(0.1) + 600.0, rel=1e-12)
    assert far == math.inf
    mixed = GaussianMixtureLoss((1.0,), (0.5,)).cumulants(np.array([36.0, 37.0]))[0]
    assert mixed[0] == pytest.approx(36 * 37 / 2 + math.log(0.5), rel=1e-12)
    assert mixed[1] == math.inf


def test_what_is_known_of_single_laws() -> None:
    laplace = LaplaceLoss(0.7, 0.7)
    assert laplace.total_variation_bound == pytest.approx(1 - math.exp(-0.35), rel=1e-13)
    assert laplace.total_variation_bound > 1 - math.exp(-0.35)
    low, high = laplace.delta(0.3)
    truth = 1 - math.exp(-0.2)
    assert truth * (1 - 2e-14) < low < truth < high < truth * (1 + 2e-14)
    assert laplace.delta(0.7) == (0, 0)
    assert laplace.delta(0.9) == (0, 0)
    assert 0.5 * (1 - 1e-14) < laplace.mass_at_supremum < 0.5
    gaussian = GaussianLoss(1.0)
    assert 0.38 < gaussian.total_variation_bound < 0.4
    assert GaussianLoss(50.0).total_variation_bound == 1.0
    assert gaussian.delta(0.5) is None
    assert gaussian.mass_at_supremum == 0
    assert gaussian.supremum == math.inf
    assert constant_loss().infinite_mass == 1
    assert disclosure(0.25).delta(3.0) == (0.25, 0.25)
    responses = RandomisedResponseLoss.of({0.7: 3, 0.2: 1})
    product = (1 - math.tanh(0.35)) ** 3 * (1 - math.tanh(0.1))
    assert 0 < responses.total_variation_bound - (1 - product) < 3e-12
    p, q = 1 / (1 + math.exp(-0.7)), 1 / (1 + math.exp(-0.2))
    assert 0 < 1 - responses.mass_at_supremum / (p**3 * q) < 5e-12
    assert 2.3 < responses.supremum < 2.3 * (1 + 1e-14)
    assert RandomisedResponseLoss.of({50.0: 1}).total_variation_bound == 1.0


def test_few_responses_have_a_direct_sum_and_many_have_none() -> None:
    law = RandomisedResponseLoss.of({0.7: 3, 0.2: 1})
    p, q = mp.e**0.7 / (1 + mp.e**0.7), mp.e**0.2 / (1 + mp.e**0.2)
    for epsilon in (0.0, 0.9, 1.9000000001, 2.3, 3.0):
        truth = mp.mpf(0)
        for k in range(4):
            for sign, r in ((1, q), (-1, 1 - q)):
                gain = 1 - mp.exp(epsilon - ((2 * k - 3) * mp.mpf(0.7) + sign * mp.mpf(0.2)))
                truth += max(gain, 0) * mp.binomial(3, k) * p**k * (1 - p) ** (3 - k) * r
        found = law.delta(epsilon)
        assert found is not None
        low, high = found
        assert low <= truth <= high
        # Two kinds of rounds: 2e-13 and a slip of the losses.
        assert high - low <= 1.3e-12 * float(truth) + 1e-15
    assert RandomisedResponseLoss.of({0.7: 1001}).delta(1.0) is None
    assert RandomisedResponseLoss.of({0.1: 400, 0.2: 400}).delta(1.0) is None


def test_next_to_no_noise_at_all_is_no_error() -> None:
    """The square of μ leaves the doubles; the answer is then that nothing is hidden."""
    for mu in (1e155, 1e300):
        parts = [(GaussianLoss(mu), 1), (LaplaceLoss(0.5, 0.5), 2)]
        assert bracket_epsilon(parts, 1e-6).upper == math.inf
        found = bracket_delta(parts, 1.0)
        assert found.upper == 1.0
        assert found.method == "one release alone tells as good as all"
