"""Moments of sampled rounds at all nodes of a line at once, against quadrature in other arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.certificates import above_zero, batches, quadrature, rare, sampled
from dpcalc.certificates.balls import precision

SIDES = (1, 0), (0, 1), (1, 1)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def summed(f: Callable[[Any], Any], start: float, end: float) -> complex:
    """An integral by Gauss-Legendre quadrature in doubles, on 400 pieces."""
    edges = np.linspace(start, end, 401)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + NODES)
    return complex((half * WEIGHTS * f(x)).sum())


def normal(x: Any) -> Any:
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def poisson_moment(mu: float, q: float, sides: tuple[int, int], c: float, y: float) -> complex:
    """E[e^{(c+iy)L}] along the real line."""

    def f(x: Any) -> Any:
        up, down = (np.log1p(q * np.expm1(s * mu * x - mu * mu / 2)) for s in (1, -1))
        z = c + 1j * y
        return normal(x) * np.exp(sides[0] * (1 + z) * up - sides[1] * z * down)

    reach = 12 + (1 + c) * mu
    return summed(f, -reach, reach)


def batch_moment(mu: float, q: float, c: float, y: float, place: float | None) -> complex:
    """The same of losses of batches; of those that count as small, if there is a place."""

    def f(x: Any) -> Any:
        odds = q * np.exp(mu * x - mu * mu / 2)
        u, z = np.log1p(odds - q), c + 1j * y
        share = (-np.expm1(-place / odds)) ** 8 if place else 1
        return normal(x) * (share * np.exp((1 + z) * u) + np.exp(-z * u) - (2 - q + odds))

    return 1 + summed(f, mu / 2, mu / 2 + 12 + (1 + c) * mu)


def agrees(ball: Any, truth: complex, size: float) -> bool:
    """Whether a narrow ball is at a number that doubles have to about 1e-13 of the largest moment."""
    narrow = float(abs(ball - acb(ball.mid())).upper()) <= 1e-16 * size
    return narrow and abs(complex(ball) - truth) <= 1e-11 * size


LINES = [(1, 0.01, 0.3, 1.7), (0.2, 0.5, 6, 3.0), (3, 0.001, 0.05, 5.0), (2, 0.97, 1.5, 0.8)]


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(("mu", "q", "c", "step"), LINES)
def test_moments_of_poisson_samples_at_all_nodes(
    sides: tuple[int, int], mu: float, q: float, c: float, step: float
) -> None:
    largest = abs(poisson_moment(mu, q, sides, c, 0))
    with precision(80):
        along = sampled.sampled(arb(mu), arb(q), *sides).along
        assert along is not None
        found = along(arb(c)).at_nodes(arb(step), 30)
        for j, value in enumerate(found):
            assert agrees(value, poisson_moment(mu, q, sides, c, step * j), largest)


@pytest.mark.parametrize("place", [None, 10.0, 0.3])
@pytest.mark.parametrize(("mu", "q", "c", "step"), LINES)
def test_moments_of_batches_at_all_nodes(
    place: float | None, mu: float, q: float, c: float, step: float
) -> None:
    largest = abs(batch_moment(mu, q, c, 0, None))
    with precision(80):
        along = of_batches(mu, q, place)
        found = along(arb(c)).at_nodes(arb(step), 30)
        for j, value in enumerate(found):
            assert agrees(value, batch_moment(mu, q, c, step * j, place), largest)


def of_batches(mu: float, q: float, place: float | None) -> Any:
    """What gives the sums of all losses, or of those that count as small."""
    if place is None:
        return batches.without_replacement(arb(mu), arb(q)).along
    return rare.rare(arb(mu), arb(q), arb(place)).small_along


@settings(max_examples=10, deadline=None)
@given(
    st.floats(0.02, 8),
    st.floats(1e-6, 0.999),
    st.floats(0.01, 5),
    st.floats(0.01, 20),
    st.sampled_from([*SIDES, None]),
    st.integers(1, 40),
)
def test_sums_and_adaptive_integrals_agree(
    mu: float, q: float, c: float, step: float, sides: tuple[int, int] | None, nodes: int
) -> None:
    """``moment`` is an integral along the real line by Gauss-Legendre quadrature."""
    with precision(64):
        law = (
            sampled.sampled(arb(mu), arb(q), *sides)
            if sides
            else batches.without_replacement(arb(mu), arb(q))
        )
        assert law.along is not None
        found = law.along(arb(c)).at_nodes(arb(step), nodes)
        assert len(found) == nodes
        for j in {0, nodes // 2, nodes - 1}:
            assert found[j].overlaps(law.moment(acb(c, arb(step) * j)))


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few points, so near, that what sums miss is of the moments' size."""
    monkeypatch.setattr(quadrature, "digits", lambda: 2.0)
    monkeypatch.setattr(sampled, "digits", lambda: 2.0)
    monkeypatch.setattr(above_zero, "digits", lambda: 2.0)
    near = lambda beyond: arb(max(0.0, float(beyond)) + 1.2)  # noqa: E731 - a stand-in of one line
    monkeypatch.setattr(sampled, "far_enough", near)
    monkeypatch.setattr(above_zero, "far_enough", near)


def missed(along: Any, truth: Callable[[float], complex], c: float) -> tuple[float, float]:
    """The largest error of a sum at a few nodes, and its bound."""
    rule = along(arb(c))
    found = rule._replace(error=lambda: arb(0)).at_nodes(arb(0.9), 6)
    errors = [abs(complex(value) - truth(0.9 * j)) for j, value in enumerate(found)]
    return max(errors), float(rule.error().upper())


CASES = [(1, 0.3, 0.5), (2, 0.9, 1), (0.6, 0.05, 3), (4, 0.01, 0.2)]


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(("mu", "q", "c"), CASES)
def test_what_sums_of_few_points_miss_is_within_the_bound(
    sides: tuple[int, int], mu: float, q: float, c: float
) -> None:
    along = sampled.sampled(arb(mu), arb(q), *sides).along
    error, bound = missed(along, lambda y: poisson_moment(mu, q, sides, c, y), c)
    assert 1e-3 < error <= bound


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("place", [None, 3.0])
@pytest.mark.parametrize(("mu", "q", "c"), CASES)
def test_the_same_of_batches(place: float | None, mu: float, q: float, c: float) -> None:
    along = of_batches(mu, q, place)
    error, bound = missed(along, lambda y: batch_moment(mu, q, c, y, place), c)
    assert 1e-4 < error <= bound


def poisson_modulus(mu: float, q: float, sides: tuple[int, int], c: float, height: float) -> float:
    """The integral of |density of P times e^{cL}| on a line."""

    def f(x: Any) -> Any:
        z = x + 1j * height
        up, down = (np.abs(1 + q * np.expm1(s * mu * z - mu * mu / 2)) for s in (1, -1))
        return np.abs(normal(z)) * up ** (sides[0] * (1 + c)) / down ** (sides[1] * c)

    reach = 12 + (1 + c) * mu
    return summed(f, -reach, reach).real


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(("mu", "q", "c"), CASES)
def test_both_edges_of_the_strip_are_counted(
    sides: tuple[int, int], mu: float, q: float, c: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    height = min(1.0, 0.5 / mu)
    truth = sum(poisson_modulus(mu, q, sides, c, v) for v in (0.0, 2 * height))
    monkeypatch.setattr(sampled, "aliases", lambda edges, *_: edges)
    along = sampled.sampled(arb(mu), arb(q), *sides).along
    assert along is not None
    assert float(along(arb(c)).error().upper()) == pytest.approx(truth, rel=1e-9)


def test_points_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sums are fine but end early."""
    monkeypatch.setattr(sampled, "far_enough", lambda beyond: arb(max(0.0, float(beyond)) + 0.3))
    for sides in SIDES:
        for mu, q, c in CASES:
            along = sampled.sampled(arb(mu), arb(q), *sides).along
            error, bound = missed(along, lambda y, a=(mu, q, sides, c): poisson_moment(*a, y), c)
            assert 1e-3 < error <= bound


def curve(mu: float, t: Any, height: float) -> tuple[Any, Any]:
    """x = μ/2 + s·ln(1 + e^t) and dx/dt."""
    s, grown = min(1.0, 0.5 / (0.7 * mu)), np.exp(t + 1j * height)
    return mu / 2 + s * np.log1p(grown), s * grown / (1 + grown)


def batch_modulus(mu: float, q: float, k: float, t: Any, height: float) -> Any:
    """|n·r^k dx/dt| on the curve."""
    x, slope = curve(mu, t, height)
    return np.abs(slope * normal(x)) * np.abs(1 + q * np.expm1(mu * x - mu * mu / 2)) ** k


@pytest.mark.parametrize("largest", [1, 256])
@pytest.mark.parametrize(("mu", "q", "c"), CASES)
def test_both_edges_of_the_curves_strip_are_counted(
    mu: float, q: float, c: float, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 1/cos 1.4, cos(1)^k and e^{s²} too much on the upper one."""
    monkeypatch.setattr(above_zero, "aliases", lambda edges, *_: edges)
    share = (lambda _: arb(largest)), largest
    bound = float(batches.in_one(arb(mu), arb(q), arb(c), share).error().upper())
    lower, upper = (
        sum(
            times * summed(lambda t, k=k, v=v: batch_modulus(mu, q, k, t, v), -45, 45).real
            for times, k in ((largest, 1 + c), (1, -c))
        )
        for v in (0.0, 1.4)
    )
    assert lower + upper <= bound
    assert bound <= lower + 30 / np.cos(1.0) ** c * lower


@pytest.mark.parametrize("early", ["left", "right"])
@pytest.mark.parametrize(("mu", "q", "c"), CASES)
def test_points_left_out_of_the_curve_are_counted(
    mu: float, q: float, c: float, early: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(above_zero, "aliases", lambda *_: arb(0))
    if early == "left":
        monkeypatch.setattr(above_zero, "digits", lambda: 2.0)
    else:
        monkeypatch.setattr(above_zero, "far_enough", lambda beyond: arb(float(beyond) + 0.2))
    step = 2 * np.pi * 0.7 / (above_zero.digits() + 2)
    rule = batches.in_one(arb(mu), arb(q), arb(c), above_zero.ALL)
    left = int(np.ceil(above_zero.digits() / step))
    right = (rule.points - 1) // 2 - 1 - left
    n = np.concatenate([np.arange(-left - 2000, -left), np.arange(right + 1, right + 2000)])
    t = step * n[np.abs(step * n) < 60]
    left_out = sum(step * batch_modulus(mu, q, k, t, 0.7).sum() for k in (1 + c, -c))
    assert 1e-4 < left_out <= float(rule.error().upper())


def test_weights_next_to_zero_count_as_error() -> None:
    """A thousand of them, and one that is not."""
    with precision(64):
        tiny = arb(2) ** -90
        terms = [(acb(1), acb(0.5)), *[(acb(tiny), acb(0.25))] * 1000]
        rule = quadrature.Quadrature(1001, lambda: iter(terms), lambda: arb(0))
        found = rule.at_nodes(arb(1), 3)
    with precision(200):
        for j, value in enumerate(found):
            exact = acb(0, 0.5 * j).exp() + 1000 * tiny * acb(0, 0.25 * j).exp()
            assert value.contains(acb(exact.real.mid(), exact.imag.mid()))


@pytest.mark.parametrize("nodes", [1, 2, 10, 2600])
def test_sums_of_exponentials_at_many_nodes(nodes: int) -> None:
    """More terms than are held at once; what is lost is what the angles, up to 4,600, lose at 64 bits."""
    with precision(64):
        terms = [(acb(k, 1), acb(arb(k) / 7, arb(1) / 3)) for k in range(-700, 800)]
        rule = quadrature.Quadrature(len(terms), lambda: iter(terms), lambda: arb(0))
        found = rule.at_nodes(arb(1) / 64, nodes)
    assert len(found) == nodes
    k = np.arange(-700, 800)
    for j in {0, nodes // 3, nodes - 1}:
        truth = ((k + 1j) * np.exp(1j * j / 64 * (k / 7 + 1j / 3))).sum()
        assert abs(complex(found[j]) - truth) < 1e-6
        assert float(abs(found[j] - acb(found[j].mid())).upper()) < 1_500 * 800 * 4_600 * 2.0**-63
