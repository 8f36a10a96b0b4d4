"""Nodes of a contour integral: their rounding, and what is left out behind them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from dpcalc.accounting.contour.nodes import Nodes
from dpcalc.accounting.contour.omitted_nodes import OmittedNodes
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
)
from dpcalc.accounting.losses.distribution import ELEMENTARY_ERROR, UNIT_ROUNDOFF
from tests.unit.contour_laws import LAPLACE, RESPONSES

pytestmark = pytest.mark.usefixtures("fifty_digits")


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


class Sampled:
    """A part whose moduli are bounded by a tenth, at a price, and at first not at all."""

    refinements = 3

    def __init__(self, variance: float) -> None:
        self.variance, self.asked = variance, 0

    def log_modulus_bound(self, edges: np.ndarray, level: int) -> np.ndarray:
        self.asked += level > 0
        return np.full(len(edges) - 1, -2.3 * (level > 0))


def test_a_modulus_used_once_is_not_sampled_where_one_used_often_is_enough() -> None:
    """However much the single round varies."""
    once, often = Sampled(1.0), Sampled(1e-3)
    parts: Any = [(once, 1), (often, 90)]
    assert OmittedNodes(parts, 1.0, 0.1, 0.01, 10).bound(1000) < 1e-30
    assert (once.asked, often.asked) == (0, 1)
