"""Searches, roots, products, eigenvalues and precise formulas: where they step, and what they return."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.numerals import Written
from dpcalc.numerics.arithmetic import OwnArithmetic, own_arithmetic
from dpcalc.numerics.precise import (
    context,
    normal_cdf,
    normal_quantile,
    round_down,
    round_up,
    scaled_tail,
)
from dpcalc.numerics.precise import mpf as real
from dpcalc.numerics.rounding import Extended, extended, sum_up
from dpcalc.numerics.search import (
    largest_where,
    minimise,
    smallest_where,
)
from tests.unit.counted_functions import Counted

pytestmark = pytest.mark.usefixtures("fifty_digits")


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
    with pytest.raises(ValueError, match=r"^expected a non-negative end of the search interval"):
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
    """Classes made again: their members are wrapped as they are made."""

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
