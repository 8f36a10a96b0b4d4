"""Every law's tilted moments, ratios and error bounds against forty digits from its definition.

An error bound is held to two sides: the error is below it, and it is what its statement charges, so
that a bound that is needlessly wide is noticed like one that is too narrow.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    LossDistribution,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.discrete import _rounded_sum
from dpcalc.accounting.losses.distribution import LOG1P_ERROR, UNIT_ROUNDOFF
from tests.unit.tilted_moments import ATOMS, LAWS, NAMES, log_ratios, moment

ORDERS = (0.03, 1.0, 7.5)

pytestmark = pytest.mark.usefixtures("fifty_digits")


def exact_cumulants(law: LossDistribution, c: float) -> list[float]:
    with mp.workdps(40):
        log_moment = lambda z: mp.log(moment(law, z))  # noqa: E731
        return [float(mp.diff(log_moment, mp.mpf(c), n)) for n in (0, 1, 2)]


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_cumulants_are_derivatives_of_the_log_moment(law: LossDistribution) -> None:
    found = law.cumulants(np.array(ORDERS))
    assert found.shape == (3, 3)
    for k, c in enumerate(ORDERS):
        value, mean, variance = exact_cumulants(law, c)
        assert found[0, k] == pytest.approx(value, rel=1e-13, abs=1e-16)
        # Laplace's are differences, and only guide choices.
        loose = 1e-3 if isinstance(law, LaplaceLoss) else 1e-11
        assert found[1, k] == pytest.approx(mean, rel=loose)
        assert found[2, k] == pytest.approx(variance, rel=5 * loose)


@pytest.mark.parametrize("c", ORDERS)
@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_tilted_moments(law: LossDistribution, c: float) -> None:
    _, mean, variance = exact_cumulants(law, c)
    tilted = law.tilted(c)
    with mp.workdps(40):
        exact = mp.log(moment(law, mp.mpf(c)))
        assert abs(exact - tilted.log_moment) <= tilted.rounding
    loose = 1e-3 if isinstance(law, LaplaceLoss) else 1e-11
    assert tilted.mean == pytest.approx(mean, rel=loose)
    assert tilted.variance == pytest.approx(variance, rel=5 * loose)
    assert tilted.spread >= math.sqrt(variance) * (1 - 1e-12)
    if not isinstance(law, LaplaceLoss):
        assert tilted.spread <= math.sqrt(variance) * (1 + 2e-6)


@pytest.mark.parametrize("uses", [1, 1000])
@pytest.mark.parametrize(("start", "stop"), [(0, 40), (37, 70), (300, 340)])
@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_ratios_are_within_their_error(
    law: LossDistribution, start: int, stop: int, uses: int
) -> None:
    c, step = 0.8, 0.05
    values, errors = law.tilted(c).log_ratio(step, start, stop, uses)
    assert values.shape == errors.shape == (stop - start,)
    with mp.workdps(40):
        exact = log_ratios(law, c, [mp.mpf(step * n) for n in range(start, stop)])
        off = [float(abs(mp.exp(mp.mpc(v)) / e - 1)) for v, e in zip(values, exact, strict=True)]
    assert np.all(np.array(off) <= errors + 2.0**-52 * np.abs(values))


def test_the_error_of_a_gaussian_ratio() -> None:
    tilted = GaussianLoss(0.4).tilted(0.8)
    values, errors = tilted.log_ratio(0.05, 3, 9)
    np.testing.assert_allclose(errors, 8 * UNIT_ROUNDOFF * (values.imag - values.real), rtol=1e-12)
    assert tilted.rounding == 8 * UNIT_ROUNDOFF * tilted.log_moment
    assert tilted.log_moment == pytest.approx(0.16 * 0.8 * 1.8 / 2, rel=1e-14)


def test_the_error_of_a_mixture_ratio() -> None:
    mus, weights = np.array([0.3, 0.8]), np.array([0.4, 0.2])
    tilted = GaussianMixtureLoss(tuple(mus), tuple(weights)).tilted(0.8)
    values, errors = tilted.log_ratio(0.05, 3, 9)
    y, square = 0.05 * np.arange(3, 9), mus**2
    held = weights * np.exp(square * 0.8 * 1.8 / 2)
    total = 1 - 0.6 + held.sum()
    exposure = float((held * square).sum()) * 1.8 / total
    each = 34 * UNIT_ROUNDOFF * (y + y * y) * exposure / np.abs(np.exp(values))
    np.testing.assert_allclose(errors, each + LOG1P_ERROR * np.abs(values), rtol=1e-9)
    unit = 34 * UNIT_ROUNDOFF
    assert tilted.rounding == pytest.approx(unit * (0.8 * exposure + total - 1), rel=1e-9)


def test_the_error_of_a_ratio_of_responses() -> None:
    tilted = RandomisedResponseLoss.of({0.7: 3}).tilted(0.8)
    values, errors = tilted.log_ratio(0.05, 3, 9)
    y = 0.05 * np.arange(3, 9)
    ratio = values / 3
    each = 32 * UNIT_ROUNDOFF * 0.7 * y / np.abs(np.exp(ratio))
    each += (LOG1P_ERROR + UNIT_ROUNDOFF) * np.abs(ratio)
    np.testing.assert_allclose(errors, 3 * each, rtol=1e-9)
    moment_, size = exact_cumulants(RandomisedResponseLoss.of({0.7: 1}), 0.8)[0], 0.56 * 1.7
    assert tilted.rounding == pytest.approx(65 * UNIT_ROUNDOFF * 3 * (size + moment_), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_the_error_of_a_laplace_ratio(epsilon: float) -> None:
    c = 0.8
    tilted = LaplaceLoss(epsilon, epsilon).tilted(c)
    values, errors = tilted.log_ratio(0.05, 3, 9)
    size = np.abs(c + 0.05j * np.arange(3, 9))
    scale = (size + 1) * epsilon + ((c + 1) * epsilon >= 0.5)
    each = 128 * UNIT_ROUNDOFF * scale * np.exp(-values.real)
    each += 2 * LOG1P_ERROR * (np.abs(values) + 2 * size * epsilon)
    np.testing.assert_allclose(errors, each, rtol=1e-9)
    at_zero = 128 * UNIT_ROUNDOFF * ((c + 1) * epsilon + ((c + 1) * epsilon >= 0.5))
    at_zero += 4 * LOG1P_ERROR * c * epsilon
    assert tilted.rounding == pytest.approx(at_zero, rel=3e-3)


def test_the_error_of_a_ratio_of_atoms() -> None:
    """By products: masses, their places and roundings, each with the weight that it carries."""
    c, step = 0.8, 0.05
    tilted = ATOMS.tilted(c)
    values, errors = tilted.log_ratio(step, 3, 40, 1000)
    y = step * np.arange(3, 40)
    growth = np.exp(c * ATOMS.losses)
    total = float(moment(ATOMS, mp.mpf(c)))
    exposed = np.maximum(growth, 1) * (ATOMS.masses * np.abs(ATOMS.losses) + ATOMS.blur)
    exposure = 1.25 * float(exposed.sum()) / total
    relative = 1e-14 + UNIT_ROUNDOFF * (64 + 4 + 8 * (8 + 37 // 8))
    modulus = np.abs(np.exp(values))
    assert np.all(modulus < 1)  # so that the part of c that no error of M(c) covers shows
    each = (y + c * (1 - modulus)) * exposure * relative / modulus + LOG1P_ERROR * np.abs(values)
    np.testing.assert_allclose(errors, each, rtol=1e-9)
    rounding = c * exposure * (1e-14 + 64 * UNIT_ROUNDOFF)
    rounding += 16 * UNIT_ROUNDOFF * min(1.0, abs(total - 1))
    assert tilted.rounding == pytest.approx(rounding, rel=1e-9)
    # By transforms the absolute error of those comes on top.
    few, more = tilted.log_ratio(step, 3, 40, 1)
    np.testing.assert_allclose(few, values, rtol=1e-11)
    assert np.all(more > errors)
    assert np.all(more < 1e-11)


@pytest.mark.parametrize("stop", [12, 256, 257, 600])
def test_products_keep_the_accuracy_that_many_uses_need(stop: int) -> None:
    """A ratio next to one is right relative to its distance from one, wherever a block begins."""
    losses = np.array([-2e-6, 1e-6, 3e-6])
    law = DiscreteLoss(losses, np.array([0.3, 0.3, 0.4]))
    tilted, step = law.tilted(2.0), 0.01
    for start in (0, 5, 11):
        values, errors = tilted.log_ratio(step, start, stop, 10**9)
        with mp.workdps(40):
            ys = [mp.mpf(step * n) for n in range(start, stop)]
            exact = [mp.log(r) for r in log_ratios(law, 2.0, ys)]
            off = [float(abs(mp.mpc(v) - e)) for v, e in zip(values, exact, strict=True)]
        assert np.all(np.array(off) <= errors)
        assert np.all(errors[1:] <= 1e-12 * np.abs(values[1:]))


def test_terms_from_large_to_small_have_the_sum_of_any_order() -> None:
    """The nearest double to the sum, whatever the order: no bit of a moment depends on it."""
    random = np.random.default_rng(2)
    for _ in range(50):
        terms = random.standard_normal(400) * np.exp(random.uniform(-140, 3, 400))
        assert _rounded_sum(terms) == math.fsum(terms) == math.fsum(random.permutation(terms))
    assert _rounded_sum(np.array([1e16, 1.0, -1e16])) == 1.0
    assert _rounded_sum(np.array([])) == 0.0
