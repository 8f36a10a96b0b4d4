"""Densities, cells and laws of single mechanisms, each against mpmath, plain sums or other formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, disclosure
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import (
    CellPlan,
    cell_laws,
    coarse_upper,
    plan_cells,
    upper_and_lower,
)
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate, MovedGaussian
from dpcalc.accounting.losses.laplace_density import LaplaceBody
from dpcalc.accounting.losses.objective_perturbation import (
    Losses,
    linked_loss,
    removal_laws,
    replacement_law,
)
from dpcalc.accounting.losses.privacy_profile import (
    law_from_distributions,
    loss_from_profile,
    probabilities,
    sample_profile,
)
from dpcalc.accounting.losses.quadrature import mass_errors
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.losses.two_steps import Curve, lower_of, meet
from dpcalc.accounting.losses.user_densities import from_user_densities
from dpcalc.accounting.renyi import failure, log_moment, renyi_divergence, renyi_given_finite
from dpcalc.errors import AssumptionViolated, InvalidInput, NumericalFailure

UNIT = 2.0**-53

pytestmark = pytest.mark.usefixtures("fifty_digits")


def normal(x, mean, sigma):
    return mp.npdf(mpf(x), mpf(mean), mpf(sigma))


def densities(pair: DensityPair, x: float) -> tuple[mp.mpf, mp.mpf]:
    """p and q from the mechanism's definition."""
    if isinstance(pair, WithoutReplacement):
        q = normal(x, 0, 1)
        return (1 - mpf(pair.rate)) * q + mpf(pair.rate) * normal(x, pair.mu, 1), q
    if isinstance(pair, MovedGaussian):
        return normal(x, mpf(pair.mu) / 2, 1), normal(x, -mpf(pair.mu) / 2, 1)
    if isinstance(pair, LaplaceBody):
        e = mpf(pair.epsilon)
        return mp.exp((x - e) / 2) / 4, mp.exp(-(x + e) / 2) / 4
    assert isinstance(pair, PoissonRemove | PoissonAdd | PoissonReplace)
    r, s = mpf(pair.rate), pair.sigma
    plain = normal(x, 0, s)
    right = (1 - r) * plain + r * normal(x, 1, s)
    left = (1 - r) * plain + r * normal(x, -1, s)
    if isinstance(pair, PoissonRemove):
        return right, plain
    return (plain, left) if isinstance(pair, PoissonAdd) else (right, left)


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


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_densities_and_losses(pair: DensityPair) -> None:
    low, high = pair.truncation_interval(1e-30)
    xs = np.linspace(low, high, 41)
    logs, losses = pair.log_q(xs), pair.loss(xs)
    with mp.workdps(40):
        for x, log_q, loss in zip(xs.tolist(), logs, losses, strict=True):
            p, q = densities(pair, x)
            assert log_q == pytest.approx(float(mp.log(q)), rel=1e-13, abs=1e-13)
            assert loss == pytest.approx(float(mp.log(p / q)), rel=1e-12, abs=1e-14)
    assert np.all(np.diff(losses) >= 0)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("tail", [1e-3, 1e-40])
def test_what_windows_leave_out(pair: DensityPair, tail: float) -> None:
    low, high = pair.truncation_interval(tail)
    if isinstance(pair, LaplaceBody):
        assert (low, high) == (-0.6, 0.6)
        return
    parts, _ = mixtures(pair)
    with mp.workdps(60):
        right = mp.fsum(w * mp.ncdf((m - mpf(high)) / mpf(s)) for w, m, s in parts)
        left = mp.fsum(w * mp.ncdf((mpf(low) - m) / mpf(s)) for w, m, s in parts)
    assert right <= tail
    # The bound of a normal tail, e^{-z²/2}/2, is not far off; a mixture's other part is less.
    assert right >= mpf(tail) * mpf("1e-3") * min(getattr(pair, "rate", 1.0), 1.0)
    assert low == 0.6 if isinstance(pair, WithoutReplacement) else left <= tail


def test_bounds_of_total_variation_noise_and_suprema() -> None:
    assert PoissonRemove(0.8, 0.01).total_variation_bound == 0.01
    assert PoissonRemove(0.5, 0.01).signal_to_noise == 2.0
    assert PoissonReplace(0.5, 0.01).signal_to_noise == 4.0
    assert WithoutReplacement(1.2, 0.3).signal_to_noise == 1.2
    assert WithoutReplacement(1.2, 0.3).total_variation_bound == 0.3
    assert PoissonRemove(0.8, 0.01).supremum == math.inf
    bound = -math.log1p(-0.3)
    assert bound <= PoissonAdd(0.8, 0.3).supremum <= bound * (1 + 2e-14)
    assert PoissonAdd(0.8, 1.0).supremum == math.inf
    body = LaplaceBody(0.6)
    assert body.supremum == 0.6
    assert 0 < body.total_variation_bound - (1 - math.exp(-0.3)) < 1e-14
    assert body.max_cell_width(np.zeros(3)).tolist() == [0.5] * 3
    assert MovedGaussian(0.7).total_variation_bound == 1.0
    assert MovedGaussian(0.7).signal_to_noise == 0.0
    widths = PoissonRemove(0.5, 0.1).max_cell_width(np.array([-2.0, 0.0, 3.0]))
    np.testing.assert_allclose(widths, [0.3 / 7, 0.3 / 3, 0.3 / 9])
    widths = MovedGaussian(0.6).max_cell_width(np.array([-2.0, 0.0]))
    np.testing.assert_allclose(widths, [0.6 / 3.3, 0.6 / 1.3])
    widths = WithoutReplacement(1.2, 0.3).max_cell_width(np.array([0.2, 3.0]))
    np.testing.assert_allclose(widths, [0.6 / 2.4, 0.6 / 5.2])


@pytest.mark.parametrize("exponent", [0.5, 8.0, 60.0])
@pytest.mark.parametrize("pair", PAIRS[:9], ids=repr)
def test_moments_beyond_their_window(pair: DensityPair, exponent: float) -> None:
    (low, high), log_rest = pair.moment_interval(exponent)
    if log_rest == math.inf:
        return
    assert log_rest == -90.0
    with mp.workdps(40):
        s = mpf(exponent)

        def integrand(x):
            p, q = densities(pair, x)
            return p * max((p / q) ** s - 1, mpf(0))

        step = mpf(getattr(pair, "sigma", 1.0))
        right = mp.quad(integrand, [high, high + step, high + 4 * step, high + 30 * step])
        assert right <= mp.exp(-90) * mpf("1.001")
        if not isinstance(pair, WithoutReplacement):
            left = mp.quad(integrand, [low - 30 * step, low - step, low])
            assert left <= mp.exp(-90)
    alpha, root = exponent + 1, math.sqrt(180)
    if isinstance(pair, PoissonAdd):
        growth = -exponent * math.log1p(-pair.rate)
        assert high == pytest.approx(math.sqrt(180 + 2 * growth) * pair.sigma)
        assert low == pytest.approx(-max(high, 0.5))
    else:
        mu = pair.mu if isinstance(pair, WithoutReplacement) else 1 / pair.sigma
        unit = 1.0 if isinstance(pair, WithoutReplacement) else pair.sigma
        growth = -exponent * math.log1p(-pair.rate) if isinstance(pair, PoissonReplace) else 0.0
        reach = math.sqrt(180 + 2 * growth + alpha * exponent * mu * mu)
        assert high == pytest.approx((alpha * mu + reach) * unit)
        start = mu / 2 if isinstance(pair, WithoutReplacement) else -root * unit
        assert low == pytest.approx(start)
    coarse = pair.log_moment_bound(exponent)
    assert log_moment(pair, exponent) <= coarse
    with mp.workdps(30):
        mu = 2 if isinstance(pair, PoissonReplace) else 1
        one = mpf(pair.mu) if isinstance(pair, WithoutReplacement) else mu / mpf(pair.sigma)
        exact = mpf(exponent) * (mpf(exponent) + 1) * one**2 / 2
        assert exact <= coarse <= exact * (1 + mpf("1e-13"))


def test_moments_where_no_window_can_be_had() -> None:
    assert PoissonRemove(1e-160, 0.5).moment_interval(8.0)[1] == math.inf
    window, rest = LaplaceBody(0.6).moment_interval(3.0)
    assert (window, rest) == ((-0.6, 0.6), math.inf)
    assert LaplaceBody(0.6).log_moment_bound(3.0) == math.inf
    assert log_moment(PoissonRemove(1e-5, 0.5), 2.0) == PoissonRemove(1e-5, 0.5).log_moment_bound(
        2.0
    )


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[5], PAIRS[6]], ids=repr)
def test_a_moment_of_a_pair_is_close_above(pair: DensityPair) -> None:
    for exponent in (3.0,):
        with mp.workdps(15):

            def integrand(x, s=exponent):
                p, q = densities(pair, x)
                return p * (p / q) ** mpf(s)

            s = pair.sigma
            far = 1 + exponent + 14 * s
            ends = [-far + k * far / 8 for k in range(17)]
            truth = mp.log(mp.quad(integrand, [*ends, far + 2, far + 8]))
        found = log_moment(pair, exponent)
        assert truth <= found <= float(truth) * (1 + 1e-4)


def test_divergences_and_failures() -> None:
    parts = [(GaussianLoss(0.5), 3), (disclosure(0.1), 2)]
    held = 2 * math.log1p(-0.1)
    assert renyi_divergence(parts, 4.0) == math.inf
    found = renyi_given_finite(parts, 4.0)
    moment = 3 * 0.25 * 3 * 4 / 2 + 2 * math.log(0.9)
    assert found == pytest.approx((moment - 4 * held) / 3, rel=1e-13)
    assert renyi_divergence(parts[:1], 4.0) == pytest.approx(4 * 0.75 / 2, rel=1e-13)
    # Rounded up: a moment is no less than the law's own with its error.
    for mu, order in ((0.5, 3.0), (2.0, 8.0), (30.0, 2.0)):
        tilted = GaussianLoss(mu).tilted(order)
        assert log_moment(GaussianLoss(mu), order) > tilted.log_moment + tilted.rounding
        one = log_moment(GaussianLoss(mu), order - 1) * (1 / (order - 1))
        assert renyi_divergence([(GaussianLoss(mu), 1)], order) > one
    assert renyi_given_finite([(disclosure(1.0), 1)], 4.0) == math.inf
    assert failure(parts) == pytest.approx(0.19, rel=1e-13)
    assert failure(parts) >= 1 - 0.81
    assert failure([(disclosure(1.0), 1)]) == 1.0
    far = DiscreteLoss(np.array([200.0, -1.0]), np.array([0.25, 0.5]))
    value = log_moment(far, 10.0)
    assert 2000 + math.log(0.25) <= value <= (2000 + math.log(0.25)) * (1 + 1e-10)
    edge = DiscreteLoss(np.array([100.0, -1.0]), np.array([0.25, 0.5]))
    for exponent in (5.9, 6.1):
        value = log_moment(edge, exponent)
        assert value == pytest.approx(100 * exponent + math.log(0.25), rel=1e-9)
    user = from_user_densities(
        lambda x: -((x - 0.5) ** 2) / 2 - 0.5 * math.log(2 * math.pi),
        lambda x: -(x**2) / 2 - 0.5 * math.log(2 * math.pi),
        (-11.0, 11.0), 1.0, 1e-20,
    )  # fmt: skip
    assert failure([(user, 3)]) == pytest.approx(6e-20, rel=1e-9)


def test_a_plan_of_cells() -> None:
    pair = PoissonRemove(1.0, 0.2)
    window = pair.truncation_interval(1e-10)
    for c in (0.0, 3.0):
        plan = plan_cells(pair, window, c)
        np.testing.assert_allclose(plan.x, np.linspace(*window, 801))
        middle = (plan.x[1:] + plan.x[:-1]) / 2
        losses = pair.loss(plan.x)
        mean = (losses[1:] + losses[:-1]) / 2
        weight = np.exp(pair.log_q(middle) + (1 + c) * mean)
        weight /= weight.sum()
        density = np.cbrt(weight * np.diff(losses) ** 2)
        np.testing.assert_allclose(plan.density, density / density.sum(), rtol=1e-9)
        width = plan.x[1] - plan.x[0]
        np.testing.assert_allclose(plan.floor, width / pair.max_cell_width(middle), rtol=1e-9)
        assert plan.spread == pytest.approx(float(density.sum()) ** 3, rel=1e-9)
        edges = plan.edges(300)
        assert (edges[0], edges[-1]) == window
        assert len(edges) == math.ceil(300 + plan.floor.sum()) + 1
        assert np.all(np.diff(edges) > 0)
        # What the best cut leaves is what the plan says, over the square of the number of cells.
        cells = CellPlan(plan.x, plan.density, 0 * plan.floor, plan.spread).edges(2000)
        held = pair.loss(cells)
        weights = np.exp(
            pair.log_q((cells[1:] + cells[:-1]) / 2) + (1 + c) * (held[1:] + held[:-1]) / 2
        )
        spread = float((weights / weights.sum() * np.diff(held) ** 2).sum())
        assert spread == pytest.approx(plan.spread / 2000**2, rel=0.15)
    flat = from_user_densities(lambda x: 0 * x, lambda x: 0 * x, (0.0, 1.0), 1.0, 0.0)
    plan = plan_cells(flat, (0.0, 1.0), 0.0)
    assert plan.spread == 0.0
    assert plan.density.tolist() == [1 / 800] * 800
    np.testing.assert_allclose(plan.floor, 10 / 800)


def cell_masses(parts: Mixture, edges: np.ndarray) -> np.ndarray:
    with mp.workdps(50):
        below = [
            mp.fsum(w * mp.ncdf((mpf(x) - m) / mpf(s)) for w, m, s in parts) for x in edges.tolist()
        ]
        return np.array([float(b - a) for a, b in itertools.pairwise(below)])


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[4], PAIRS[8], PAIRS[9]], ids=repr)
def test_laws_around_a_pair(pair: DensityPair) -> None:
    """Cell by cell: P- and Q-mass of both laws are those of the cell."""
    tail = 1e-20
    window = pair.truncation_interval(tail)
    edges = plan_cells(pair, window, 0.0).edges(60)
    losses = pair.loss(edges)
    upper, lower, at_edges, each = cell_laws(pair, edges)
    p, q = (cell_masses(parts, edges) for parts in mixtures(pair))
    np.testing.assert_allclose(lower.masses, p, rtol=1e-12)
    np.testing.assert_allclose(lower.losses, np.log(p / q), rtol=1e-9, atol=1e-13)
    width = np.diff(losses)
    right = (p - np.exp(losses[:-1]) * q) / -np.expm1(-width)
    masses = np.zeros(len(edges))
    masses[:-1] += p - right
    masses[1:] += right
    np.testing.assert_allclose(upper.masses, masses, rtol=1e-5, atol=1e-18)
    assert upper.losses.tolist() == losses.tolist()
    blur = np.append(p * width, 0.0)
    blur[1:] += p * width
    np.testing.assert_allclose(upper.blur, blur, rtol=1e-9)
    np.testing.assert_allclose(lower.blur, p * width, rtol=1e-9)
    assert np.all(each <= 2e-12 * p + 1e-290)
    assert np.all(each >= 1.9e-13 * p)
    sums = np.append(each, 0.0)
    sums[1:] += each
    np.testing.assert_allclose(at_edges, sums)
    above, below = upper_and_lower(pair, edges, tail)
    assert above.infinite_mass == tail
    assert (above.missing, below.missing) == (-tail, tail)
    assert below.infinite_mass == 0
    assert above.mass_error >= 1e-13
    if pair.mirrored:
        assert len(above.losses) == 2 * len(losses)
        np.testing.assert_allclose(above.losses[: len(losses)], -losses[::-1])
        mirror = (upper.masses * np.exp(-losses))[::-1]
        np.testing.assert_allclose(above.masses[: len(losses)], mirror)
        np.testing.assert_allclose(above.blur[: len(losses)], upper.blur[::-1])
        assert above.mass_error == 2 * upper.mass_error
    else:
        assert above.masses.tolist() == upper.masses.tolist()
    coarse = coarse_upper(pair, tail)
    for epsilon in (0.1, 0.6):
        assert below.delta(epsilon)[0] <= coarse.delta(epsilon)[1]
        assert above.delta(epsilon)[1] <= coarse.delta(epsilon)[1] * (1 + 0.5) + 1e-3
    assert 100 < len(coarse.losses) < 500


def test_cells_in_which_losses_rise_by_hundreds() -> None:
    pair = PoissonRemove(0.001, 0.5)
    with pytest.raises(
        NumericalFailure, match=r"^cells in which the privacy loss rises by less tha"
    ):
        upper_and_lower(pair, np.array([0.0, 0.6, 1.0]), 1e-10)


def test_errors_of_masses() -> None:
    x = np.array([[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0] * 6, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]])
    log_q = -x
    losses = 3 * x
    found = mass_errors(x, log_q, losses, np.array([1.0, 1.0, 1e-301]))
    rise = 1.5 * 1.0 / 0.5
    first = 1e-14 + UNIT * (64 + 3 * rise + 8 * (1.5 + 4.5))
    second = 1e-14 + UNIT * (64 + 3 * 2 * 8 + 8 * 8)
    np.testing.assert_allclose(found, [first, second, 1e-14 + 64 * UNIT], rtol=1e-6)
    np.testing.assert_allclose(
        found - 1e-14, np.array([first, second, 1e-14 + 64 * UNIT]) - 1e-14, rtol=1e-9
    )


@pytest.mark.parametrize(("bound", "dimension"), [(0.5, 2), (3.0, 3), (20.0, 8), (1.0, 51)])
def test_the_density_of_exponential_norm_noise(bound: float, dimension: int) -> None:
    pair = ExponentialNorm(bound, dimension)
    with mp.workdps(18):
        a, d = mpf(bound), dimension
        ratio = (
            (d - 1) * mp.besselk(mpf(d) / 2, a / 2) / (a / 2 * mp.besselk(mpf(d) / 2 - 1, a / 2))
        )

        def shape(x):
            bell = 1 / mp.cosh(x) ** 2
            return mp.exp(a / 2 * mp.tanh(x)) * mp.cosh(x) ** (1 - d) * (ratio + bell)

        total = mp.quad(shape, [-40, -8, -3, -1, 0, 1, 3, 8, 40])
        xs = np.array([-6.0, -1.0, -0.01, 0.0, 0.4, 5.5])
        for x, log_p, log_q, loss in zip(
            xs, pair.log_p(xs), pair.log_q(xs), pair.loss(xs), strict=True
        ):
            exact = mp.log(shape(mpf(x)) / total)
            assert log_p == pytest.approx(float(exact), rel=1e-13, abs=1e-12)
            assert log_q == pytest.approx(
                float(mp.log(shape(-mpf(x)) / total)), rel=1e-13, abs=1e-12
            )
            assert loss == pytest.approx(float(a * mp.tanh(mpf(x))), rel=1e-14)
        for tail in (1e-12,):
            low, high = pair.truncation_interval(tail)
            for side, end in ((1, high), (-1, -low)):
                p = lambda x, s=side: shape(s * x) / total  # noqa: E731
                mass = mp.quad(p, [end, end + 1, end + 5, end + 40])
                assert tail * 1e-3 <= mass <= tail
        (low, high), rest = pair.moment_interval(3.0)
        assert rest == -90
        assert low == pair.truncation_interval(math.exp(-90))[0]
        assert high == pair.truncation_interval(math.exp(-90 - 3 * bound))[1]
    assert pair.log_moment_bound(3.0) == pytest.approx(3 * bound, rel=2e-15)
    assert pair.log_moment_bound(3.0) >= 3 * bound
    assert pair.mass_error == pytest.approx(1e-13 * (1 + bound / 75 + dimension / 1000))
    x = np.array([-2.0, 0.0, 400.0])
    bell = np.array([1 / math.cosh(2.0) ** 2, 1.0, 0.0])
    slope = bound / 2 * bell + (dimension - 1) * np.tanh(np.abs(x))
    width = 0.6 / (3 + slope + np.sqrt((bound + dimension) * bell))
    np.testing.assert_allclose(pair.max_cell_width(x), width)


KAPPA = 0.3


@pytest.mark.parametrize("kappa", [0.02, 0.3, 5.0])
def test_the_linked_loss_is_a_maximum(kappa: float) -> None:
    a = np.array([0.0, 0.01, 0.29, 1.9, 2.0, 2.1, 4.9, 5.1, 30.0])
    s = np.linspace(0, 1, 200_001)
    truth = [float((s * x + np.log1p(kappa * s * (1 - s))).max()) for x in a]
    found = linked_loss(a, kappa, tied=True)
    assert np.all(found >= np.array(truth))
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert np.all(found[a >= kappa] == a[a >= kappa])
    loose = linked_loss(a, kappa, tied=False)
    np.testing.assert_allclose(loose, a + math.log1p(kappa), rtol=2e-15)
    assert np.all(loose >= a + math.log1p(kappa))


def both_masses(law: DiscreteLoss) -> tuple[float, float]:
    """P- and Q-mass of the atoms and what sits at 0."""
    rest = 1 - math.fsum(law.masses) - law.infinite_mass - law.missing
    return math.fsum(law.masses) + rest, float((law.masses * np.exp(-law.losses)).sum()) + rest


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dimension", [1, 3])
def test_laws_of_an_update_are_laws(dimension: int, tied: bool) -> None:
    update = Update(0.8, KAPPA, dimension, tied, cells=200)
    exchanged, (present, absent) = replacement_law(update), removal_laws(update)
    top = float(linked_loss(np.array([0.8]), KAPPA, tied=tied)[0])
    for law in (exchanged, present, absent):
        p, q = both_masses(law)
        assert p <= 1 + 1e-9
        assert q <= 1 + 1e-6
        assert law.infinite_mass == 0
    assert present.supremum == pytest.approx(top)
    assert absent.supremum == pytest.approx(0.8 if tied else top)
    assert exchanged.supremum <= (0.8 + top if tied else 2 * top) + 1e-12
    # Symmetric: the mirror image of each atom carries its Q-mass.
    half = len(exchanged.losses) // 2
    losses, masses = exchanged.losses, exchanged.masses
    assert losses[:half].tolist() == (-losses[half:]).tolist()
    np.testing.assert_allclose(masses[:half] * np.exp(-losses[:half]), masses[half:], rtol=1e-12)
    for epsilon in (0.0, 0.4, 0.7):
        one, two = present.delta(epsilon)[1], exchanged.delta(epsilon)[1]
        assert 0 <= one <= 1
        assert two >= max(one, absent.delta(epsilon)[1]) - 1e-6
    assert update.at_least(0.5) is update
    assert update.at_least(0.9).bound == 0.9


def test_a_moved_laplace_keeps_both_masses() -> None:
    moved = Update(0.8, KAPPA, 1, True, cells=50).moved()
    losses, masses = moved.losses.losses, moved.losses.masses
    # P(L >= 0) is 1 - e^{-a/2}/2, Q's half of it e^{-a/2}/2.
    assert float(masses.sum()) == pytest.approx(1 - math.exp(-0.4) / 2, rel=1e-12)
    assert float(moved.losses.mirrored_masses.sum()) == pytest.approx(math.exp(-0.4) / 2, rel=1e-12)
    assert losses.tolist() == np.linspace(0, 0.8, 51).tolist()
    assert masses[-1] > 0.5
    assert moved.mass_error == 1e-13
    assert moved.infinite == 0
    for epsilon in (0.2, 0.5):
        value = float((masses * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        truth = 1 - math.exp((epsilon - 0.8) / 2)
        assert truth <= value + 1e-15 <= truth + 1e-4
    gaps = Losses(np.array([0.0, 0.1, 0.4]), np.ones(3)).gaps()
    np.testing.assert_allclose(gaps, [0.1, 0.3, 0.3])
    wide = Update(0.8, KAPPA, 4, True, cells=50).moved().losses
    assert wide.losses[-1] == 0.8
    assert wide.masses[-1] == 1e-60


def test_a_gaussian_update() -> None:
    update = GaussianUpdate(0.9, KAPPA, True, cells=300)
    moved = update.moved()
    losses, masses = moved.losses.losses, moved.losses.masses
    assert moved.infinite == pytest.approx(0.5 * math.exp(-200))
    assert losses[0] == 0
    assert losses[-1] == pytest.approx(0.9 * (0.45 + 20), rel=1e-9)
    for epsilon in (0.0, 0.6, 3.0):
        value = float((masses * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        truth = float(
            mp.ncdf(0.45 - epsilon / 0.9) - mp.exp(epsilon) * mp.ncdf(-0.45 - epsilon / 0.9)
        )
        assert truth <= value * (1 + 1e-12) <= truth * (1 + 2e-3)
    far = GaussianUpdate(6.0, KAPPA, True, cells=300).moved()
    assert far.infinite == 0.5 * math.exp(-200)
    assert update.at_least(0.5) is update
    assert update.at_least(1.1) == GaussianUpdate(1.1, KAPPA, True, cells=300)


def curve_height(curve: Curve, q: float) -> float:
    """P-mass over Q-mass along a curve's pieces."""
    total, left = curve.infinite, q
    for loss, mass in zip(curve.losses, curve.masses, strict=True):
        used = min(mass, left)
        total += used * math.exp(loss)
        left -= used
    return total + left


def test_two_steps_meet_where_their_tests_do() -> None:
    """Each place of the middle's mass has the losses of both steps there."""
    first = (np.array([1.0, 0.2, -0.5]), np.array([0.1, 0.3, 0.6]))
    second = (np.array([math.inf, 0.7, 0.0]), np.array([0.05, 0.25, 0.7]))
    found = meet(first, second, 0.01)
    # Middle masses 0 to .05, .1, .3, .4, .5: infinite, 1.7, .9, .2, -.5 counted as 0.
    np.testing.assert_allclose(found.losses, [1.7, 0.9, 0.2, 0.0])
    middle = np.array([0.05, 0.2, 0.1, 0.1])
    np.testing.assert_allclose(found.masses, middle * np.exp(-np.array([0.7, 0.7, 0.0, 0.0])))
    assert found.infinite == pytest.approx(0.01 + 0.05 * math.e)
    ends = np.array([0.1, 0.3, 0.4, 0.5])
    weights = ends * np.exp([1.0, 0.2, 0.2, -0.5])
    drops = np.array([0.8, 0.7, 0.2, 0.0])
    farther = np.maximum(drops, [0.8, 0.8, 0.7, 0.2])
    np.testing.assert_allclose(found.blur, 4 * weights * farther * (1 + found.losses))


def test_the_lower_of_two_curves() -> None:
    a = Curve(np.array([1.0, 0.1]), np.array([0.2, 0.3]), np.zeros(2), 0.02)
    b = Curve(np.array([0.6, 0.4, 0.2]), np.array([0.1, 0.3, 0.3]), np.zeros(3), 0.01)
    found = lower_of(a, b)
    plain = [Curve(c.losses, c.masses, c.blur, 0.0) for c in (a, b)]
    bare = Curve(found.losses, found.masses, found.blur, 0.0)
    for q in np.linspace(0, 0.9, 91):
        expected = min(curve_height(c, q) for c in plain)
        assert curve_height(bare, q) == pytest.approx(expected, rel=1e-12)
    assert found.infinite == 0.02
    assert np.all(found.masses > 0)
    assert found.blur.shape == found.losses.shape
    same = lower_of(a, a)
    np.testing.assert_allclose(same.losses, a.losses)


def test_laws_of_profiles() -> None:
    law = loss_from_profile([(0.5, 0.2), (1.5, 0.05), (1.5, 0.01), (0.0, 0.4)])
    assert law.infinite_mass == 0.01
    # The greatest convex function below the points and their mirror images; slopes change at corners.
    k = [0.0] + [math.exp(e) for e in (-1.5, -0.5, 0.0, 0.5, 1.5)]
    h = [1.0, 1 - k[1] + 0.01 * k[1], 1 - k[2] + 0.2 * k[2], 0.4, 0.2, 0.01]
    found = dict(zip(np.round(law.losses, 12), law.masses, strict=True))
    for epsilon in (0.0, 0.5, 1.5):
        at = math.exp(epsilon)
        height = law.infinite_mass + sum(
            p * -math.expm1(epsilon - loss) for loss, p in found.items() if loss > epsilon
        )
        assert height <= min(y for x, y in zip(k, h, strict=True) if x == at) * (1 + 1e-12)
    assert float((law.masses * np.exp(-law.losses)).sum()) == pytest.approx(0.99, rel=1e-12)
    assert math.fsum(law.masses) + 0.01 == pytest.approx(1.0, rel=1e-12)
    simple = loss_from_profile([(1.0, 0.1)])
    p = 0.9 * math.e / (1 + math.e)
    assert sorted(simple.losses) == [-1.0, 1.0]
    np.testing.assert_allclose(sorted(simple.masses), [0.9 - p, p], rtol=1e-12)
    with pytest.raises(
        InvalidInput, match=r"^a profile needs at least one pair \(ε, δ\); got none$"
    ):
        loss_from_profile([])
    with pytest.raises(InvalidInput, match="epsilon"):
        loss_from_profile([(-1.0, 0.1)])
    with pytest.raises(InvalidInput, match="delta"):
        loss_from_profile([(1.0, 1.1)])


def test_where_a_profile_is_looked_at() -> None:
    points = sample_profile(lambda e: math.exp(-3 * e))
    near, far = 30 * math.log(10) / 3, 290 * math.log(10) / 3
    at = [e for e, _ in points]
    assert len(points) == 1200 + 300 - 1
    assert at[0] == 0.0
    assert at[1199] == pytest.approx(near, rel=1e-4)
    assert at[-1] == pytest.approx(far, rel=1e-4)
    assert all(d == math.exp(-3 * e) for e, d in points)
    assert sample_profile(lambda _: 0.5)[-1][0] > 1e6


def test_laws_of_two_distributions() -> None:
    law = law_from_distributions([0.5, 0.3, 0.2, 0.0], [0.25, 0.45, 0.0, 0.3])
    np.testing.assert_allclose(law.losses, [math.log(2), math.log(2 / 3)])
    np.testing.assert_allclose(law.masses, [0.5, 0.3])
    assert 0.2 <= law.infinite_mass <= 0.2 * (1 + 3e-15)
    assert law_from_distributions([1.0], [0.0 + 1.0]).masses.tolist() == [1.0]
    assert law_from_distributions([1.0, 0.0], [0.0, 1.0]).infinite_mass == 1.0
    p, _ = probabilities([0.5, 0.5 + 5e-10], [1.0, 0.0])
    assert float(sum(p)) == 1.0
    for given, message in (
        (([0.5, 0.5], [1.0]), "p and q need the same outcomes; got 2 and 1 probabilities"),
        (([], [1.0]), "p needs at least one probability; got none"),
        (([1.0], []), "q needs at least one probability; got none"),
        (([0.5, 0.4], [1.0, 0.0]), "the probabilities p need to sum to 1; their sum is 0.9"),
        (([1.0, 0.0], [0.5, 0.4]), "the probabilities q need to sum to 1; their sum is 0.9"),
    ):
        with pytest.raises(InvalidInput) as caught:
            probabilities(*given)
        assert str(caught.value) == message


def log_normal(mean: float, sigma: float = 1.0):
    return lambda x: (
        -(((x - mean) / sigma) ** 2) / 2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)
    )


def test_densities_of_users_own() -> None:
    pair = from_user_densities(log_normal(0.5), log_normal(0), (-9.0, 11.0), 1.0, 1e-17)
    assert pair.truncation_interval(1e-3) == (-9.0, 11.0)
    assert (pair.sign, pair.outside) == (1.0, 1e-17)
    assert pair.max_cell_width(np.zeros(2)).tolist() == [0.1, 0.1]
    assert 1e-13 <= pair.mass_error < 1e-12
    x = np.array([0.3])
    assert pair.loss(x)[0] == pytest.approx(0.5 * 0.3 - 0.125)
    assert pair.moment_interval(2.0) == ((-9.0, 11.0), math.inf)
    falling = from_user_densities(log_normal(0), log_normal(0.5), (-11.0, 9.0), 1.0, 0.0)
    assert falling.sign == -1.0
    assert falling.truncation_interval(1e-3) == (-9.0, 11.0)
    assert falling.loss(-x)[0] == pytest.approx(-(0.5 * 0.3 - 0.125))
    assert falling.moment_interval(2.0) == ((-9.0, 11.0), -math.inf)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((log_normal(0.5), log_normal(0), (1.0, 1.0), 1.0, 0.0), InvalidInput,
         "support needs two finite increasing numbers; got support=(1.0, 1.0); give the mass beyond as outside"),
        ((log_normal(0.5), log_normal(0), (-math.inf, 1.0), 1.0, 0.0), InvalidInput,
         "support needs two finite increasing numbers; got support=(-inf, 1.0); give the mass beyond as outside"),
        ((lambda x: np.log(np.maximum(x, 0)), log_normal(0), (-1.0, 1.0), 1.0, 0.0), InvalidInput,
         "finite log-densities were needed on the whole support; got an infinite one or nan; try a smaller support, the rest as outside"),
        ((log_normal(0, 2.0), log_normal(0), (-9.0, 9.0), 1.0, 1e-3), AssumptionViolated,
         "the log-likelihood ratio ln(p/q) needs to be monotone on the support; it rises and falls; try a finite distribution or a privacy profile"),
        ((log_normal(0.5), log_normal(0), (-1.0, 1.0), 1.0, 1e-3), InvalidInput,
         "a density p of mass 1 was needed; its mass on the support is 0.624655260005; try a wider support, or give what is beyond as outside"),
        ((log_normal(0.5), lambda x: log_normal(0)(x) + 0.1, (-9.0, 11.0), 1.0, 1e-3), InvalidInput,
         "a density q of mass 1 was needed; its mass is 1.10517091808"),
        ((log_normal(0.5), log_normal(0), (-9.0, 11.0), 30.0, 1e-3), AssumptionViolated, "scale needs to be small enough"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_densities_that_are_refused(given, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        from_user_densities(*given)
    assert str(caught.value).startswith(message)
