"""What is asked, where one starts, which step answers and by what name: choices of the composition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import (
    bracket_delta,
    bracket_epsilon,
    chernoff,
    closed_form,
    contour_integral,
    driver,
    exact_sum,
    lattice_sum,
    worst_delta,
    worst_deltas,
    worst_epsilon,
)
from dpcalc.accounting.composition.driver import Beginning
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.outcomes import outcomes, response
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate
from dpcalc.accounting.composition.resolution import (
    initial_resolution,
    less_smoothing,
    more_cells,
)
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.enclosure import (
    Bracket,
    find_root,
    invert_bound,
    relative_width,
    with_relative_width,
)
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
    constant_loss,
    disclosure,
)
from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.accounting.renyi import log_moment
from dpcalc.errors import InvalidInput, NumericalFailure
from dpcalc.numerics.root import Root
from tests.oracles import exact

EPSILON, DELTA = EpsilonAt(1e-5, 1e-6), DeltaAt(2.0, 1e-6)
LAPLACE = LaplaceLoss(0.5, 0.5)

pytestmark = pytest.mark.usefixtures("fifty_digits")


def total(*parts) -> LossSum:
    return LossSum.of(parts)


def points_of(mu: float) -> SaddlePoints:
    return SaddlePoints([(GaussianLoss(mu), 1)])


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
    near = Contour(2.0, 1.0, 3.0, 0.001, -1.0)
    assert EPSILON.first_width(near) == pytest.approx(1e-6 * 0.05)
    assert DELTA.first_width(near) == pytest.approx(5e-7)


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


def test_equal_losses_are_counted_and_gaussian_ones_made_one() -> None:
    found = total((LAPLACE, 2), (GaussianLoss(3.0), 1), (LAPLACE, 3), (GaussianLoss(2.0), 4))
    assert found.parts[0] == (LAPLACE, 5)
    gaussian, count = found.parts[1]
    assert isinstance(gaussian, GaussianLoss)
    assert (gaussian.mu, count) == (pytest.approx(5.0, rel=2e-15), 1)
    assert gaussian.mu > 5.0
    assert found.rounds == 6
    assert total((LAPLACE, 0), (GaussianLoss(1.0), 0)).parts == ()
    tiny = total((GaussianLoss(1e-200), 100)).parts[0][0]
    assert isinstance(tiny, GaussianLoss)
    assert tiny.mu == pytest.approx(1e-199)


def test_what_is_known_of_a_sum() -> None:
    sum_ = total((PoissonRemove(1.0, 0.1), 3), (LAPLACE, 2), (disclosure(0.01), 1))
    one = 1 - math.exp(-0.25)
    assert sum_.expected_events == pytest.approx(0.3 + 2 * one + 0.01)
    variation = 1 - 0.9**3 * (1 - one) ** 2 * 0.99
    assert 0 < sum_.total_variation_bound - variation < 2e-12
    assert sum_.largest == math.inf
    assert [count for _, count in sum_.exact] == [2, 1]
    assert 0.01 <= sum_.infinite_mass < 0.01 * (1 + 1e-13)
    assert sum_.epsilon_of_largest(1e-3) == 0.0
    assert total((GaussianMixtureLoss((1.0,), (0.5,)), 1)).total_variation_bound == 1.0
    plain = total((LAPLACE, 3))
    assert 1.5 <= plain.largest <= 1.5 * (1 + 2e-12)
    at = plain.epsilon_of_largest(1e-2)
    assert at == pytest.approx(1.5 + math.log1p(-0.08), rel=1e-12)
    assert at <= 1.5 + math.log1p(-0.08)
    assert plain.epsilon_of_largest(0.2) == 0.0
    coarse = sum_.coarse_upper(1e-20)
    assert sum_.coarse_upper(1e-20) is coarse
    assert coarse[1] == (LAPLACE, 2)
    assert isinstance(coarse[0][0], DiscreteLoss)
    assert coarse[0][1] == 3


def test_what_is_left_to_closed_forms() -> None:
    total((PoissonRemove(1 / 59.9, 0.1), 1)).require_tractable()
    with pytest.raises(NumericalFailure, match=r"^the noise must be at least 1/60 of the sens"):
        total((PoissonRemove(1 / 60.1, 0.1), 1)).require_tractable()
    total((LAPLACE, 10**13)).require_tractable()
    with pytest.raises(NumericalFailure, match=r"^at most 10000000000000 rounds can be composed"):
        total((LAPLACE, 10**13 + 1)).require_tractable()
    with pytest.raises(NumericalFailure, match=r"^losses must be at least 1e-100$"):
        total((LaplaceLoss(9e-101, 9e-101), 2), (GaussianLoss(1e-101), 1)).require_tractable()
    total((LaplaceLoss(9e-101, 9e-101), 2), (GaussianLoss(1e-99), 1)).require_tractable()
    LossSum(()).require_tractable()


def test_closed_forms() -> None:
    responses = total((RandomisedResponseLoss.of({0.5: 1}), 1))
    assert closed_form.enclose(responses, EpsilonAt(0.3, 1e-6)) == Bracket(
        0.0, 0.0, "total variation"
    )
    assert closed_form.enclose(responses, EpsilonAt(0.2, 1e-6)) is None
    revealed = total((disclosure(0.1), 1), (LAPLACE, 1))
    name = "infinite losses use up δ"
    assert closed_form.enclose(revealed, EpsilonAt(0.05, 1e-6)) == Bracket(math.inf, math.inf, name)
    assert closed_form.enclose(revealed, EpsilonAt(0.1, 1e-6)) == Bracket(0.0, math.inf, name)
    assert closed_form.enclose(revealed, EpsilonAt(0.11, 1e-6)) is None
    assert closed_form.enclose(LossSum(()), DELTA) == Bracket(0.0, 0.0, "nothing is released")
    whole = total((constant_loss(), 1), (LAPLACE, 1))
    assert closed_form.enclose(whole, DELTA) == Bracket(1.0, 1.0, "everything is revealed")
    found = closed_form.enclose(revealed, DELTA)
    assert found is not None
    assert found.method == "no finite loss is larger"
    assert found.lower <= 0.1 <= found.upper
    assert found.upper - found.lower < 2e-13
    assert closed_form.enclose(revealed, DeltaAt(0.49, 1e-6)) is None


def by_chernoff(parts, epsilon: float) -> tuple[float, float]:
    """The least over the orders of ln e^{K(c)-cε} c^c/(1+c)^{1+c}, and the order."""
    best = (math.inf, 0.0)
    for c in np.geomspace(1e-6, 1e8, 97).tolist():
        value = sum(n * log_moment(loss, c) for loss, n in parts) - c * epsilon
        best = min(best, (value + c * math.log(c / (1 + c)) - math.log1p(c), c))
    return best


def test_chernoff_bounds() -> None:
    sum_ = total((LAPLACE, 30), (disclosure(0.001), 2))
    revealed = 1 - 0.999**2
    for epsilon in (0.0, 3.0, 9.0):
        found = chernoff.enclose(sum_, DeltaAt(epsilon, 1e-6))
        assert found.method == chernoff.METHOD == "weaker: Chernoff bound"
        exponent, _ = by_chernoff(sum_.parts, epsilon)
        assert found.upper == pytest.approx(revealed + math.exp(min(exponent, 0)), rel=3e-9)
        assert 0 < revealed - found.lower < 3e-12 * revealed
    low = chernoff.enclose(sum_, EpsilonAt(0.001, 1e-6))
    assert (low.lower, low.upper) == (0.0, math.inf)
    orders = np.geomspace(1e-6, 1e8, 97)
    exponents = [sum(n * log_moment(loss, c) for loss, n in sum_.parts) for c in orders.tolist()]
    entropy = orders * np.log(orders / (1 + orders)) - np.log1p(orders)
    best = float(np.min((np.array(exponents) + entropy - math.log(0.01 - revealed)) / orders))
    found = chernoff.enclose(sum_, EpsilonAt(0.01, 1e-6))
    assert best <= found.upper <= best * (1 + 2e-9)
    one = total((LAPLACE, 2))
    found = chernoff.enclose(one, EpsilonAt(1e-9, 1e-6))
    assert found.upper == one.largest
    assert found.lower == one.epsilon_of_largest(1e-9)
    far = chernoff.enclose(total((GaussianLoss(1.0), 1)), DeltaAt(200.0, 1e-6))
    assert far.upper == 5e-324
    beyond = chernoff.enclose(one, DeltaAt(1.1, 1e-6))
    assert beyond == Bracket(0.0, 0.0, "no finite loss is larger")


def contour(c: float) -> Contour:
    return Contour(c, 1.0, 2.0, 1.0, -5.0)


def estimate(c: float = 1.0, upper: float = 5.0, nodes: int = 20) -> Estimate:
    return Estimate(1e-20, points_of(1.0), contour(c), upper, nodes)


def test_which_general_method_comes_first() -> None:
    rare, common = total((PoissonRemove(1.0, 1e-3), 20)), total((PoissonRemove(1.0, 0.1), 20))
    few = total((PoissonRemove(1.0, 1e-3), 16))
    contour_first = (contour_integral.enclose, lattice_sum.enclose)
    for sum_, nodes, first in (
        (rare, 301, False), (rare, 300, True), (common, 301, True), (few, 51, False), (few, 50, True),
    ):  # fmt: skip
        found = driver.general_methods(sum_, estimate(nodes=nodes))
        assert found == (contour_first if first else contour_first[::-1])
    assert driver.general_methods(rare, None) == contour_first[::-1]
    assert driver.general_methods(common, None) == contour_first
    edge = total((PoissonRemove(1.0, 0.03), 1))
    assert driver.general_methods(edge, None) == contour_first[::-1]
    gathered = RandomisedResponseLoss.of({0.1: 10, 0.2: 10})  # 1.5 events, though one law
    assert driver.general_methods(total((gathered, 1)), None) == contour_first
    few_events = RandomisedResponseLoss.of({0.05: 10, 0.06: 10})
    assert driver.general_methods(total((few_events, 1)), None) == contour_first[::-1]


def test_intersections_are_named_after_the_lower_upper_end() -> None:
    one, other = Bracket(1.0, 4.0, "one"), Bracket(2.0, 5.0, "other")
    assert driver.intersection(one, other) == Bracket(2.0, 4.0, "one")
    assert driver.intersection(other, one) == Bracket(2.0, 4.0, "one")
    same = Bracket(0.5, 4.0, "same")
    assert driver.intersection(one, same) == Bracket(1.0, 4.0, "one")
    assert driver.intersection(None, one) is one
    assert driver.intersection(one, None) is one
    assert driver.intersection(None, None) is None


def test_wide_enclosures_are_called_weaker() -> None:
    sum_, query = total((LAPLACE, 30)), DeltaAt(9.0, 1e-6)
    bound = chernoff.enclose(sum_, query)
    assert driver.weakened(None, sum_, query) == bound
    narrow = Bracket(0.951 * bound.upper * 2, bound.upper * 2, "m")
    assert driver.weakened(narrow, sum_, query) is narrow
    wide = Bracket(0.0, bound.upper * 2, "m")
    assert driver.weakened(wide, sum_, query) == bound
    better = Bracket(0.0, bound.upper / 2, "m")
    assert driver.weakened(better, sum_, query) == Bracket(0.0, bound.upper / 2, "weaker: m")


def test_a_step_that_fails_declines() -> None:
    def failing(*_: object) -> Bracket:
        raise NumericalFailure("no")

    assert driver.attempt(failing, 1, 2) is None
    assert driver.attempt(lambda a, b: a + b, 1, 2) == 3


def test_what_begins() -> None:
    assert Beginning(Bracket(1.0, 2.0, "x"), None).upper == 2.0
    assert Beginning(None, estimate(upper=7.0)).upper == 7.0
    assert Beginning(None, None).upper == math.inf
    begun = driver.begin(total((LAPLACE, 1)), EPSILON)
    assert begun.estimate is None
    assert begun.found is not None
    assert begun.found.method == "single round, sum over its outcomes"
    begun = driver.begin(total((LAPLACE, 9)), EPSILON)
    assert begun.found is None
    assert begun.estimate is not None


def test_a_direction_that_cannot_be_the_largest_is_not_refined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finished = []
    finish = driver.finish

    def counted(sum_, query, beginning, floor):
        finished.append(sum_.rounds)
        return finish(sum_, query, beginning, floor)

    monkeypatch.setattr(driver, "finish", counted)
    query = EpsilonAt(1e-5, 1e-2)
    directions = [total((PoissonRemove(1.0, 0.1), n)) for n in (2, 9, 3)]
    found = driver.worst_direction(directions, query)
    assert finished == [9]
    alone = driver.worst_direction(directions[1:2], query)
    assert (found.lower, found.upper, found.method) == (alone.lower, alone.upper, alone.method)


def test_the_worst_direction_has_the_larger_ends() -> None:
    pair = [[(PoissonRemove(1.0, 0.3), 40)], [(PoissonAdd(1.0, 0.3), 40)]]
    for worst, single, at in (
        (worst_epsilon, bracket_epsilon, 1e-4),
        (worst_delta, bracket_delta, 0.5),
    ):
        each = [single(way, at, relative_width=1e-3) for way in pair]
        found = worst(pair, at, relative_width=1e-3)
        assert found.upper == max(bracket.upper for bracket in each)
        assert found.lower == max(bracket.lower for bracket in each)
        assert found.relative_width <= 1e-3
        # As wide as was asked, or as the surroundings say; narrower costs more.
        wide = single(pair[0], at, relative_width=1e-2)
        with with_relative_width(1e-2):
            assert single(pair[0], at) == wide == worst([pair[0]], at)
        assert wide.relative_width > 1e-6 >= single(pair[0], at).relative_width
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidInput, match="delta"):
            worst_epsilon(pair, bad)
    with pytest.raises(InvalidInput, match="epsilon"):
        worst_delta(pair, -0.1)
    with pytest.raises(InvalidInput, match="epsilon"):
        worst_deltas(pair, [0.1, -0.1])


def test_how_finely_a_first_sum_is_cut() -> None:
    pair, other = PoissonRemove(1.0, 0.1), PoissonRemove(2.0, 0.2)
    sum_ = total((pair, 7), (LAPLACE, 2), (other, 50))
    c, width, tail = 3.0, 1e-4, 1e-20
    smoothing, cells = initial_resolution(sum_, tail, c, width)
    # 2s²(c+1) is a third of the width.
    assert 2 * smoothing**2 * (c + 1) == pytest.approx(width / 3)
    assert set(cells) == {pair, other}
    spread = {
        p: plan_cells(p, p.truncation_interval(tail), c).spread * n
        for p, n in ((pair, 7), (other, 50))
    }
    # (c+1)/8 Σ n·spread/cells² is another third, with cells as the cube root of n·spread.
    used = sum((c + 1) / 8 * spread[p] / cells[p] ** 2 for p in cells)
    assert used == pytest.approx(width / 3)
    ratio = cells[pair] / cells[other]
    assert ratio == pytest.approx((spread[pair] / spread[other]) ** (1 / 3))
    assert initial_resolution(sum_, tail, c, 100.0)[0] == 0.3
    assert set(initial_resolution(sum_, tail, c, 1e6)[1].values()) == {64}
    assert set(initial_resolution(sum_, tail, c, 1e-14)[1].values()) == {60_000}


def test_how_a_sum_is_refined() -> None:
    pair, other = PoissonRemove(1.0, 0.1), PoissonRemove(2.0, 0.2)
    assert more_cells({pair: 100.0, other: 50_000.0}, 4.0) == {pair: 200.0, other: 60_000}
    assert more_cells({pair: 100.0}, 0.5) == {pair: 100.0}
    assert more_cells({pair: 90_000.0}, 4.0) == {pair: 90_000.0}
    assert less_smoothing(0.2, 0.25) == pytest.approx(0.1)
    assert less_smoothing(0.2, 4.0) == 0.2
    assert less_smoothing(0.2, 1e-9) == pytest.approx(2e-4)


def test_outcomes_of_few_rounds() -> None:
    table = DiscreteLoss(np.array([0.5, -0.25, 1.5]), np.array([0.3, 0.4, 0.1]), infinite_mass=0.05)
    found = outcomes([(table, 2), (RandomisedResponseLoss.of({0.7: 3}), 2), (response(0.1), 1)])
    assert found is not None
    with mp.workdps(40):
        single = {0.5: 0.3, -0.25: 0.4, 1.5: 0.1, 0.0: 1 - 0.3 - 0.4 - 0.1 - 0.05}
        law = {mpf(0): mpf(1)}
        factors = [single] * 2
        for e, n in ((0.7, 6), (0.1, 1)):
            p = 1 / (1 + mp.exp(-mpf(e)))
            factors += [{mpf(e): p, -mpf(e): 1 - p}] * n
        for factor in factors:
            longer: dict = {}
            for x, a in law.items():
                for y, b in factor.items():
                    key = mp.nstr(x + y, 25)
                    longer[key] = longer.get(key, mpf(0)) + a * b
            law = {mpf(x): a for x, a in longer.items()}
        infinite = 1 - mpf(0.95) ** 2
        for epsilon in (0.0, 0.3, 2.0, 5.0):
            truth = infinite + sum(
                (a * -mp.expm1(epsilon - x) for x, a in law.items() if x > epsilon), mpf(0)
            )
            low, high = found.delta(epsilon)
            assert low <= truth <= high
            assert high - low < 1e-13
    assert len(found.losses) == 4**2 * 7 * 2
    assert 7.3 <= found.largest < 7.3 * (1 + 1e-13)
    unit = 2.0**-53
    size = 2 * 1.5 + 6 * 0.7 + 0.1
    assert found.loss_error == pytest.approx(2 * unit * size * (3 + 8 + 9))
    assert found.mass_error == pytest.approx(9 * 16 * unit + 1e-14, rel=1e-9)
    held = -2 * math.log1p(-0.05)
    assert found.infinite_error == pytest.approx(22 * unit * (1 + held))


def test_outcomes_that_are_too_many_or_continuous() -> None:
    assert outcomes([(GaussianLoss(1.0), 1)]) is None
    assert outcomes([(response(0.5), 1000)]) is not None
    assert outcomes([(response(0.5), 1001)]) is None
    assert outcomes([(response(0.5), 400), (response(0.6), 300)]) is None
    three = DiscreteLoss(np.array([0.5, -0.25, 1.5]), np.array([0.5, 0.4, 0.1]))
    assert outcomes([(three, 10)]) is not None
    assert outcomes([(three, 11)]) is None
    sure = outcomes([(DiscreteLoss(np.array([0.5]), np.array([1.0])), 10**6)])
    assert sure is not None
    assert sure.losses.tolist() == [5e5]
    revealing = outcomes([(constant_loss(), 2)])
    assert revealing is not None
    assert revealing.infinite == 1.0


def test_left_over_mass_is_at_zero_unless_it_may_be_rounding() -> None:
    for rest, atoms in ((2e-13, 3), (5e-14, 2)):
        law = DiscreteLoss(np.array([0.5, -0.25, 9.0]), np.array([0.5, 0.5 - rest, 0.0]))
        found = outcomes([(law, 1)])
        assert found is not None
        assert len(found.losses) == atoms
        if atoms == 2:  # what is left out counts as an error
            assert found.mass_error == pytest.approx(16 * 2.0**-53 + 2 * rest + 1e-14, rel=1e-2)


@pytest.mark.parametrize(
    ("parts", "method", "width"),
    [
        ([(LAPLACE, 1)], "single round, sum over its outcomes", 1e-12),
        ([(PoissonRemove(1.0, 0.1), 1)], "single round, sum over its outcomes", 1e-9),
        ([(response(0.3), 40)], "sum over all outcomes", 1e-12),
        ([(GaussianLoss(0.3), 1), (LAPLACE, 20)], "moment inversion, two-sided", 1e-6),
        ([(PoissonRemove(1.0, 1e-3), 3)], "convolution, two-sided", 1e-3),
        ([(PoissonRemove(1e-5, 0.1), 3)], "weaker: Chernoff bound", math.inf),
    ],
)
def test_each_step_answers_what_is_its_own(parts, method: str, width: float) -> None:
    delta = 1e-4 if method.startswith("convolution") else 1e-3
    aimed = max(width, 1e-6) if width < math.inf else 1e-6
    found = bracket_epsilon(parts, delta, relative_width=aimed)
    assert found.method == method
    assert found.lower <= found.upper
    assert width == math.inf or found.relative_width <= width
    back = bracket_delta(parts, found.upper, relative_width=aimed)
    assert back.lower <= delta
    assert back.upper <= delta * (1 + 10 * aimed) or width == math.inf


def test_a_single_round_of_cells_is_cut_where_epsilon_falls() -> None:
    pair = PoissonRemove(0.8, 0.2)
    for epsilon in (0.0, 0.7, 3.0):
        found = exact_sum.enclose(total((pair, 1)), DeltaAt(epsilon, 1e-6))
        assert found is not None
        truth = exact.subsampled_gaussian_delta(0.8, 0.2, epsilon, remove=True)
        assert found.lower <= truth <= found.upper
        assert found.relative_width < 1e-9
    assert exact_sum.enclose(total((pair, 2)), DELTA) is None
    assert exact_sum.enclose(total((GaussianLoss(1.0), 1)), DELTA) is None


def test_roots_are_looked_for_coarsely_first() -> None:
    widths = []

    def height(x: float) -> float:
        widths.append(relative_width())
        return 3.0 - x

    found = find_root(height, 1.0, tolerance=1e-9, least=0.0, most=10.0)
    assert found.low <= 3.0 <= found.high <= found.low + 1e-9
    assert widths[0] == 1e-3
    assert widths[-1] == 1e-9
    assert sorted(widths, reverse=True) == widths
    widths.clear()
    assert find_root(height, 1.0, tolerance=1e-3, least=0.0, most=10.0, last=0.25).high >= 3.0
    assert set(widths) == {0.25e-3}
    assert find_root(height, 1.0, tolerance=1e-9, least=4.0, most=10.0) == Root(4.0, 4.0, 1.0, 4.0)
    for falls in (1.0, 100.0):  # nothing is asked for outside the range
        asked: list[float] = []

        def within(x: float, falls: float = falls, asked: list[float] = asked) -> float:
            asked.append(x)
            return falls * (3.0 - x)

        for start in (2.9, 3.05):
            find_root(within, start, tolerance=1e-9, least=2.95, most=3.01)
        assert 2.95 <= min(asked) < max(asked) <= 3.01
    assert find_root(height, 1.0, tolerance=1e-9, least=0.0, most=2.0).high == math.inf
    with with_relative_width(0.5):
        assert relative_width() == 0.5
    assert relative_width() == 1e-6


def test_a_bound_is_inverted_to_its_tolerance() -> None:
    low, high = invert_bound(lambda e: 0.5 * math.exp(-3 * e), 1e-4, 0.0, 1 / 3, 1e-7)
    truth = math.log(5000) / 3
    assert truth - 1e-7 <= low <= truth <= high <= truth + 1e-7
    assert high - low <= 1e-7
    assert invert_bound(lambda _: 0.0, 1e-4, 2.0, 1.0, 1e-7) == (0.0, 0.0)
    low, high = invert_bound(lambda _: 1.0, 1e-4, 2.0, 1.0, 1e-7)
    assert low == pytest.approx(1e15, rel=1e-9)
    assert high == math.inf
    with pytest.raises(NumericalFailure, match=r"^a positive unit was needed; got unit=0.0$"):
        invert_bound(lambda _: 1.0, 1e-4, 2.0, 0.0, 1e-7)


def test_brackets() -> None:
    found = Bracket(1.0, 4.0, "x")
    assert found.relative_width == 0.75
    assert Bracket(2.0, 2.0, "x").relative_width == 0.0
    assert Bracket(1.0, math.inf, "x").relative_width == math.inf
    assert Bracket(math.inf, math.inf, "x").relative_width == 0.0
    assert found.named("y") == Bracket(1.0, 4.0, "y")
    assert found.narrowed(2.0, 3.0) == Bracket(2.0, 3.0, "x")
    assert found.narrowed(0.0, 9.0) == found
    for low, high in ((2.0, 1.0), (-1.0, 1.0), (math.nan, 1.0)):
        with pytest.raises(NumericalFailure) as caught:
            Bracket(low, high, "x")
        assert str(caught.value) == (
            f"an enclosure with 0 <= lower <= upper was needed; got lower={low!r}, "
            f"upper={high!r} by x; please report the request that led here"
        )


@pytest.mark.parametrize(
    "parts",
    [
        [(PoissonRemove(1.0, 0.05), 40)],
        [(PoissonRemove(1.0, 1e-3), 2)],
        [(LAPLACE, 20)],
        [(LAPLACE, 1)],
        [(disclosure(1e-3), 2), (LAPLACE, 12)],
    ],
)
def test_many_deltas_at_once_are_near_those_one_by_one(parts) -> None:
    epsilons = [0.0, 0.2, 0.6, 3.0]
    found = worst_deltas([parts], epsilons)
    for epsilon, value in zip(epsilons, found, strict=True):
        alone = bracket_delta(parts, epsilon, relative_width=1e-2)
        assert value >= alone.lower
        assert value <= alone.upper * 1.2 + 1e-300
    assert found == sorted(found, reverse=True)
