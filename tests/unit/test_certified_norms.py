"""Few rounds of noise ∝ e^{-η|b|}: moments where power series cancel, bounds far from 0, both ends."""

from __future__ import annotations

import pytest
from flint import acb, arb

from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check
from dpcalc.certificates.norm import exponential_norm
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import exponential_norm as noise


@pytest.mark.parametrize("dimension", [2, 5, 10])
@pytest.mark.parametrize("height", [40, 150, 190, 300, 4000])
@pytest.mark.few(5)
def test_moments_have_their_digits_where_power_series_cancel(dimension: int, height: int) -> None:
    """A third of the digits went at |s| of 40 to 100, and soon all; s has a radius here as on a line."""
    with precision(75):
        on_a_line = arb(height) / 3 * 3
        found = exponential_norm(arb(1) / 3, dimension).moment(acb("108.6", on_a_line))
    with precision(1500):
        exact = exponential_norm(arb(1) / 3, dimension).moment(acb("108.6", height))
    assert found.overlaps(exact)
    assert found.rad() < abs(exact) * 1e-12


@pytest.mark.parametrize("order", ["5", "300", "1e4"])
def test_bounds_at_large_orders_are_finite_and_hold(order: str) -> None:
    with precision(60):
        law = exponential_norm(arb("0.7"), 3)
        for height in ("3", "1e3", "1e6"):
            bound = law.beyond(arb(order), arb(height), arb("0.5"))
            assert bound.rad() < bound * arb("1e-2")
            with precision(400):
                assert abs(law.moment(acb(order, height))) <= bound


@pytest.mark.parametrize(
    ("parts", "eps"),
    [
        (((noise(2.598, 5, "add-remove"), 3),), 0.9197),
        (((noise(2.12, 10, "add-remove"), 2),), 0.661),
        (((noise(2.12, 3, "add-remove"), 2), (GDP(0.3), 1)), 1.705),
    ],
    ids=["five dimensions", "ten dimensions", "next to a Gaussian"],
)
def test_few_rounds_are_certified_at_both_ends_of_what_is_reported(
    parts: tuple[tuple[Guarantee, int], ...], eps: float
) -> None:
    bracket = Composition(parts).bracket(1e-5)
    assert bracket.upper == pytest.approx(eps, rel=0.1)
    found = certify(parts, "add-remove", 1e-5, bracket.upper, bracket.lower)
    assert (found.upper, found.lower) == (CERTIFIED, CERTIFIED)
    assert found.certificate is not None
    assert found.certificate["upper"]["evidence"]["remove"]["method"] == "line"
    assert len(check(found.certificate)) == 2
