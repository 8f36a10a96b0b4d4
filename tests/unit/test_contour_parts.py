"""The parts of a contour integral, each against a plain recomputation or a closed form.

A Gaussian loss smoothed by s is a Gaussian loss with μ² + s², so that both bounds of a contour sum are
known in closed form up to its aliases, which stay below 1e-9 of δ, and its rounding.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpcalc.accounting.contour.contour_sum import ContourSum, contour_sum
from dpcalc.accounting.contour.nodes import Nodes
from dpcalc.accounting.contour.omitted_nodes import OmittedNodes
from dpcalc.accounting.contour.saddle_points import (
    Contour,
    SaddlePoints,
    infinite_mass,
    summed_cumulants,
)
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
    disclosure,
)
from dpcalc.accounting.losses.distribution import ELEMENTARY_ERROR, UNIT_ROUNDOFF
from dpcalc.errors import NumericalFailure
from tests.oracles.exact import gaussian_delta

LAPLACE = LaplaceLoss(0.7, 0.7)
RESPONSES = RandomisedResponseLoss.of({0.7: 3, 0.2: 1})

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
    contour = Contour(1.5, 40.0, 9.0, epsilon, -1.0)
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


def test_what_a_sum_says_of_itself() -> None:
    rounds = [(LAPLACE, 5), (RESPONSES, 2)]
    contour = Contour(1.5, 40.0, 9.0, 1.0, -3.0)
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


def integrand(rounds, c: float, s: float, y: float) -> mp.mpc:
    """The integrand over its value at y = 0, with forty digits, from the laws' definitions."""
    with mp.workdps(40):
        z, c = mp.mpc(c, y), mp.mpf(c)
        total = (mp.mpf(s) ** 2 / 2) * (z * z + z - c * c - c)
        total -= mp.log(z * (z + 1)) - mp.log(c * (c + 1))
        for law, count in rounds:
            total += count * (mp.log(moment(law, z)) - mp.log(moment(law, c)))
        return mp.exp(total)


def moment(law, z):
    if isinstance(law, GaussianLoss):
        return mp.exp(mp.mpf(law.mu) ** 2 * (z * z + z) / 2)
    if isinstance(law, LaplaceLoss):
        e = mp.mpf(law.epsilon)
        return ((z + 1) * mp.exp(z * e) + z * mp.exp(-(z + 1) * e)) / (2 * z + 1)
    total = mp.mpf(1)
    for epsilon, count in zip(law.epsilons, law.counts, strict=True):
        p = mp.exp(epsilon) / (1 + mp.exp(epsilon))
        total *= (p * mp.exp(z * epsilon) + (1 - p) * mp.exp(-z * epsilon)) ** count
    return total


@pytest.mark.parametrize("count", [1, 40, 10**6])
def test_nodes_are_right_to_their_rounding(count: int) -> None:
    rounds = [(GaussianLoss(0.4), 1), (LaplaceLoss(0.7 / math.sqrt(count), 0.7), count)]
    c, step, s = 1.3, 0.21, 0.05
    tilted = [(law.tilted(c), n) for law, n in rounds]
    nodes = Nodes(tilted, c, step, s * s / 2)
    nodes.extend(20)
    assert nodes.count == 21
    np.testing.assert_array_equal(nodes.y, step * np.arange(21))
    exact = [integrand(rounds, c, s, step * k) for k in range(21)]
    errors = np.array([float(abs(mp.mpc(v) - e)) for v, e in zip(nodes.values, exact, strict=True)])
    assert errors.sum() <= nodes.rounding
    # What is charged: every law's own error and unit roundoffs of every summand of the exponent.
    charged = 0.0
    for k, node in enumerate(exact):
        z = complex(c, step * k)
        smoothing = abs(s * s / 2 * (z * z + z - c * c - c))
        poles = abs(np.log(z / c) + np.log((z + 1) / (c + 1)))
        each = 6 * ELEMENTARY_ERROR + ELEMENTARY_ERROR * (smoothing + poles)
        for law, n in tilted:
            ratio, relative = law.log_ratio(step, k, k + 1, n)
            each += n * (law.rounding + float(relative[0]))
            each += n * 6 * UNIT_ROUNDOFF * abs(complex(ratio[0]))
        charged += float(abs(node)) * each
    assert nodes.rounding == pytest.approx(charged, rel=0.02)


def test_nodes_may_be_smoothed_later() -> None:
    tilted = [(GaussianLoss(0.4).tilted(1.3), 1), (LAPLACE.tilted(1.3), 3)]
    late, early = Nodes(tilted, 1.3, 0.3, 0.001), Nodes(tilted, 1.3, 0.3, 0.02)
    late.extend(30)
    late.extend(30)
    late.extend(50)
    early.extend(50)
    assert late.count == early.count == 51
    late.smooth(0.02)
    assert late.gain == 0.02
    np.testing.assert_allclose(late.values, early.values, rtol=1e-13)
    late.extend(60)
    early.extend(60)
    np.testing.assert_allclose(late.values, early.values, rtol=1e-13)


def test_nodes_are_extended_until_they_are_negligible() -> None:
    tilted = [(GaussianLoss(1.0).tilted(1.0), 1)]
    nodes = Nodes(tilted, 1.0, 0.05, 0.0)
    nodes.extend_until_negligible(100_000)
    # e^{-y²/2} is below 1e-17 from y = 8.85 on, node 177; blocks of 32, 32, 64, ... end soon after.
    assert 177 * 4 / 3 * 0.9 < nodes.count <= 512
    assert np.abs(nodes.values[-nodes.count // 8 :]).max() < 1e-17
    short = Nodes(tilted, 1.0, 0.05, 0.0)
    short.extend_until_negligible(100)
    assert short.count == 101
    y, values, dropped = nodes.significant()
    size = np.abs(nodes.values)
    assert len(y) == len(values) == int((size > 1e-17).sum())
    np.testing.assert_array_equal(y, nodes.y[: len(y)])
    assert dropped == pytest.approx(size[len(y) :].sum(), rel=1e-12)


def test_the_first_node_is_kept_though_all_vanish() -> None:
    tilted = [(GaussianLoss(30.0).tilted(1.0), 1)]
    nodes = Nodes(tilted, 1.0, 1.0, 0.0)
    nodes.extend(5)
    y, values, dropped = nodes.significant()
    assert y.tolist() == [0.0]
    assert values[0] == 1.0
    assert dropped < 1e-100


@pytest.mark.parametrize("first", [1, 7, 60])
@pytest.mark.parametrize("gain", [1e-4, 0.02])
@pytest.mark.parametrize(
    "law",
    [
        GaussianLoss(0.3),
        LAPLACE,
        RESPONSES,
        GaussianMixtureLoss((0.3, 0.8), (0.4, 0.2)),
        DiscreteLoss(np.array([-0.5, 0.3, 1.1]), np.array([0.2, 0.3, 0.4])),
    ],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("count", [2, 500])
def test_omitted_nodes_are_bounded(law, count: int, gain: float, first: int) -> None:
    c, step, last = 1.2, 0.11, 400
    tilted = [(law.tilted(c), count)]
    bound = OmittedNodes(tilted, c, step, gain, first).bound(last)
    y = step * np.arange(first, 40_000)
    size = np.exp(-gain * y * y) * c * (c + 1) / np.abs((c + 1j * y) * (c + 1 + 1j * y))
    near = last - first + 1
    ratio, _ = tilted[0][0].log_ratio(step, first, last + 1, count)
    moduli = size[:near] * np.exp(count * ratio.real)
    assert bound >= float(moduli.sum()) * (1 - 1e-9)
    # Past the last node smoothing alone is counted, as the least of two bounds.
    end = step * (last + 1)
    tail = math.exp(-gain * end * end) * min(1.0, c * (c + 1) / end**2)
    tail *= 1 + 1 / (2 * gain * end * step)
    assert bound >= tail
    assert tail >= float(size[near:].sum()) * 0.999
    most = on_intervals(tilted[0], c, step, gain, first, last)
    assert bound <= (tail + most) * (1 + 1e-9)


def on_intervals(part, c: float, step: float, gain: float, first: int, last: int) -> float:
    """Six intervals an octave, each as many nodes as it may hold and its left end's bound."""
    start, end = first * step, (last + 1) * step
    edges = np.geomspace(start, end, max(2, math.ceil(6 * math.log2(end / start))) + 1)
    law, count = part
    bounds = law.log_modulus_bound(edges, 0)
    total = 0.0
    for low, high, bound in zip(edges, edges[1:], bounds, strict=False):
        each = c * (c + 1) / low**2 * math.exp(count * bound - gain * low * low)
        total += ((high - low) / step + 1) * each
    return total


@pytest.mark.parametrize("first", [1, 9])
@pytest.mark.parametrize("gain", [1e-3, 0.02])
def test_each_way_of_bounding_omitted_nodes(gain: float, first: int) -> None:
    c, step, last = 1.2, 0.11, 200
    part = (GaussianLoss(0.3).tilted(c), 4)
    omitted = OmittedNodes([part], c, step, gain, first)
    intervals = on_intervals(part, c, step, gain, first, last)
    for refinements in (1, 3):
        assert omitted._on_intervals([part], last, refinements) == pytest.approx(intervals)
    y = step * np.arange(first, last + 1)
    moduli = part[0].node_moduli(step, last + 1)[first : last + 1] ** 4
    each = c * (c + 1) / y**2 * np.exp(-gain * y * y) * moduli
    assert omitted._stretch([part], first, last + 1) == pytest.approx(each.sum())
    stretches, start = 0.0, first
    while start <= last:  # each bounded over up to eight times its first node
        stop = min(8 * start, last + 1)
        moduli = part[0].node_moduli(step, stop)[start:stop] ** 4
        inside = y[start - first : stop - first]
        stretches += float((c * (c + 1) / inside**2 * np.exp(-gain * inside**2) * moduli).sum())
        start = stop
    assert omitted._one_by_one([part], last) == pytest.approx(stretches)
    # Distributions that vary most come first, and those that are enough end it.
    both = [(GaussianLoss(3.0).tilted(c), 9), part]
    assert omitted._stretch(both, 60, 90) < 1e-11
    assert omitted._up_to(last) <= min(intervals, stretches) * (1 + 1e-9)


def test_nothing_is_left_out_before_the_first_node() -> None:
    tilted = [(GaussianLoss(0.3).tilted(1.0), 1)]
    after = OmittedNodes(tilted, 1.0, 0.1, 0.01, 101).bound(100)
    end = 10.1
    tail = math.exp(-0.01 * end * end) * 2 / end**2 * (1 + 1 / (2 * 0.01 * end * 0.1))
    assert after == pytest.approx(tail, rel=1e-12)
    one = OmittedNodes(tilted, 1.0, 0.1, 0.01, 100).bound(100)
    assert after < one < after + 1.0


def test_many_different_rounds_are_bounded_node_by_node() -> None:
    c, step, first, last = 1.0, 0.2, 5, 300
    tilted = [(LaplaceLoss(e, e).tilted(c), 1) for e in np.linspace(0.5, 1.5, 12)]
    bound = OmittedNodes(tilted, c, step, 0.001, first)
    found = bound.bound(last)
    y = step * np.arange(first, last + 1)
    size = np.exp(-0.001 * y * y) * c * (c + 1) / np.abs((c + 1j * y) * (c + 1 + 1j * y))
    for law, _ in tilted:
        size *= np.exp(law.log_ratio(step, first, last + 1, 1)[0].real)
    assert found >= size.sum()
    assert found < 400 * size.sum() + 1.0


def reference(mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The grid of saddle points of a Gaussian loss: orders, ln M, ε and ln δ."""
    square = mu * mu
    mean = square * (1e-6 + 0.5)
    c = np.geomspace(1e-3, 1e5, 100) / math.sqrt(square + (mean / 100) ** 2)
    value, at = square * c * (c + 1) / 2, square * (c + 0.5) - 1 / c - 1 / (c + 1)
    curvature = square + 1 / c**2 + 1 / (c + 1) ** 2
    logs = value - c * at - np.log(c * (c + 1)) - np.log(2 * np.pi * curvature) / 2
    return c, value, at, logs


@pytest.mark.parametrize("mu", [1e-3, 0.4, 5.0])
def test_saddle_points_of_a_gaussian(mu: float) -> None:
    points = SaddlePoints([(GaussianLoss(mu), 1)])
    for found, exact in zip(
        (points.orders, points.values, points.epsilons, points.log_deltas),
        reference(mu),
        strict=True,
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)


def cheapest(c, value, epsilon: float, log_delta: float) -> tuple[float, float, float]:
    """By trying every pair: the shortest period, its line and the order that bounds its aliases."""
    need = -log_delta + math.log(1e9)
    lead = value - c * epsilon
    growth = lead - np.log(c * (c + 1)) - log_delta
    allowed = max(8.0, growth.min() + 2.0)
    lines = [j for j in range(len(c) - 1) if growth[j] <= allowed]
    best = (math.inf, 0.0, 0.0)
    for j in lines[:: max(1, len(lines) // 40)]:
        rights = [
            ((lead[k] + c[k] * 2 / c[j] + need) / (c[k] - c[j]), c[k]) for k in range(j + 1, len(c))
        ]
        right, order = min(rights)
        best = min(best, (max(need / c[j], right), c[j], order))
    return best


@pytest.mark.parametrize("mu", [0.4, 5.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-40])
def test_contours_for_a_delta_and_an_epsilon(mu: float, delta: float) -> None:
    points, (c, value, at, logs) = SaddlePoints([(GaussianLoss(mu), 1)]), reference(mu)
    found = points.contour_for_delta(delta)
    assert found.log_delta == pytest.approx(math.log(delta))
    assert found.epsilon == pytest.approx(max(np.interp(-math.log(delta), -logs, at), 0.0))
    period, line, order = cheapest(c, value, found.epsilon, found.log_delta)
    assert (found.period, found.c, found.order) == pytest.approx((period, line, order))
    back = points.contour_for_epsilon(found.epsilon)
    assert back.epsilon == found.epsilon
    assert back.log_delta == pytest.approx(min(np.interp(found.epsilon, at, logs), 0.0))
    told = points.contour_for_epsilon(found.epsilon, -7.0)
    assert told.log_delta == -7.0
    period, line, order = cheapest(c, value, found.epsilon, -7.0)
    assert (told.period, told.c, told.order) == pytest.approx((period, line, order))


def test_contours_beyond_the_grid() -> None:
    points = SaddlePoints([(GaussianLoss(1.0), 1)])
    last = points.contour_for_epsilon(1e9, -50.0)
    assert last.epsilon == 1e9
    assert points.contour_for_epsilon(0.0).log_delta <= 0
    assert points.contour_for_delta(0.999).epsilon == 0.0
    with pytest.raises(NumericalFailure, match="no order at which"):
        points.fewest_nodes(math.nan, -1.0)
    far = DiscreteLoss(np.array([1e308]), np.array([0.5]))
    with np.errstate(all="ignore"):
        nowhere = SaddlePoints([(far, 1)])
    with pytest.raises(NumericalFailure, match=r"no order was found .* try a larger delta"):
        nowhere.contour_for_delta(0.1)


def test_infinite_losses_leave_less_for_the_contour() -> None:
    rounds = [(GaussianLoss(1.0), 1), (disclosure(1e-3), 1)]
    points = SaddlePoints(rounds)
    assert points.contour_for_delta(5e-3).log_delta == pytest.approx(math.log(4e-3), rel=1e-12)
    assert points.contour_for_delta(1e-3).log_delta == pytest.approx(math.log(1e-6), rel=1e-9)


def test_the_chance_of_an_infinite_loss() -> None:
    assert infinite_mass([(GaussianLoss(1.0), 5)]) == 0
    assert infinite_mass([(disclosure(1.0), 1), (GaussianLoss(1.0), 2)]) == 1
    found = infinite_mass([(disclosure(0.25), 2), (disclosure(1e-9), 10)])
    truth = 1 - mp.mpf(0.75) ** 2 * (1 - mp.mpf(1e-9)) ** 10
    assert truth <= found <= truth * (1 + 3e-14)
    assert infinite_mass([(disclosure(0.9), 10**6)]) == 1


def test_cumulants_add_up() -> None:
    orders = np.array([0.3, 2.0])
    found = summed_cumulants([(GaussianLoss(0.5), 3), (GaussianLoss(1.0), 2)], orders)
    square = 3 * 0.25 + 2
    np.testing.assert_allclose(found[0], square * orders * (orders + 1) / 2)
    np.testing.assert_allclose(found[1], square * (orders + 0.5))
    np.testing.assert_allclose(found[2], [square, square])
