"""Which step answers and by what name: closed forms, Chernoff bounds, two general methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpcalc.accounting.composition import (
    bracket_delta,
    bracket_epsilon,
    chernoff,
    closed_form,
    contour_integral,
    driver,
    lattice_sum,
    worst_delta,
    worst_deltas,
    worst_epsilon,
)
from dpcalc.accounting.composition.driver import Beginning
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import (
    Bracket,
    searching,
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
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.objective_perturbation import replacement_law
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.accounting.renyi import log_moment
from dpcalc.errors import InvalidInput, NumericalFailure
from tests.unit.loss_sums import DELTA, EPSILON, LAPLACE, estimate, total

pytestmark = pytest.mark.usefixtures("fifty_digits")


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
    on_edge = closed_form.enclose(revealed, EpsilonAt(0.1, 1e-6))
    assert on_edge is not None
    assert 0.5 * (1 - 1e-11) <= on_edge.lower <= 0.5
    assert (on_edge.upper, on_edge.method) == (math.inf, name)
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


def least(value: Callable[[float], float]) -> tuple[float, float]:
    """The least of a function of the order, and the least on a grid."""
    orders = np.geomspace(1e-6, 1e8, 97)
    on_grid = [value(c) for c in orders.tolist()]
    best = int(np.argmin(on_grid))
    ends = math.log(orders[max(best - 1, 0)]), math.log(orders[min(best + 1, 96)])
    found = minimize_scalar(lambda s: value(math.exp(s)), bounds=ends, options={"xatol": 1e-10})
    return min(found.fun, on_grid[best]), on_grid[best]


def exponent(parts, c: float) -> float:
    """ln e^{K(c)} c^c/(1+c)^{1+c}."""
    moment = sum(n * log_moment(loss, c) for loss, n in parts)
    return float(moment + c * math.log(c / (1 + c)) - math.log1p(c))


def test_chernoff_bounds() -> None:
    sum_ = total((LAPLACE, 30), (disclosure(0.001), 2))
    revealed = 1 - 0.999**2
    for epsilon in (0.0, 3.0, 9.0):
        found = chernoff.enclose(sum_, DeltaAt(epsilon, 1e-6))
        assert found.method == chernoff.METHOD == "weaker: Chernoff bound"
        best, on_grid = least(lambda c, at=epsilon: exponent(sum_.parts, c) - c * at)  # type: ignore[misc] # of this turn
        low, high = (revealed + math.exp(min(value, 0)) for value in (best, on_grid))
        assert low * (1 - 1e-9) <= found.upper <= high * (1 + 3e-9)
        assert found.upper <= low * (1 + 1e-4)
        assert 0 < revealed - found.lower < 3e-12 * revealed
    low = chernoff.enclose(sum_, EpsilonAt(0.001, 1e-6))
    assert (low.lower, low.upper) == (math.inf, math.inf)
    spare = math.log(0.01 - revealed)
    best, on_grid = least(lambda c: (exponent(sum_.parts, c) - spare) / c)
    found = chernoff.enclose(sum_, EpsilonAt(0.01, 1e-6))
    assert best <= found.upper <= on_grid * (1 + 2e-9)
    assert found.upper <= best * (1 + 1e-4)
    one = total((LAPLACE, 2))
    found = chernoff.enclose(one, EpsilonAt(1e-9, 1e-6))
    assert found.upper == one.largest
    assert found.lower == one.epsilon_of_largest(1e-9)
    far = chernoff.enclose(total((GaussianLoss(1.0), 1)), DeltaAt(200.0, 1e-6))
    assert far.upper == 5e-324
    beyond = chernoff.enclose(one, DeltaAt(1.1, 1e-6))
    assert beyond == Bracket(0.0, 0.0, "no finite loss is larger")


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


def test_a_contour_of_many_nodes_comes_first_for_one_answer_that_is_not_far_out() -> None:
    """Five rounds of a record in ten took five times as long by large losses apart."""
    usual, far = estimate(nodes=900), estimate(nodes=900)
    usual = replace(usual, contour=replace(usual.contour, log_delta=math.log(1e-5)))
    far = replace(far, contour=replace(far.contour, log_delta=math.log(1e-21)))
    some, fewer = total((PoissonRemove(1.0, 0.1), 5)), total((PoissonRemove(1.0, 1e-3), 5))
    tables = total((RandomisedResponseLoss.of({0.05: 3, 0.06: 3}), 1))
    assert not driver.rare_events(some, usual)
    assert driver.rare_events(some, usual, many=True)
    assert driver.rare_events(some, far)
    assert driver.rare_events(fewer, usual)
    assert tables.expected_events > 0.05
    assert driver.rare_events(tables, usual)


def test_a_law_of_many_outcomes_is_as_good_as_a_density() -> None:
    """Six objective-perturbed rounds took twenty times as long on a lattice, and were left wider."""
    law = replacement_law(Update(0.2, 0.1, 105, tied=True))
    usual = estimate(nodes=900)
    usual = replace(usual, contour=replace(usual.contour, log_delta=math.log(1e-5)))
    few = DiscreteLoss(np.array([-0.2, 0.2]), np.array([0.45, 0.55]))
    assert not driver.rare_events(total((law, 6)), usual)
    assert driver.rare_events(total((law, 6)), usual, many=True)
    assert driver.rare_events(total((law, 2)), usual)
    assert driver.rare_events(total((few, 6)), usual)
    assert bracket_epsilon([(law, 6)], 1e-6).relative_width <= 1e-6


@pytest.mark.parametrize(("rounds", "delta"), [(3, 1e-6), (6, 1e-3)])
def test_a_contour_and_a_lattice_agree_on_objective_perturbation(rounds: int, delta: float) -> None:
    each = total((replacement_law(Update(0.21, 0.1, 105, tied=True)), rounds))
    query = EpsilonAt(delta, 1e-6)
    guess = contour_integral.estimate(each, query)
    found = [step.enclose(each, query, guess) for step in (contour_integral, lattice_sum)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].lower <= found[1].upper
    assert found[1].lower <= found[0].upper
    assert found[0].relative_width <= 1e-6


def test_at_epsilon_zero_a_contour_comes_first_where_events_are_likely_or_tell_little() -> None:
    """Three rounds of a record in a hundred next to much noise took ten times as long on a lattice."""
    zero, contour_first = DeltaAt(0.0, 1e-4), (contour_integral.enclose, lattice_sum.enclose)
    rare, two = total((PoissonRemove(1.0, 0.01), 5)), total((PoissonRemove(1.0, 0.3), 2))
    often = total((PoissonRemove(1.0, 0.1), 5))
    tables = total((RandomisedResponseLoss.of({0.05: 3, 0.06: 3}), 1))
    for sum_, share, first in (
        (rare, 0.15, True), (rare, 0.16, False), (often, 0.9, True), (two, 0.14, True), (tables, 0.1, False),
    ):  # fmt: skip
        found = estimate(upper=share * sum_.expected_events, nodes=900)
        found = replace(found, contour=replace(found.contour, log_delta=-50.0))
        expected = contour_first if first else contour_first[::-1]
        assert driver.better_first(sum_, found, zero) == expected, share
        assert driver.better_first(sum_, found, EPSILON) == contour_first[::-1]


def test_a_search_begins_with_the_method_that_was_better() -> None:
    rare = total((PoissonRemove(1.0, 1e-3), 20))
    usual = driver.general_methods(rare, None)
    narrow, wide = Bracket(1.0, 2.0, "one"), Bracket(1.0, 3.0, "other")
    driver.compare(rare, usual, wide, narrow)  # no search, nobody remembers
    assert driver.better_first(rare, None) == usual
    with searching():
        assert driver.better_first(rare, None) == usual
        driver.compare(rare, usual, wide, narrow)
        assert driver.better_first(rare, None) == usual[::-1]
        assert driver.better_first(total((GaussianLoss(1.0), 20)), None) == driver.general_methods(
            total((GaussianLoss(1.0), 20)), None
        )
        driver.compare(rare, usual[::-1], None, wide)
        assert driver.better_first(rare, None) == usual
        driver.compare(rare, usual, None, None)
        assert driver.better_first(rare, None) == usual
    assert driver.better_first(rare, None) == usual


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
    begun = driver.begin(total((LAPLACE, 900)), EPSILON)
    assert begun.found is None
    assert begun.estimate is not None


def test_a_direction_that_cannot_be_the_largest_is_not_refined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finished = []
    finish = driver.finish

    def counted(sum_, query, beginning, floor, known):
        finished.append(sum_.rounds)
        return finish(sum_, query, beginning, floor, known)

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
