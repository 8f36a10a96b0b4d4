"""How far ε moves where losses are blurred: of sums whose density is known, and of none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpcalc.accounting.contour.bend import Bend, bend_of, widening
from dpcalc.accounting.contour.contour_sum import contour_sum
from dpcalc.accounting.contour.saddle_points import SaddlePoints
from dpcalc.accounting.losses import GaussianLoss
from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement


@pytest.mark.parametrize(("mu", "delta"), [(0.4, 1e-3), (1.0, 1e-6), (3.0, 1e-9)])
def test_the_bend_of_a_gaussian_sum(mu: float, delta: float) -> None:
    """The loss has density N(μ²/2, μ²), and -δ' is e^ε times Q's mass above ε."""
    rounds = [(GaussianLoss(mu), 1)]
    contour = SaddlePoints(rounds).contour_for_delta(delta)
    found = contour_sum(rounds, contour, smoothing=0.003 * mu, most_nodes=4000)
    bend = bend_of(found, contour.epsilon, contour.slope)
    assert bend.measured
    assert bend.slope == contour.slope
    fall = math.exp(contour.epsilon) * stats.norm.sf(contour.epsilon / mu + mu / 2)
    losses = np.linspace(-1.0 * mu, 0.28 * contour.period, 23)  # beyond it aliases come in
    density = stats.norm.pdf(contour.epsilon - losses, mu * mu / 2, mu)
    np.testing.assert_allclose(bend.at(losses), density / fall, rtol=1e-3)
    assert bend.at_zero == pytest.approx(contour.slope + 1, rel=0.2)
    assert bend.at(np.array([-1e3, 1e3])).tolist() == [0.0, 0.0]


def test_where_a_sum_tells_nothing_the_slope_is_what_is_known() -> None:
    plain = Bend.along(4.0)
    assert not plain.measured
    assert plain.at_zero == 5.0
    small = Bend(4.0, np.array([-1.0, 0.0, 1.0]), np.array([0.0, 0.1, 0.0]))
    assert small.at_zero == 1.25
    rounds = [(GaussianLoss(1.0), 1)]
    contour = SaddlePoints(rounds).contour_for_epsilon(1.5)
    found = contour_sum(rounds, contour, smoothing=0.01, most_nodes=4000)
    assert bend_of(found, 1.5, contour.slope).measured
    for lost in (replace(found, truncated=1.0), replace(found, nodes=found.nodes * 500)):
        assert not bend_of(lost, 1.5, contour.slope).measured


def test_a_plan_that_follows_a_bend() -> None:
    pair = PoissonRemove(1.0, 0.2)
    window = pair.truncation_interval(1e-12)
    plain = plan_cells(pair, window, 0.0)
    same = plan_cells(pair, window, 0.0, np.ones_like)
    # Masses add up to one, so that the plan is the same, but for the cells that follow the tilt.
    np.testing.assert_allclose(same.density, plain.density, rtol=1e-9)
    np.testing.assert_allclose(same.floor, plain.floor)
    assert same.spread == pytest.approx(plain.spread / 0.9**2, rel=1e-4)
    step = plan_cells(pair, window, 0.0, lambda losses: 1.0 * (losses > 0.5))
    above = pair.loss((plain.x[1:] + plain.x[:-1]) / 2) > 0.51
    assert step.density[above].sum() > 0.9
    assert step.density.sum() == pytest.approx(1.0)
    assert step.density[~above].min() > 0
    nothing = plan_cells(pair, window, 0.0, np.zeros_like)
    np.testing.assert_allclose(nothing.density, plain.density)
    assert nothing.spread == 0


def test_mirror_images_weigh_as_well() -> None:
    pair = WithoutReplacement(1.0, 0.1)
    window = pair.truncation_interval(1e-12)
    positive = plan_cells(pair, window, 0.0, lambda losses: 1.0 * (losses > 0))
    negative = plan_cells(pair, window, 0.0, lambda losses: np.exp(-losses) * (losses < 0))
    # A loss l has a mirror image of e^{-l} the mass, which e^{l} makes up for.
    np.testing.assert_allclose(negative.density, positive.density, rtol=1e-9)
    assert negative.spread == pytest.approx(positive.spread, rel=1e-9)


def test_what_belongs_to_the_next_period_is_left_out() -> None:
    """Beyond 0.3 periods aliases would weigh a loss by up to 1e9 times what it weighs."""
    rounds = [(GaussianLoss(0.4), 1)]
    contour = SaddlePoints(rounds).contour_for_delta(1e-3)
    found = contour_sum(rounds, contour, smoothing=0.001, most_nodes=4000)
    bend = bend_of(found, contour.epsilon, contour.slope)
    fall = math.exp(contour.epsilon) * stats.norm.sf(contour.epsilon / 0.4 + 0.2)
    density = stats.norm.pdf(contour.epsilon - bend.losses, 0.08, 0.4)
    far = bend.losses > 0
    assert np.all(bend.values[far] <= 3 * density[far] / fall)


def test_what_more_smoothing_would_leave_open() -> None:
    """Told by the nodes for less: it is what is left open then."""
    rounds = [(GaussianLoss(0.4), 1)]
    contour = SaddlePoints(rounds).contour_for_epsilon(1.0, math.log(0.003))
    found = contour_sum(rounds, contour, smoothing=0.001, most_nodes=20000)
    for smoothing in (0.001, 0.01, 0.03):
        other = contour_sum(rounds, contour, smoothing=smoothing, most_nodes=20000)
        gap = other.upper(1.0) - other.lower(1.0)
        assert widening(found, 1.0, smoothing) == pytest.approx(gap, rel=0.03)
    assert widening(found, 1.0, 1e-4) == widening(found, 1.0, 0.001)
