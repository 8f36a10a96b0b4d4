"""What is asked of a composition, and how it is read off bounds."""

from __future__ import annotations

import math

import pytest

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.enclosure import (
    Bracket,
)
from dpcalc.accounting.losses import (
    GaussianLoss,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from tests.unit.loss_sums import DELTA, EPSILON, LAPLACE, points_of, total

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_where_bounds_cross_a_delta() -> None:
    upper, lower = (lambda e: 1e-3 * math.exp(-e)), (lambda e: 9e-4 * math.exp(-e))
    low, high = EPSILON.read(upper, lower, 3.0, 1.0, 1e-9)
    assert math.log(90) - 1e-8 <= low <= math.log(90)
    assert math.log(100) <= high <= math.log(100) + 1e-8
    assert EPSILON.upper(upper, 3.0, 1.0, 1e-9) == high
    assert EPSILON.read(upper, lower, 3.0, 1.0, 1e-9, 4.0) == (pytest.approx(low), 4.0)
    assert EPSILON.read(lambda _: 1.0, lower, 3.0, 1.0, 1e-9)[1] == math.inf
    assert EPSILON.read(lambda _: 0.0, lambda _: 0.0, 3.0, 1.0, 1e-9) == (0.0, 0.0)


def test_what_bounds_say_at_an_epsilon() -> None:
    upper, lower = (lambda e: 4 * math.exp(-e)), (lambda e: 3 * math.exp(-e))
    assert DELTA.read(upper, lower, 9.0, 9.0, 9.0) == (3 * math.exp(-2), 4 * math.exp(-2))
    assert DeltaAt(0.0, 1e-6).read(upper, lambda _: 0.5, 9.0, 9.0, 9.0) == (0.5, 1.0)
    assert DELTA.upper(upper, 9.0, 9.0, 9.0) == 4 * math.exp(-2)


def test_small_answers_of_queries() -> None:
    found = Bracket(1.0, 3.0, "x")
    assert EPSILON.place(found) == (1.0, 3.0)
    assert DELTA.place(found) == (2.0, 2.0)
    assert EPSILON.start(7.0) == Bracket(0.0, 7.0, "coarse bound")
    assert DELTA.start(7.0) == Bracket(0.0, 1.0, "coarse bound")
    assert DELTA.start(0.25) == Bracket(0.0, 0.25, "coarse bound")
    assert EPSILON.unit(0.5, 2.0, 9.0) == 0.5
    assert EPSILON.unit(5.0, 2.0, 9.0) == 2.0
    assert EPSILON.unit(0.0, 2.0, 9.0) == 2e-9
    assert DELTA.unit(0.5, 2.0, 9.0) == 0.5
    assert DELTA.unit(50.0, 2.0, 9.0) == 9.0
    assert DELTA.unit(0.0, 2.0, 9.0) == pytest.approx(9e-9)
    # Largest loss 1 with probability (1/2)² nearly: ε of it at δ, but nothing is known of δ.
    twice = total((LAPLACE, 2))
    assert EPSILON.least(twice) == pytest.approx(1 + math.log1p(-4e-5), rel=1e-12)
    assert EPSILON.least(twice) < 1 + math.log1p(-4e-5)
    assert DELTA.least(twice) == 0.0
    assert EPSILON.tail(total((LAPLACE, 4))) == pytest.approx(1e-5 * 1e-10 / 4)
    assert EpsilonAt(1e-290, 1e-6).tail(twice) == 1e-280
    assert EPSILON.tail(LossSum(())) == pytest.approx(1e-15)
    contour = points_of(1.0).contour_for_delta(1e-5)
    assert EPSILON.contour(points_of(1.0)) == contour
    assert DELTA.contour(points_of(1.0)) == points_of(1.0).contour_for_epsilon(2.0)
    assert EPSILON.first_width(contour) == pytest.approx(1e-6 * contour.epsilon)
    near = Contour(2.0, 1.0, 3.0, 0.001, -1.0, 4.0)
    assert EPSILON.first_width(near) == pytest.approx(1e-6 * 0.05)
    assert DELTA.first_width(near) == pytest.approx(2.5e-7)


def test_the_tail_of_a_query_at_an_epsilon_is_a_share_of_delta() -> None:
    sum_ = total((PoissonRemove(1.0, 0.01), 100))
    points = SaddlePoints(sum_.coarse_upper(1e-62))
    estimate = math.exp(points.contour_for_epsilon(2.0).log_delta)
    assert DELTA.tail(sum_) == pytest.approx(estimate * 1e-12, rel=1e-9)
    far = total((GaussianLoss(1.0), 1))
    assert DeltaAt(40.0, 1e-6).tail(far) == pytest.approx(math.exp(-600) * 1e-10)


def test_when_a_contour_is_chosen_again() -> None:
    points = points_of(1.0)
    contour = points.contour_for_delta(1e-5)
    unit = 1 / contour.c
    for off, kept in ((0.9, True), (1.1, False), (-0.9, True), (-1.1, False)):
        found = Bracket(0.0, contour.epsilon + off * unit, "x")
        better = EPSILON.recentred(points, contour, found)
        assert (better is None) == kept
        if better is not None:
            assert better == points.contour_for_epsilon(found.upper, contour.log_delta)
    assert EPSILON.recentred(points, contour, Bracket(0.0, math.inf, "x")) is None
    for off, kept in ((2.9, True), (3.1, False), (-2.9, True), (-3.1, False)):
        found = Bracket(0.0, math.exp(contour.log_delta + off), "x")
        better = DELTA.recentred(points, contour, found)
        assert (better is None) == kept
        if better is not None:
            expected = points.contour_for_epsilon(2.0, contour.log_delta + off)
            assert better.period == pytest.approx(expected.period)
            assert better.log_delta == pytest.approx(expected.log_delta)
    for upper in (0.0, 1.0):
        assert DELTA.recentred(points, contour, Bracket(0.0, upper, "x")) is None


def test_when_an_enclosure_is_narrow() -> None:
    for width, narrow in ((0.9e-6, True), (1.1e-6, False)):
        found = Bracket(2 * (1 - width), 2.0, "x")
        assert EPSILON.narrow(found, 1e-9) == narrow
        assert DELTA.narrow(Bracket(0.2 * (1 - width), 0.2, "x"), 1.0) == narrow
        assert EPSILON.narrow(Bracket(2 * (1 - 10 * width), 2.0, "x"), 1e-9, 10.0) == narrow
        assert DELTA.narrow(Bracket(0.2 * (1 - 10 * width), 0.2, "x"), 1.0, 10.0) == narrow
        # Next to zero the width counts for a tenth of |dε/d ln δ|.
        assert EPSILON.narrow(Bracket(0.0, 0.1 * width * 3, "x"), 3.0) == narrow
        assert EPSILON.narrow(Bracket(0.0, 0.5 * width * 3, "x"), 3.0, 5.0) == narrow


def test_what_is_known_of_every_delta() -> None:
    sum_ = total((RandomisedResponseLoss.of({0.5: 1}), 1))
    variation = math.tanh(0.25)
    assert EPSILON.clipped(Bracket(0.1, 9.0, "x"), sum_) == Bracket(0.1, 9.0, "x")
    clipped = DeltaAt(0.3, 1e-6).clipped(Bracket(0.0, 0.9, "x"), sum_)
    assert clipped.upper == pytest.approx(variation, rel=1e-11)
    assert clipped.method == "x"
    assert DeltaAt(0.3, 1e-6).clipped(Bracket(0.0, 0.0, "x"), sum_).upper == 5e-324
    assert DeltaAt(0.6, 1e-6).clipped(Bracket(0.0, 0.0, "x"), sum_).upper == 0.0
    assert DELTA.clipped(Bracket(0.0, 0.0, "x"), LossSum(())).upper == 0.0
