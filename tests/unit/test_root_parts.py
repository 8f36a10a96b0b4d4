"""Roots: where the search steps, and what it returns."""

from __future__ import annotations

import math

import pytest

from dpcalc.accounting.enclosure import find_root
from dpcalc.numerics.root import Root, enclose_root, refine_root
from tests.unit.counted_functions import Counted

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_a_straight_line_takes_few_steps() -> None:
    height = Counted(lambda x: 6.0 - 2 * x)
    found = enclose_root(height, 1.0, tolerance=1e-6, slope=2.0)
    # A step of 1.05 times what the slope promises, 4/2 · 1.05; then false position past the root.
    assert height.asked[:2] == [1.0, pytest.approx(3.1)]
    assert height.asked[2] == pytest.approx(3.0 + 1e-6 / 3, abs=1e-9)
    assert len(height.asked) <= 6
    assert found.low <= 3.0 <= found.high <= found.low + 1e-6
    assert found.slope == pytest.approx(2.0, rel=1e-6)


def test_a_first_step_of_ones_own_and_the_longest() -> None:
    known = Counted(lambda x: 3.0 - x)
    enclose_root(known, 1.0, tolerance=1e-3, slope_known=True)
    assert known.asked[1] == pytest.approx(1 + 1.003 * 2 + 0.25e-3)
    steep = Counted(lambda x: 4 * (3.0 - x))
    enclose_root(steep, 1.0, tolerance=1e-3, slope=4.0, slope_known=True)
    assert steep.asked[1] == pytest.approx(1 + 1.003 * 2 + 0.25e-3)
    far = Counted(lambda x: 1000.0 - x)
    enclose_root(far, 0.0, tolerance=1e-6)
    assert far.asked[1] == pytest.approx(1.05 * 32)
    infinite = Counted(lambda x: math.inf if x < 5 else -1.0)
    enclose_root(infinite, 0.0, tolerance=1e-3)
    assert infinite.asked[:4] == pytest.approx([0.0, 1.05, 3.15, 7.35])
    falling = Counted(lambda x: math.inf if x < 2 else 10.0 - x)  # down from infinity: doubled too
    enclose_root(falling, 0.0, tolerance=1e-3)
    assert falling.asked[:4] == pytest.approx([0.0, 1.05, 3.15, 7.35])
    wide = Counted(lambda x: 3.0 - x)
    enclose_root(wide, 2.9999999, tolerance=0.5)
    assert wide.asked[1] == pytest.approx(3.9999999)


def test_a_function_that_falls_slowly() -> None:
    """Falls below one say as much about the next step, and about the slope, as larger ones do."""
    height = Counted(lambda x: 0.1 * (3.0 - x))
    found = enclose_root(height, 0.0, tolerance=1e-6, slope=0.12)
    first = 1.05 * 0.3 / 0.12
    assert height.asked[1] == pytest.approx(first)
    assert height.asked[2] == pytest.approx(first + 1.05 * (3.0 - first))
    assert found.slope == pytest.approx(0.1, rel=1e-6)
    assert found.likely == pytest.approx(3.0, abs=1e-9)


def test_a_fall_too_small_for_a_double() -> None:
    """The least double over a width of more than two is nothing: then the slope is as it was said."""
    found = enclose_root(lambda x: 5e-324 if x < 5 else 0.0, 0.0, tolerance=20.0, slope=3.0)
    assert found.high - found.low > 2
    assert (found.slope, found.likely) == (3.0, found.high)


def test_from_the_right_of_the_root() -> None:
    height = Counted(lambda x: 3.0 - x)
    found = enclose_root(height, 5.0, tolerance=1e-6)
    assert height.asked[1] == pytest.approx(5 - 2.1)
    assert found.low <= 3.0 <= found.high <= found.low + 1e-6
    steep = Counted(lambda x: -math.inf if x > 1 else 1.0)
    found = enclose_root(steep, 5.0, tolerance=1e-6)
    assert found.low <= 1.0 <= found.high
    # Where the right end is infinite the fall is down to zero.
    assert found.slope == pytest.approx(1 / (found.high - found.low))


def test_the_ends_of_the_range() -> None:
    above, below = (lambda _: 1.0), (lambda _: -1.0)
    found = enclose_root(above, 0.0, tolerance=0.1, most=7.0)
    assert found == Root(7.0, math.inf, 1.0, 7.0)
    found = enclose_root(below, 9.0, tolerance=0.1, least=2.0)
    assert found == Root(2.0, 2.0, 1.0, 2.0)
    found = enclose_root(below, -9.0, tolerance=0.1, least=2.0, slope=3.0)
    assert found == Root(2.0, 2.0, 3.0, 2.0)
    at_end = enclose_root(lambda x: 3.0 - x, 0.0, tolerance=1e-3, most=3.0)
    assert at_end.high == 3.0
    from_end = enclose_root(lambda x: 3.0 - x, 9.0, tolerance=1e-3, most=4.0, least=2.0)
    assert from_end.low <= 3.0 <= from_end.high <= from_end.low + 1e-3
    zero = enclose_root(lambda x: 0.0 if x >= 1 else 1.0, 1.0, tolerance=1e-3)
    assert zero.high == 1.0


@pytest.mark.parametrize("start", [-20.0, 0.9, 1.5, 30.0])
@pytest.mark.parametrize(
    ("height", "most"),
    [
        (lambda x: math.exp(min(1 - x, 600)) - 1, 24),
        (lambda x: 1 - math.exp(min(5 * (x - 1), 600)), 41),
        (lambda x: -3 * math.log(max(x, 1e-9)), 22),
        (lambda x: -math.copysign(abs(x - 1) ** 0.5, x - 1), 29),
        (lambda x: math.inf if x < 1 else -math.inf, 41),
        (lambda x: -((x - 1) ** 3), 137),
        (lambda x: 1.0 if x < 1 else -1e-9, 179),
    ],
    ids=["convex", "concave", "logarithm", "root", "infinite", "flat", "jump"],
)
def test_roots_of_functions_that_are_not_straight(height, most: int, start: float) -> None:
    """The number of evaluations is what false position with halvings takes, and one to spare."""
    counted = Counted(height)
    found = enclose_root(counted, start, tolerance=1e-9)
    assert found.low <= 1.0 <= found.high <= found.low + 1.01e-9
    assert height(found.low) > 0 >= height(found.high)
    assert len(counted.asked) <= most


def test_no_width_below_the_spacing_of_doubles_is_asked_for() -> None:
    found = enclose_root(lambda x: 1e6 - x, 0.0, tolerance=0.0)
    assert found.low <= 1e6 <= found.high
    assert found.high - found.low <= 1e-9


def test_a_steep_function_is_enclosed_more_closely() -> None:
    height = Counted(lambda x: 1e5 * (2.0 - x))
    found = find_root(height, 1.0, tolerance=1e-9, least=0.0, most=9.0)
    assert found.low <= 2.0 <= found.high <= found.low + 1e-9


def test_a_refinement_steps_past_the_root_and_back() -> None:
    """To where the slope says, a third of the tolerance to the right; then as far to the left."""
    height = Counted(lambda x: 2 * (3.0 - x))
    found = refine_root(height, 2.999, tolerance=3e-6, slope=2.0)
    assert height.asked == pytest.approx([2.999, 3 + 1e-6, 3 - 1e-6], abs=1e-12)
    assert (found.low, found.high) == (height.asked[2], height.asked[1])
    assert found.slope == pytest.approx(2.0)
    behind = Counted(lambda x: 2 * (3.0 - x))
    refine_root(behind, 3.001, tolerance=3e-6, slope=2.0)
    assert behind.asked == pytest.approx([3.001, 3 - 1e-6, 3 + 1e-6], abs=1e-12)


@pytest.mark.parametrize("slope", [0.3, 0.97, 1.05, 40.0])
def test_a_refinement_learns_the_slope(slope: float) -> None:
    height = Counted(lambda x: 3.0 - x)
    found = refine_root(height, 2.999, tolerance=1e-7, slope=slope)
    assert found.low < 3.0 <= found.high <= found.low + 1e-7
    assert len(height.asked) <= 8


def test_a_refinement_at_the_ends_of_the_range() -> None:
    everywhere = refine_root(
        lambda x: -1.0 - x, 1.0, tolerance=1e-6, slope=1.0, least=1.0, most=2.0
    )
    assert (everywhere.low, everywhere.high) == (1.0, 1.0)
    nowhere = refine_root(lambda x: 9.0 - x, 1.999, tolerance=1e-6, slope=1.0, least=1.0, most=2.0)
    assert (nowhere.low, nowhere.high) == (2.0, math.inf)
    asked = Counted(lambda x: 2.0001 - x)
    assert refine_root(asked, 1.9, tolerance=1e-6, slope=0.9, least=1.0, most=2.0).high == math.inf
    assert max(asked.asked) == 2.0


@pytest.mark.parametrize("before", [math.inf, 1.0])
def test_a_refinement_of_what_is_infinite(before: float) -> None:
    def height(x: float) -> float:
        return before if x < 3 else -math.inf

    found = refine_root(height, 2.9, tolerance=1e-6, slope=1.0, most=9.0)
    assert found.low < 3.0 <= found.high <= found.low + 1e-6


def test_a_refinement_of_a_jump_halves_what_is_left() -> None:
    height = Counted(lambda x: 3.0 - x + (1e-3 if x < 3 else -1e-3))
    found = refine_root(height, 2.999, tolerance=1e-7, slope=1.0)
    assert found.low < 3.0 <= found.high <= found.low + 1e-7
    assert len(height.asked) <= 24
    few = Counted(height.function)
    rough = refine_root(few, 2.999, tolerance=1e-7, slope=1.0, enough=1e-5)
    assert rough.low < 3.0 <= rough.high <= rough.low + 1e-5
    assert len(few.asked) <= len(height.asked) - 6
    smooth = refine_root(lambda x: 3.0 - x, 2.999, tolerance=1e-7, slope=1.0, enough=1e-5)
    assert smooth.high - smooth.low <= 1e-7


def test_no_refinement_goes_below_the_spacing_of_doubles() -> None:
    found = refine_root(lambda x: 1e6 - x, 1e6 - 0.1, tolerance=0.0, slope=1.0)
    assert found.low <= 1e6 <= found.high <= found.low + 2e-9
