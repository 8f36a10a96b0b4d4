"""Searches, roots, products, eigenvalues and precise formulas: where they step, and what they return."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import find_root
from dpcalc.errors import NumericalFailure
from dpcalc.numerals import Written
from dpcalc.numerics import products
from dpcalc.numerics.arithmetic import OwnArithmetic, own_arithmetic
from dpcalc.numerics.certified_eigenvalues import (
    contraction,
    largest_eigenvalue,
    positive_definite,
    singular_values,
    smallest_eigenvalue,
)
from dpcalc.numerics.precise import (
    context,
    normal_cdf,
    normal_quantile,
    round_down,
    round_up,
    scaled_tail,
)
from dpcalc.numerics.precise import mpf as real
from dpcalc.numerics.products import convolution, product
from dpcalc.numerics.root import Root, enclose_root
from dpcalc.numerics.rounding import Extended, extended, sum_up
from dpcalc.numerics.search import (
    largest_where,
    minimise,
    smallest_where,
)

UNIT = 2.0**-53

pytestmark = pytest.mark.usefixtures("fifty_digits")


class Counted:
    """A function that remembers where it was asked for."""

    def __init__(self, function: Callable[[float], float]) -> None:
        self.function, self.asked = function, list[float]()

    def __call__(self, x: float) -> float:
        self.asked.append(x)
        return self.function(x)


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


def test_products_of_all_shapes() -> None:
    rng = np.random.default_rng(1)
    vector, other = rng.normal(size=5), rng.normal(size=5)
    matrix = rng.normal(size=(4, 5))
    assert product(vector, other) == pytest.approx(float(vector @ other), rel=1e-13)
    np.testing.assert_allclose(product(matrix, vector), matrix @ vector)
    np.testing.assert_allclose(product(vector, matrix.T), vector @ matrix.T)
    np.testing.assert_allclose(product(matrix, matrix.T), matrix @ matrix.T)


def test_large_products_are_formed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    left, right = rng.normal(size=(3, 50)), rng.normal(size=(50, 4))
    used: list[int] = []

    class Noted(np.ndarray):
        def __matmul__(self, other):
            used.append(self.shape[1])
            return np.asarray(self) @ np.asarray(other)

    for work, sizes in ((2**17, [50]), (12 * 7, [7] * 7 + [1]), (5, [1] * 50)):
        monkeypatch.setattr(products, "_WORK", work)
        used.clear()
        found = product(left.view(Noted), right)
        np.testing.assert_allclose(found, left @ right, rtol=1e-12)
        assert used == sizes
    assert product(np.zeros((0, 5)), np.zeros((5, 3))).shape == (0, 3)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 20), (20, 3), (25, 30), (33, 17)])
def test_convolutions_in_parts(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_LENGTH", 8)
    rng = np.random.default_rng(3)
    one, other = (rng.uniform(size=n) for n in sizes)
    found = convolution(one, other)
    assert len(found) == sum(sizes) - 1
    np.testing.assert_allclose(found, np.convolve(one, other), rtol=1e-13)


def test_definiteness_with_a_slack() -> None:
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    least = float(np.linalg.eigvalsh(matrix)[0])
    # All within the slack are definite: the bound is the least eigenvalue less rounding.
    assert positive_definite(matrix, least * (1 - 1e-13))
    assert not positive_definite(matrix, least * (1 + 1e-15))
    assert positive_definite(matrix + np.array([[0, 1e-3], [-1e-3, 0]]))
    for bad in (math.nan, math.inf):
        assert not positive_definite(np.array([[bad]]))
        assert not positive_definite(matrix, bad)
    assert not positive_definite(np.zeros((2, 2)))
    # What Cholesky's factorisation may be off by is taken off: 4(n+3)u(trace + norm).
    n = 2
    allowed = 4 * (n + 3) * UNIT * (2 * 1.0 + 1.0)
    for share, holds in ((1.2, True), (0.8, False)):
        assert positive_definite(np.eye(2), 1 - share * allowed) == holds


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_eigenvalues_are_bounded_closely(size: int, scale: float) -> None:
    rng = np.random.default_rng(size)
    root = scale * rng.normal(size=(size, size))
    matrix = (root + root.T) / 2
    values = [float(v) for v in mp.eigsy(mp.matrix(matrix.tolist()), eigvals_only=True)]
    norm = float(np.linalg.norm(matrix))
    top, bottom = largest_eigenvalue(matrix), smallest_eigenvalue(matrix)
    room = 64 * (size + 3) * UNIT * (norm + size * abs(max(values)))
    assert max(values) <= top <= max(values) + 2 * room
    assert min(values) - 2 * room <= bottom <= min(values)
    slack = 1e-3 * scale
    assert max(values) + slack <= largest_eigenvalue(matrix, slack) <= max(values) + 2.1 * slack
    # A poor estimate costs halvings and no truth.
    poor = largest_eigenvalue(matrix, estimate=max(values) - scale)
    assert max(values) <= poor <= max(values) + 2 * scale
    generous = largest_eigenvalue(matrix, estimate=max(values) + scale)
    assert generous == pytest.approx(max(values) + scale)


def test_an_eigenvalue_that_is_not_found() -> None:
    with pytest.raises(NumericalFailure) as caught:
        largest_eigenvalue(np.eye(2), estimate=-1e300)
    assert str(caught.value) == "an eigenvalue could not be bounded; try a better scaled matrix"


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 3)])
def test_singular_values_are_bounded_closely(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(7).normal(size=shape)
    values = np.linalg.svd(matrix, compute_uv=False)
    low, high = singular_values(matrix)
    assert values[-1] * (1 - 1e-11) <= low <= values[-1] * (1 + 1e-15)
    assert values[0] * (1 - 1e-15) <= high <= values[0] * (1 + 1e-12)
    assert singular_values(np.ones((2, 2)))[0] < 1e-6
    assert singular_values(np.zeros((2, 2)))[0] == 0.0


def test_contractions() -> None:
    for matrix, radius in (
        (np.array([[0.5, 0.3], [0.0, 0.4]]), 0.5),
        (np.array([[0.0, -0.9], [0.9, 0.0]]), 0.9),
        (np.diag([0.2, 0.99]), 0.99),
        (np.zeros((2, 2)), 0.0),
        (np.array([[2.0]]), 2.0),
    ):
        found = contraction(matrix, np.abs(matrix))
        assert found is not None
        assert radius <= found <= radius * (1 + 1e-6) + 1e-9
    # A Jordan block's powers grow before they shrink: a rate a little above its radius is proved.
    block = np.array([[0.9, 1.0], [0.0, 0.9]])
    found = contraction(block, np.abs(block))
    assert found is not None
    assert 0.9 < found <= 0.9 * 1.11
    # With errors as large as the entries nothing can be proved.
    assert contraction(block, 1e12 * np.abs(block)) is None


def test_normal_tails_far_out_and_near() -> None:
    with mp.workdps(60):
        for x in (-2e6, -1e6 * (1 + 1e-9), -40.0, -0.3, 0.0, 5.0, 1e6):
            if x < -1e5:
                # The asymptotic series, of which the sixth term is below 1e-60 here.
                z = mpf(-x)
                series = 1 - z**-2 + 3 * z**-4 - 15 * z**-6 + 105 * z**-8 - 945 * z**-10
                truth = mp.exp(-z * z / 2) * series / (z * mp.sqrt(2 * mp.pi))
            else:
                truth = mp.ncdf(mpf(x))
            assert abs(normal_cdf(real(x)) / truth - 1) < mpf(10) ** -45
        assert normal_cdf(real(1.1e6)) == 1
        for x in (0.0, 3.0, 200.0, 1e6, 1.5e6, 1e9):
            z = mpf(x)
            if x > 1e6:
                series = 1 - z**-2 + 3 * z**-4 - 15 * z**-6 + 105 * z**-8 - 945 * z**-10
                truth = series / (z * mp.sqrt(2 * mp.pi))
            else:
                truth = mp.exp(z * z / 2) * mp.erfc(z / mp.sqrt(2)) / 2
            assert abs(scaled_tail(real(x)) / truth - 1) < mpf(10) ** -50


@pytest.mark.parametrize("p", ["0.5", "0.4999", "0.9", "1e-5", "1e-300", "0.999999"])
def test_normal_quantiles(p: str) -> None:
    x = normal_quantile(context().mpf(p))
    with mp.workdps(60):
        assert abs(mp.ncdf(mpf(x)) / mpf(p) - 1) < mpf(10) ** -40


def test_the_middle_of_a_normal_law_is_no_approximation() -> None:
    assert normal_quantile(context().mpf(0.5)) == 0


def test_a_quantile_that_does_not_converge() -> None:
    with pytest.raises(ArithmeticError, match=r"the normal quantile of nan did not converge"):
        normal_quantile(context().mpf("nan"))


def test_numbers_are_taken_as_they_are() -> None:
    third = Written(1, 10)
    assert real(third) == context().mpf(1) / 10
    assert real(2) == 2
    assert real("0.1") != real(0.1)
    assert real(real("0.1")) == real("0.1")
    assert real(np.float32(0.5)) == 0.5
    assert round_up(real(third)) == 0.1
    assert round_down(real(third)) == math.nextafter(0.1, 0)
    with pytest.raises(ArithmeticError, match=r"^a sixty-digit evaluation gave nan$"):
        round_down(context().mpf("nan"))
    assert context() is context()
    assert context().dps == 60


def test_sums_and_extended_numbers() -> None:
    assert sum_up([0.1] * 10) == math.nextafter(1.0, 2)
    assert sum_up([math.inf, 1.0]) == math.inf
    assert sum_up([]) == 5e-324
    plain = extended([0.1, 2.0])
    assert plain.dtype == Extended
    assert float(plain[0]) == 0.1
    assert plain[0] == Extended(0.1)
    written = extended([[Written(1, 10), 0.5], (1.0, Written(7, 10))])
    assert written.shape == (2, 2)
    for found, exact in ((written[0, 0], Fraction(1, 10)), (written[1, 1], Fraction(7, 10))):
        eps = Fraction(*np.finfo(Extended).eps.as_integer_ratio())
        assert abs(Fraction(*found.as_integer_ratio()) - exact) <= exact * eps
    assert written[0, 1] == 0.5
    assert extended(np.array([0.25])).tolist() == [0.25]
    assert float(extended(0.25)) == 0.25


def test_edges_of_conditions() -> None:
    for edge in (5e-324, 1e-10, 0.7, 3e200):
        at_least = Counted(lambda x, e=edge: x >= e)
        assert smallest_where(at_least, 0.0, 1e300) == edge
        assert len(at_least.asked) <= 66
        at_most = Counted(lambda x, e=edge: x <= e)
        assert largest_where(at_most, 0.0, 1e300) == edge
        assert len(at_most.asked) <= 66
    always = Counted(lambda _: True)
    assert smallest_where(always, 0.25, 3.0) == 0.25
    assert largest_where(always, 0.25, 3.0) == 3.0
    assert len(always.asked) == 4
    with pytest.raises(ValueError, match=r"^the condition does not hold at the right end 3.0$"):
        smallest_where(lambda _: False, 0.25, 3.0)
    with pytest.raises(ValueError, match=r"^the condition does not hold at the left end 0.25$"):
        largest_where(lambda _: False, 0.25, 3.0)
    with pytest.raises(ValueError, match=r"^a non-negative end of the search interval was needed"):
        smallest_where(lambda x: x > 0, -1.0, 3.0)
    with pytest.raises(ValueError, match=r"got nan$"):
        largest_where(lambda x: not x > 1, math.nan, 3.0)


def test_minima_are_found_inside_and_at_the_ends() -> None:
    for place in (0.0, 0.013, 1.37, 2.0):
        counted = Counted(lambda x, p=place: (x - p) ** 2 + 7)
        at, value = minimise(counted, 0.0, 2.0)
        assert at == pytest.approx(place, abs=1e-7)
        assert value == counted.function(at)
        assert value - 7 < 1e-14
        assert counted.asked[:3] == pytest.approx([0.0, 2 / 48, 4 / 48])
        assert len(counted.asked) <= 49 + 2 + 60
    steep = Counted(lambda x: abs(x - 1.1) ** 0.5)
    at, value = minimise(steep, 0.0, 2.0)
    assert abs(at - 1.1) < 1e-9
    hole = minimise(lambda x: math.nan if x < 1 else x, 0.0, 2.0)
    assert hole[0] == pytest.approx(1.0, abs=0.05)
    # The point of the scan is kept where the steps around it find nothing lower.
    spike = minimise(lambda x: 0.0 if x == 1.0 else 5.0 - x / 10, 0.0, 2.0)
    assert spike == (1.0, 0.0)


def made() -> tuple[type, type]:
    """Classes made anew: their members are wrapped as they are made."""

    class Base(OwnArithmetic):
        def __post_init__(self) -> None:
            self.made = np.geterr()["over"]

        def public(self) -> str:
            """Its doc."""
            return np.geterr()["under"]

        def _private(self) -> str:
            return np.geterr()["over"]

        @property
        def shown(self) -> str:
            """A property."""
            return np.geterr()["invalid"]

        @cached_property
        def held(self) -> str:
            return np.geterr()["divide"]

        constant = 3

    class Derived(Base):
        def public(self) -> str:
            return "derived " + np.geterr()["under"]

        @property
        def shown(self) -> str:
            return "derived " + super().shown

    return Base, Derived


def test_public_members_compute_in_settings_of_their_own() -> None:
    Base, Derived = made()
    with np.errstate(all="raise"):
        base = Base()
        base.__post_init__()
        assert base.made == "warn"
        assert base.public() == "ignore"
        assert base._private() == "raise"
        assert base.shown == "warn"
        assert base.held == "warn"
        assert base.constant == 3
        derived = Derived()
        assert derived.public() == "derived ignore"
        assert derived.shown == "derived warn"
        assert np.geterr()["over"] == "raise"
    assert Base.public.__doc__ == "Its doc."
    assert Base.shown.__doc__ == "A property."
    assert Base.public.__name__ == "public"
    assert hasattr(Base.public, "__wrapped__")
    assert not hasattr(Base._private, "__wrapped__")
    settings = own_arithmetic(np.geterr)()
    assert settings == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def test_what_is_guarded_is_not_guarded_again() -> None:
    """A dataclass with slots is made from a made class: its members are wrapped already."""
    Base, _ = made()
    method, shown = vars(Base)["public"], vars(Base)["shown"]
    held = vars(Base)["held"].func
    again = type("Again", (OwnArithmetic,), {"public": method, "shown": shown})
    assert vars(again)["public"] is method
    assert vars(again)["shown"] is shown
    third = type("Third", (OwnArithmetic,), {"held": vars(Base)["held"]})
    assert vars(third)["held"].func is held
