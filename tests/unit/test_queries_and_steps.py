"""What is asked, where one starts, which step answers and by what name: choices of the composition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import (
    bracket_delta,
    bracket_epsilon,
    exact_sum,
    worst_deltas,
)
from dpcalc.accounting.composition.outcomes import outcomes, response
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.composition.resolution import (
    initial_resolution,
    less_smoothing,
    more_cells,
)
from dpcalc.accounting.contour.bend import Bend
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
    RandomisedResponseLoss,
    constant_loss,
    disclosure,
)
from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.root import Root
from tests.oracles import exact
from tests.unit.loss_sums import DELTA, LAPLACE, total

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_how_finely_a_first_sum_is_cut() -> None:
    pair, other = PoissonRemove(1.0, 0.1), PoissonRemove(2.0, 0.2)
    sum_ = total((pair, 7), (LAPLACE, 2), (other, 50))
    c, width, tail = 3.0, 1e-4, 1e-20
    slope = Bend.along(c)
    smoothing, cells = initial_resolution(sum_, tail, slope, width)
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
    assert initial_resolution(sum_, tail, slope, 100.0)[0] == 0.3
    assert set(initial_resolution(sum_, tail, slope, 1e6)[1].values()) == {64}
    assert set(initial_resolution(sum_, tail, slope, 1e-14)[1].values()) == {60_000}


def test_how_finely_it_is_cut_where_more_than_the_slope_is_known() -> None:
    pair, other = PoissonRemove(1.0, 0.1), PoissonRemove(2.0, 0.2)
    sum_ = total((pair, 7), (LAPLACE, 2), (other, 50))
    bend = Bend(3.0, np.linspace(-9.0, 9.0, 50), np.linspace(1.0, 9.0, 50))
    smoothing, cells = initial_resolution(sum_, 1e-20, bend, 1e-4)
    assert 2 * smoothing**2 * 5.0 == pytest.approx(0.3e-4)
    used = 0.0
    for p, n in ((pair, 7), (other, 50)):
        plan = plan_cells(p, p.truncation_interval(1e-20), 3.0, bend.at)
        used += n * plan.spread / cells[p] ** 2 / 8
    assert used == pytest.approx(0.5e-4)
    # Without densities all is as if nothing more were known.
    laplace = total((LAPLACE, 9))
    known, unknown = (initial_resolution(laplace, 1e-20, b, 1e-4) for b in (bend, Bend.along(3.0)))
    assert known == unknown == (pytest.approx(math.sqrt(1e-4 / 24)), {})


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
    assert len(found.losses) == math.comb(5, 2) * 7 * 2
    assert 7.3 <= found.largest < 7.3 * (1 + 1e-13)
    unit = 2.0**-53
    size = 2 * 1.5 + 6 * 0.7 + 0.1
    assert found.loss_error == pytest.approx(2 * unit * size * (3 + 8 + 9))
    assert found.mass_error == pytest.approx((9 * 16 + 24 * 4) * unit + 1e-14, rel=1e-9)
    held = -2 * math.log1p(-0.05)
    assert found.infinite_error == pytest.approx(22 * unit * (1 + held))


def test_outcomes_that_are_too_many_or_continuous() -> None:
    assert outcomes([(GaussianLoss(1.0), 1)]) is None
    assert outcomes([(response(0.5), 1000)]) is not None
    assert outcomes([(response(0.5), 1001)]) is None
    assert outcomes([(response(0.5), 400), (response(0.6), 300)]) is None
    three = DiscreteLoss(np.array([0.5, -0.25, 1.5]), np.array([0.5, 0.4, 0.1]))
    assert math.comb(445 + 2, 2) <= 100_000 < math.comb(446 + 2, 2)
    assert outcomes([(three, 445)]) is not None
    assert outcomes([(three, 446)]) is None
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
        ([(PoissonRemove(5.0, 1e-3), 3)], "convolution, two-sided", 1e-3),
        ([(PoissonRemove(1.0, 0.005), 3)], "moment inversion, large losses apart, two-sided", 1e-5),
        ([(PoissonRemove(1.0, 0.16), 3)], "moment inversion, two-sided", 1e-5),
        ([(PoissonRemove(1e-5, 0.1), 3)], "weaker: Chernoff bound", math.inf),
    ],
)
def test_each_step_answers_what_is_its_own(parts, method: str, width: float) -> None:
    delta = 1e-4 if "large losses" in method or "convolution" in method else 1e-3
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
    assert widths[-1] == 1e-6
    assert sorted(widths, reverse=True) == widths
    widths.clear()
    assert find_root(height, 1.0, tolerance=1e-3, least=0.0, most=10.0).high >= 3.0
    assert set(widths) == {1e-6}
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
    with pytest.raises(NumericalFailure, match=r"^expected a positive unit; got unit=0.0$"):
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
            f"expected an enclosure with 0 <= lower <= upper; got lower={low!r}, "
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
