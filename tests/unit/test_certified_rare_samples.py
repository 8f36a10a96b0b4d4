"""Many rounds of rare samples by a hyperbola in cells: against the real line, closed forms, quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, arb

from dpcalc.accounting.composition import worst_delta
from dpcalc.certificates.balls import precision
from dpcalc.certificates.batches import without_replacement
from dpcalc.certificates.cells import on_an_edge
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, enclosure
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.grids import lattices
from dpcalc.certificates.laws import Law, Sector
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.sampled import sampled
from dpcalc.certificates.ways import by_pairs
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.guarantees.mechanisms import gaussian_without_replacement, poisson_subsampled_gaussian
from tests.unit.certificate_files import with_changes

LAWS: dict[str, Callable[[Any, Any], Law]] = {
    "removal": lambda mu, q: sampled(mu, q, 1, 0),
    "replacement": lambda mu, q: sampled(mu, q, 1, 1),
    "batches": without_replacement,
}
PATH = {"vertex": "3", "turn": "0.3", "along": "1", "side": "0.45", "height": "0.8", "ray": "0.4"}
BEND = {**PATH, "step": "0.03", "nodes": 220, "cells": 40}


def sector_of(kind: str, mu: str, rate: str, **changes: str) -> Sector:
    law = LAWS[kind](arb(mu), arb(rate))
    assert law.sector is not None
    return law.sector(*map(arb, {**PATH, **changes}.values()))


def moments(kind: str, mu: float, q: float, z: complex) -> tuple[complex, complex]:
    """M(z) and M'(z) over the real line, by mpmath."""
    start = 0.0 if kind == "replacement" else mu / 2

    def loss(x: Any) -> Any:
        return mpmath.log1p(q * mpmath.expm1(mu * x - mpmath.mpf(mu) ** 2 / 2))

    def density(x: Any) -> Any:
        return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)

    def above(x: Any) -> tuple[Any, Any]:
        other = loss(-x) if kind == "replacement" else 0
        return mpmath.exp(loss(x)), loss(x) - other

    def below(x: Any) -> tuple[Any, Any]:
        if kind == "removal":
            return mpmath.exp(loss(2 * start - x)), loss(2 * start - x)
        other = loss(-x) if kind == "replacement" else 0
        return mpmath.exp(other), other - loss(x)

    def mean(power: int) -> complex:
        def f(x: Any) -> Any:
            total = 0
            for side in (above, below):
                weight, u = side(x)
                at = 2 * start - x if kind == "removal" and side is below else x
                total += density(at) * weight * mpmath.exp(z * u) * u**power
            return total

        pieces = [start + k for k in range(0, 44, 2)]
        found = mpmath.quad(f, pieces)
        if kind == "batches" and power == 0:
            idle = 1 - (2 - q) * mpmath.ncdf(-mu / 2) - q * mpmath.ncdf(mu / 2)
            found += idle
        return complex(found)

    return mean(0), mean(1)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("mu", "rate"), [("0.5", "0.01"), ("1.4", "1e-6"), ("2", "0.001")])
@pytest.mark.parametrize("at", [(0.7, 0.0), (2.0, 5.0), (6.0, 19.0)])
@pytest.mark.few(4)
def test_moments_and_their_derivatives_are_those_on_the_real_line(
    kind: str, mu: str, rate: str, at: tuple[float, float]
) -> None:
    with precision(80):
        sector = sector_of(kind, mu, rate)
        found, slope = sector.moment(acb(*at)), sector.slope(acb(*at))
    with mpmath.workdps(50):
        exact, derivative = moments(kind, float(mu), float(rate), complex(*at))
    assert found.rad() < 1e-15
    assert slope.rad() < 1e-15
    assert complex(found) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    assert complex(slope) == pytest.approx(derivative, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("mu", "rate"), [("0.5", "0.01"), ("1.4", "1e-6"), ("2", "0.001")])
@pytest.mark.few(3)
def test_what_bounds_moments_at_greater_heights_is_above_them(
    kind: str, mu: str, rate: str
) -> None:
    """And what bounds the second derivative above differences of first ones."""
    rng = np.random.default_rng(7)
    with precision(64):
        sector = sector_of(kind, mu, rate)
        for size in (0.1, 1, 30, 1e3):
            height = size / float(rate) ** 0.5
            x, y = 0.1 * height, height
            most, curved = sector.beyond(arb(x), arb(y)), sector.bend(arb(x), arb(y))
            for _ in range(3):
                above = y * (1 + rng.exponential())
                right = rng.uniform(x, 3 + above * math.tan(0.3))
                z, step = acb(right, above), acb(0.0, 1e-3 * above)
                assert abs(sector.moment(z)) <= most
                turned = abs(sector.slope(z + step) - sector.slope(z)) / abs(step)
                assert not turned > curved


@pytest.mark.parametrize(
    "changes",
    [
        {"ray": "0.3"},
        {"ray": "0.8"},
        {"ray": "0.31"},
        {"turn": "0.42"},
        {"side": "1.4", "height": "1.45"},
        {"side": "0.2"},
        {"height": "0.44"},
        {"height": "1.6"},
        {"along": "12"},
    ],
    ids=str,
)
def test_a_path_along_which_something_could_grow_shows_nothing(changes: dict[str, str]) -> None:
    with precision(64):
        assert sector_of("removal", "1", "0.001").moment(acb(1, 2)).is_finite()
        sector = sector_of("removal", "1", "0.001", **changes)
        assert not sector.moment(acb(1, 2)).is_finite()
        assert not sector.slope(acb(1, 2)).is_finite()
        assert not sector.bend(arb(1), arb(2)).is_finite()
        assert not sector.beyond(arb(1), arb(2)).is_finite()


def test_samples_that_are_not_rare_have_no_such_path() -> None:
    with precision(64):
        assert not sector_of("removal", "1", "0.4").moment(acb(1, 2)).is_finite()


def found(kind: str, rounds: int, eps: float, rate: str, **changes: Any) -> Any:
    how = {"method": "hyperbola in cells", "precision": 64, "enclosure": None, **BEND, **changes}
    with precision(64):
        return enclosure([(LAWS[kind](arb(1), arb(rate)), rounds)], arb(eps), how)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"vertex": "1"},
        {"turn": "0.2"},
        {"ray": "0.5"},
        {"step": "0.3", "nodes": 16},
        {"nodes": 60},
        {"nodes": 1, "cells": 1},
        {"cells": 3},
        {"step": "0.08", "nodes": 60, "cells": 60},
    ],
    ids=str,
)
@pytest.mark.few(5)
def test_no_choice_makes_the_enclosure_miss(kind: str, changes: dict[str, Any]) -> None:
    with precision(80):
        exact = LAWS[kind](arb(1), arb("0.02")).profile(arb(0.25))
    value = found(kind, 1, 0.25, "0.02", **changes)
    assert not value.is_finite() or value.overlaps(exact)
    if not changes:
        assert value.rad() < 1e-3 * exact


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("cells", [4, 40])
@pytest.mark.few(3)
def test_cells_are_above_the_integral_along_an_edge(kind: str, cells: int) -> None:
    """By 160 midpoints; a weight is for e^{-xε}, here at ε = 0 and 2."""
    with precision(64):
        sector, turn = sector_of(kind, "1", "0.01"), 0.3
        scale, edge, end = 3 / math.sin(turn), math.pi / 2 - turn, 3.0
        weights = on_an_edge(((sector, 3),), arb(scale), arb(edge), arb(end), cells)
        t = (np.arange(160) + 0.5) * end / 160
        z = scale * np.cosh(t + 1j * edge)
        moduli = np.array([float(abs(sector.moment(acb(each.real, each.imag)))) for each in z])
    integrand = moduli**3 * np.abs(scale * np.sinh(t + 1j * edge)) / np.abs(z * (z + 1))
    for eps in (0.0, 2.0):
        exact = float(np.sum(integrand * np.exp(-z.real * eps)) * end / 160)
        bound = sum(float(weight) * math.exp(-float(x) * eps) for x, weight in weights)
        assert exact < bound
        if cells == 40:
            assert bound < 3 * exact


MADE: dict[str, tuple[Guarantee, int, str, float]] = {
    "removal": (poisson_subsampled_gaussian(0.7, 1e-6, "add-remove"), 10_000, "add-remove", 1e-7),
    "few": (poisson_subsampled_gaussian(1.0, 2e-5, "add-remove"), 100, "add-remove", 1e-7),
    "replacement": (
        poisson_subsampled_gaussian(0.82, 4e-7, "replace-one"),
        10_000,
        "replace-one",
        4e-9,
    ),
    "batches": (gaussian_without_replacement(0.7, 1, 300_000), 300, "replace-one", 1e-9),
}


@cache
def made(name: str) -> Certified:
    part, rounds, adjacency, delta = MADE[name]
    bracket = Composition(((part, rounds),)).bracket(delta)
    assert bracket.upper < bracket.lower * (1 + 1e-4)
    return certify([(part, rounds)], adjacency, delta, bracket.upper, bracket.lower)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.few(3)
def test_rare_samples_are_certified_at_both_ends_of_what_is_reported(name: str) -> None:
    certified = made(name)
    assert (certified.upper, certified.lower) == (CERTIFIED, CERTIFIED)
    assert certified.certificate is not None
    known = certified.certificate["lower"]["evidence"].values()
    assert [how["method"] for how in known] == ["hyperbola in cells"]
    assert len(check(certified.certificate)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "0.00100"},
        {"delta": "9.9e-8"},
        {"count": 10_010},
        {"noise_multiplier": "0.699"},
        {"rate": "1.002e-6"},
        {"vertex": "0"},
        {"turn": "0.6"},
        {"ray": "0.9"},
        {"step": "0.05"},
        {"nodes": 60},
        {"cells": 2},
        {"cells": 0},
        {"cells": 1_000_000},
        {"enclosure": ["0", "1e-9"]},
        {"adjacency": "replace-one"},
    ],
    ids=str,
)
@pytest.mark.few(6)
def test_an_edited_certificate_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((Refused, ArithmeticError, ValueError)):
        check(with_changes(made("removal").certificate, "remove", changes))


def test_by_addition_it_is_refused() -> None:
    how = {"method": "hyperbola in cells", "precision": 64, "enclosure": None, **BEND}
    with pytest.raises(Refused, match="not known in sectors"):
        enclosure([(sampled(arb(1), arb("0.01"), 0, 1), 2)], arb(1), how)


@pytest.mark.parametrize(("rate", "first"), [("1e-5", "hyperbola in cells"), ("0.001", "line")])
def test_a_hyperbola_goes_first_where_a_line_would_need_too_many_nodes(
    rate: str, first: str
) -> None:
    """A smoothed line, of fewer nodes, leaves more of δ open than the two ends of an enclosure."""
    mechanism = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "1", "rate": rate}
    releases = [{**mechanism, "count": 20}]
    statement = {"adjacency": "add-remove", "releases": releases, "delta": "1e-6"}
    assert next(by_pairs(statement, "upper", "0.0002", "remove"))["method"] == first


def test_losses_far_below_one_have_a_lattice() -> None:
    """Of a record that is added to rare samples; it takes large orders to bound their sum."""
    sampled_release = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "2.12"}
    releases = [{**sampled_release, "rate": "1.18e-8", "count": 288}]
    statement = {"adjacency": "add-remove", "releases": releases, "delta": "2.98e-9"}
    coarse = next(lattices(statement, Fraction("2.98e-9"), reverse=True))
    with precision(coarse["precision"]):
        rounds = rounds_of(releases, "add-remove", True)
        bound = float(enclosure(rounds, arb("1.53858e-7"), {**coarse, "enclosure": None}))
    added = compose((poisson_subsampled_gaussian(2.12, 1.18e-8, "add-remove"), 288))
    assert worst_delta([added.losses()[-1]], 1.53858e-7).lower <= bound < 2.98e-9


def test_a_hyperbola_goes_first_where_a_line_would_have_many_nodes() -> None:
    """Some 20,000 nodes take twice as long as a hyperbola."""
    batches = {"mechanism": "gaussian-without-replacement", "mu": "2.5", "rate": "3e-5"}
    releases = [{**batches, "count": 10_000}]
    statement = {"adjacency": "replace-one", "releases": releases, "delta": "1e-10"}
    assert next(by_pairs(statement, "upper", "7.6678", "both"))["method"] == "hyperbola in cells"
