"""Theorem c in balls, against exact laws of falls, quadrature and mpmath's χ²."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.certificates import falling, grids, updates
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check
from dpcalc.certificates.updates import below_chords
from dpcalc.guarantees import compose
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update
from tests.oracles.falling_shift import PLACES, divergences


def bound(mu: float, kappa: float, depth: float) -> float:
    with precision(64):
        return float(falling.divergence(arb(mu), arb(kappa), arb(mu * depth)).upper())


def unmoved(mu: float, depth: float) -> float:
    return float(norm.sf(depth - mu / 2) - math.exp(mu * depth) * norm.sf(depth + mu / 2))


@pytest.mark.parametrize(
    ("mu", "stiffness", "depth", "top", "start"),
    [(0.01, 50.0, 2.5, 4.0, 1.0), (0.2, 8.0, 0.5, 4.0, 0.0)],
)
def test_no_fastest_fall_exceeds_the_bound(
    mu: float, stiffness: float, depth: float, top: float, start: float
) -> None:
    """Falls that reveal more than a shift that stays: a bound without the gain would be caught."""
    path = top - stiffness * np.clip(PLACES - start, 0, 6)
    attained = float(divergences(mu, path, np.exp([mu * depth]))[0])
    assert unmoved(mu, depth) < attained <= bound(mu, stiffness * mu, depth)


@pytest.mark.parametrize(("mu", "kappa"), [(0.035, 0.064), (0.05, 0.5), (0.2, 5.0)])
@pytest.mark.parametrize("depth", [0.5, 1.5, 3.0])
def test_the_bound_is_the_integral_of_the_largest_gain(
    mu: float, kappa: float, depth: float
) -> None:
    """Midpoints, each with its maximum by search; cells of s cost up to a third of the gain."""
    loss, middles = mu * depth, (np.arange(80) + 0.5) / 80

    def largest(s: float) -> float:
        m, g = mu * s, kappa * s * (1 - s)
        edge = loss / m + m / 2

        def gained(y: float) -> float:
            return float(norm.pdf(y - m) * (1 + g) - math.exp(loss) * norm.pdf(y)) / g

        lowest = (loss - math.log1p(g)) / m + m / 2
        found = minimize_scalar(lambda y: -gained(y), bounds=(lowest, edge), method="bounded")
        return max(0.0, -found.fun - float(norm.pdf(edge - m)))

    gain = mu * float(np.mean([largest(s) for s in middles]))
    assert 0.97 < (bound(mu, kappa, depth) - unmoved(mu, depth)) / gain < 1.35


@pytest.mark.parametrize("dimension", [1, 3, 105])
def test_shifts_are_as_probable_as_stated(dimension: int) -> None:
    with precision(96):
        scales = falling.exponential_scales(arb("0.3"), dimension)
        assert sum(weight for _, weight in scales) < 1
    with mpmath.workdps(30):
        cuts = [(mpmath.mpf("0.3") / mpmath.mpf(float(mu))) ** 2 for mu, _ in scales]
        law = [
            mpmath.gammainc(mpmath.mpf(dimension + 1) / 2, 0, cut / 2, regularized=True)
            for cut in cuts
        ]
        for (_, weight), low, high in zip(scales, law, [*law[1:], mpmath.mpf(1)], strict=True):
            assert float(weight) == pytest.approx(float(high - low), rel=1e-9)


def test_chords_of_known_bounds_are_not_above_what_was_there() -> None:
    places = [arb(1 + k) for k in range(5)]
    convex = [arb("0.5"), arb("0.4"), arb("0.35"), arb("0.32"), arb("0.31")]
    lower = below_chords(convex, places, [(arb("2.5").log(), arb("0.33"))])
    found = [round(float(x), 4) for x in lower]
    assert found == [0.5, 0.3867, 0.326, 0.318, 0.31]


def test_what_rests_on_the_falling_derivative_is_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ε of twenty updates with κ = 2.4μ, which theorems a and b alone do not show."""
    part = normally_perturbed_update(GaussianUpdate(0.05, 0.12, True, 1000), "replace-one")
    upper = compose((part, 20)).epsilon(1e-6)
    found = certify([(part, 20)], "replace-one", 1e-6, upper)
    assert found.upper == CERTIFIED
    assert check(found.certificate)
    monkeypatch.setattr(falling, "worth_it", lambda *_: False)
    updates.by_theorem_c.cache_clear()
    grids.masses.cache_clear()
    assert certify([(part, 20)], "replace-one", 1e-6, upper).upper != CERTIFIED


@pytest.mark.parametrize(("y", "m", "g"), [(1.5, 0.2, 0.4), (2.5, 0.9, 8.0), (4.0, 0.05, 0.5)])
@pytest.mark.parametrize("off", [0.0, 0.05, -0.1, 0.3])
def test_any_place_bounds_the_largest_ratio(
    y: float, m: float, g: float, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is looked for is a choice; a third of the slope's square in place of half is not."""
    last = math.log1p(g) / m
    grid = np.linspace(0, last, 200_001)[:-1]
    truth = np.max(np.exp(y * grid - grid**2 / 2) * ((1 + g) * np.exp(-m * grid) - 1)) / g
    with precision(64):
        found = falling.at_about(y, m, g)
        place = min(max(float(found) + off, 0.0), 0.97 * last)
        monkeypatch.setattr(falling, "at_about", lambda *_: arb(place))
        bound = float(falling.largest_ratio(arb(y), arb(m), arb(g)))
    assert truth <= bound * (1 + 1e-12)
    if off == 0:
        assert bound <= truth * (1 + 1e-3)


def test_a_mixture_has_the_mean_of_its_parts_and_all_of_what_is_left() -> None:
    """Scales of two deviations and more, and what has no scale, count as told at once."""
    with precision(64):
        scales = [(arb(2), arb("0.125")), (arb("0.5"), arb("0.25")), (arb("0.25"), arb("0.5"))]
        found = falling.mean_divergences(scales, arb(3))
    assert len(found) == len(falling.DEPTHS)
    for (loss, mean), depth in zip(found, falling.DEPTHS, strict=True):
        parts = [bound(mu, 3.0, float(loss) / mu) for mu in (0.5, 0.25)]
        assert float(loss) == 0.5 * depth
        assert float(mean) == pytest.approx(0.25 + 0.25 * parts[0] + 0.5 * parts[1], rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_no_cell_is_below_the_integral_of_the_largest_gain(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Every s with its own maximum over y, from below: a grid of places in each of 400 middles.

    First and last cells, and the one about s = 1/2, weigh what they are worth: settings are drawn
    from barely worth it to a thousand times the shift.
    """
    rng = np.random.default_rng((51, seed))
    mu = 10 ** rng.uniform(-2.5, 0)
    kappa = min(1000.0, 1.5 * mu * 10 ** rng.uniform(0, 2.5))
    depth = rng.uniform(0.3, 5)
    loss, s = mu * depth, (np.arange(400) + 0.5) / 400
    m, g = mu * s, kappa * s * (1 - s)
    edge = loss / m + m / 2
    t = np.linspace(0, 1, 800) * (np.log1p(g) / m)[:, None]
    gained = norm.pdf(edge[:, None] - t - m[:, None]) * (1 + g)[:, None]
    gained -= math.exp(loss) * norm.pdf(edge[:, None] - t)
    gain = np.maximum((gained / g[:, None]).max(axis=1) - norm.pdf(edge - m), 0).mean() * mu
    assert unmoved(mu, depth) + gain * (1 - 1e-4) <= bound(mu, kappa, depth)
    monkeypatch.setattr(falling, "BEYOND", 0.1)  # a first cell with most of the gain in it
    assert unmoved(mu, depth) + gain * (1 - 1e-4) <= bound(mu, kappa, depth)


@pytest.mark.parametrize(("mu", "kappa"), [(0.035, 0.064), (0.3, 0.5), (0.9, 20.0)])
@pytest.mark.parametrize("depth", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(("a", "b"), [(0.3, 0.34), (0.45, 0.6), (0.7, 0.72), (0.9, 0.97)])
def test_what_bounds_a_cell_bounds_every_place_in_it(
    mu: float, kappa: float, depth: float, a: float, b: float
) -> None:
    """ϱ and φ(y* - m)ϱ by search over t, at both ends and between."""
    loss, cell = mu * depth, (arb(a), arb(b))
    stars = [loss / (mu * s) + mu * s / 2 for s in (a, b)]
    ratio = float(falling.ratio_on(arb(mu), arb(kappa), cell, (arb(stars[0]), arb(stars[1]))))
    highest = math.prod(map(float, falling.highest_on(arb(mu), arb(kappa), cell, arb(stars[1]))))
    t = np.linspace(0, 40, 400_001)
    for s in np.linspace(a, b, 5):
        m, g = mu * s, kappa * s * (1 - s)
        star = loss / m + m / 2
        with np.errstate(over="ignore"):
            values = np.exp(star * t - t * t / 2) * ((1 + g) * np.exp(-m * t) - 1) / g
        largest = float(values.max())
        assert largest <= ratio * (1 + 1e-9)
        assert float(norm.pdf(star - m)) * largest <= highest * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_cell_loses_is_not_below_the_difference_of_divergences(seed: int) -> None:
    """Its integrand is log-concave: above by little on small cells, never below on large ones."""
    rng = np.random.default_rng((53, seed))
    for _ in range(100):
        mu, depth = 10 ** rng.uniform(-3, 0), rng.uniform(0.05, 6)
        a = rng.uniform(0.02, 0.9)
        b = a + (1 - a) * 10 ** rng.uniform(-3, 0)
        with precision(128):
            m, loss = arb(mu), arb(mu * depth)
            truth = falling.unmoved(m * b, loss) - falling.unmoved(m * a, loss)
            found = falling.lost_on(m, loss, (arb(a), arb(b)))
        assert found >= truth
        steps = (b - a) / a * max(1.0, depth / a)  # of the logarithm's slope
        if steps < 0.1:
            assert found <= truth * (1 + steps**2)


@pytest.mark.parametrize("turn", [0, 8, 16, falling.CELLS])
def test_where_one_bound_of_a_cell_gives_way_to_the_other_is_a_choice(
    monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    """No place makes it a false bound, and few a better one than the place that is found."""
    path = 4.0 - 50.0 * np.clip(PLACES - 1.0, 0, 6)
    attained = float(divergences(0.01, path, np.exp([0.025]))[0])
    settings = [(0.01, 0.5, 2.5), (0.035, 0.064, 0.25), (0.05, 0.064, 1.0), (0.2, 5.0, 3.0)]
    found = [bound(*each) for each in settings]
    monkeypatch.setattr(falling, "first_steep", lambda *_: turn)
    other = [bound(*each) for each in settings]
    assert attained <= min(found[0], other[0])
    assert all(x <= y * 1.005 for x, y in zip(found, other, strict=True))
    if turn in (0, falling.CELLS):
        assert max(y / x for x, y in zip(found, other, strict=True)) > 1.005


def test_small_shifts_count_by_their_place() -> None:
    """Where no cell is left, all s count as the first one: y >= (ln k - κs)/μs, and γ <= kφ(y)."""
    mu, kappa, loss = 0.5, 0.01, 0.05
    first = loss / (kappa + loss + falling.BEYOND * mu)
    most = mu * first * math.exp(loss) * float(norm.pdf((loss - kappa * first) / (mu * first)))
    with precision(64):
        found = falling.divergence(arb(mu), arb(kappa), arb(loss))
        gained = found - falling.unmoved(arb(mu), arb(loss))
    assert float(gained) == pytest.approx(most, rel=1e-9)


def test_numbers_that_doubles_do_not_have_gain_nothing() -> None:
    with precision(64):
        assert falling.mean_divergences([(arb("1e-200"), arb(1))], arb(1)) == []
