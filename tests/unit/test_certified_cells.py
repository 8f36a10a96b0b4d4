"""What a hyperbola in cells leaves out, piece by piece: by losses of -1, and by paths that end early."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import acb, arb

from dpcalc.certificates.balls import ball, precision
from dpcalc.certificates.cells import Sum, on_an_edge, summed
from dpcalc.certificates.curve import NEAR, Bend
from dpcalc.certificates.laws import Sector
from dpcalc.certificates.sectors import Path, above_zero, below_zero

TURN, VERTEX = 0.4, 0.8
SCALE = VERTEX / math.sin(TURN)
LOW, HIGH = math.pi / 2 - TURN, math.pi / 2 - TURN / NEAR
BELOW_ZERO = Sector(
    (),
    lambda z: (-z).exp(),
    lambda z: -(-z).exp(),
    lambda x, _: (-x).exp(),
    lambda x, _: (-x).exp(),
)
"""A loss of -1."""


def along(edge: float, start: float, end: float, eps: float, *, looser: bool = False) -> float:
    """The integral of |e^{-z(1 + ε)}z'/z(z + 1)| over a part of a hyperbola.

    Looser with a cosh t in place of |z'|, and z in that of z + 1.
    """
    width = (end - start) / 20_000
    t = start + width * (np.arange(20_000) + 0.5) + 1j * edge
    z = SCALE * np.cosh(t)
    weights = np.abs(SCALE * np.sinh(t) / (z * (z + 1)))
    if looser:
        weights = SCALE * np.cosh(t.real) / np.abs(z) ** 2
    return float(np.sum(np.exp(-z.real * (1 + eps)) * weights) * width)


def by_the_rule(step: str, last: int, cells: int) -> Sum:
    bend = Bend((step,), arb(VERTEX), arb(TURN), arb(step))
    return summed(((BELOW_ZERO, 1),), bend, last, cells, 64)


def missed(found: Sum, eps: float) -> float:
    return sum(float(weight) * math.exp(-float(x) * eps) for x, weight in found.missed)


@pytest.mark.parametrize("eps", [0.0, 1.0])
def test_what_the_rule_misses_is_from_both_edges(eps: float) -> None:
    """Many cells leave next to no room."""
    step, last = 0.25, 20
    with precision(64):
        many, few = (missed(by_the_rule(str(step), last, cells), eps) for cells in (4_000, 20))
    share = 1 / math.pi / math.expm1(2 * math.pi * (HIGH - LOW) / 2 / step)
    exact, most = (
        share * sum(along(edge, 0, last * step, eps, looser=looser) for edge in (LOW, HIGH))
        for looser in (False, True)
    )
    assert exact < most < many < 1.05 * most
    assert many < few


@pytest.mark.parametrize("last", [1, 2, 4, 8])
@pytest.mark.parametrize("eps", [0.0, 1.0])
def test_what_further_nodes_add_is_below_what_is_missed_without_them(last: int, eps: float) -> None:
    """Next to the share of both edges from there on."""
    step, middle = 0.1, (LOW + HIGH) / 2
    with precision(64):
        x, weight = map(float, by_the_rule(str(step), last, 5).missed[-1])
    share = 1 / math.expm1(2 * math.pi * (HIGH - LOW) / 2 / step)
    left_out = (along(edge, step * last, 12, eps) for edge in (LOW, middle, HIGH))
    low, nodes, high = left_out
    assert (share * (low + high) + nodes) / math.pi < weight * math.exp(-x * eps)


@pytest.mark.parametrize(("step", "last"), [("0.6", 8), ("0.3", 16), ("0.1", 4), ("1.5", 1)])
@pytest.mark.parametrize("eps", ["0", "0.5"])
def test_losses_below_zero_leave_nothing(step: str, last: int, eps: str) -> None:
    with precision(64):
        found, e = by_the_rule(step, last, 50), arb(eps)
        total = sum(((weight * (-z * e).exp()).real for z, weight in found.terms), arb(0))
        assert abs(total) < missed(found, float(eps))


@pytest.mark.parametrize("edge", [LOW, HIGH])
def test_a_cell_asks_for_bounds_from_its_begin_on_and_takes_them_in(edge: float) -> None:
    asked: list[tuple[float, float]] = []

    def bend(x: Any, y: Any) -> Any:
        asked.append((float(x), float(y)))
        return arb(2)

    law = Sector((), lambda _: acb(0), lambda _: acb(0, 0.5), bend, lambda *_: arb(1))
    end, cells = 1.0, 8
    with precision(64):
        found = on_an_edge(((law, 3),), arb(SCALE), arb(edge), arb(end), cells)
    assert len(asked) == len(found) == cells
    for j, ((x, y), (real_part, weight)) in enumerate(zip(asked, found, strict=True)):
        t = np.linspace(j, j + 1, 101) * end / cells + 1j * edge
        z, middle = SCALE * np.cosh(t), SCALE * np.cosh((t[0] + t[-1]) / 2)
        assert x <= z.real.min() + 1e-12
        assert y <= z.imag.min() + 1e-12
        assert float(real_part) <= z.real.min() + 1e-12
        reach = np.abs(z - middle).max()
        least = np.mean(np.abs(SCALE * np.sinh(t) / (z * (z + 1)))) * end / cells
        assert float(weight) >= (0.5 * reach + reach**2) ** 3 * least


def normal_of(path: Path) -> Any:
    """The integrand of a normal density alone."""
    return lambda begin, ahead, x, *_: ahead * path.log_density(begin + x * ahead).exp()


class Short(Path):
    """One that ends where much is left."""

    @property
    def end(self) -> Any:
        middle = float((self.tilt + 1) * self.mu / self.narrow)
        return arb(max(0.5, math.ceil(middle)))


def test_weights_of_cells_are_in_powers_of_the_number_of_rounds() -> None:
    with precision(64):
        one, two, three = (
            [float(w) for _, w in on_an_edge(((BELOW_ZERO, n),), arb(2), arb(1), arb(1), 4)]
            for n in (1, 2, 3)
        )
    for a, b, c in zip(one, two, three, strict=True):
        assert a * c == pytest.approx(b * b)
        assert b < 0.99 * a


PLACES = {"vertex": "2", "turn": "0.3", "along": "1", "side": "0.45", "height": "0.8"}


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("mu", "odds"), [("0.5", "0.01"), ("1.5", "0.01"), ("5", "1e-6")])
def test_paths_that_end_early_say_how_much_is_left(mu: str, odds: str, mirrored: bool) -> None:
    """Were it left out, they would not contain what longer ones find."""
    with precision(64):
        start, rate = (arb(0) if mirrored else arb(mu) / 2), arb(odds)
        chosen = *map(arb, PLACES.values()), arb("0.4")
        path, short = (
            kind(arb(mu), start, arb("0.99"), rate, mirrored, *chosen) for kind in (Path, Short)
        )
        assert path.holds()
        for power in (0, 1):
            for z in (acb(2), acb(3, 4), acb("0.1", 9)):
                whole, part = (
                    p.mean(lambda loss, other, z=z: loss + z * (loss - other), power)
                    for p in (path, short)
                )
                gap = abs(whole - (part - ball(short.rest())))
                assert part.overlaps(whole)
                assert gap.lower() <= short.rest()
            modulus, bound = (
                p.size(lambda loss, _, u, v: loss + 2 * u, power) for p in (path, short)
            )
            assert modulus.lower() <= bound.upper()
            below, above = (
                p.size(lambda _, other, u, v: other - u / 10, power) for p in (path, short)
            )
            assert below.lower() <= above.upper()


def moduli(mirrored: bool, power: int, x: float, y: float) -> float:
    """By midpoints along the path of the parts above and below 0, in doubles."""
    mu, q, c, slope = 1.5, 0.01, 2.0, math.tan(0.3)
    start, r = (0.0, q) if mirrored else (mu / 2, q)
    even = math.log((1 - q) / r)
    corners = [0j, 1 + 0.45j, even + 0.8j, even + 0.8j + 40 * np.exp(0.4j)]
    total = 0.0
    for begin, end in pairwise(corners):
        w = begin + (end - begin) * (np.arange(20_000) + 0.5) / 20_000
        upper = np.where(
            w.real < even, np.log(1 - q + r * np.exp(w)), w + np.log(r + (1 - q) * np.exp(-w))
        )
        lower = np.log(1 - q + r * np.exp(-w)) if mirrored else 0 * w
        u = upper - lower
        above = upper.real + c * u.real + y * (slope * u.real - u.imag)
        below = lower.real - x * u.real - y * u.imag
        normal = -(((start + w / mu) ** 2).real) / 2
        sides = np.exp(normal + above) + np.exp(normal + below)
        total += float(np.sum(sides * np.abs(u) ** (2 * power))) * abs(end - begin) / 20_000
    return total / (mu * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (3.0, 0.0), (0.5, 6.0)])
def test_moduli_are_those_along_the_path(mirrored: bool, x: float, y: float) -> None:
    with precision(64):
        places = *map(arb, PLACES.values()), arb("0.4")
        start = arb(0) if mirrored else arb("0.75")
        path = Path(arb("1.5"), start, arb("0.99"), arb("0.01"), mirrored, *places)
        parts = above_zero(path), below_zero(path)
        for power in (0, 1):
            exact = moduli(mirrored, power, x, y)
            found = sum(
                float(part.bend(arb(x), arb(y)) if power else part.beyond(arb(x), arb(y)))
                for part in parts
            )
            assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("mirrored", "side"), [(False, "0.1"), (True, "0.1")])
def test_pieces_cover_the_path(mirrored: bool, side: str) -> None:
    with precision(64):
        places = map(arb, {**PLACES, "side": side}.values())
        path = Path(arb(1), arb(0), arb("0.99"), arb("0.01"), mirrored, *places, arb("0.4"))
        pieces = [at for at, _ in path.pieces()]
        far = path.corners[2] + 4 * acb(0, path.angle).exp()
        assert all(any(at.overlaps(corner) for at in pieces) for corner in (*path.corners, far))
        assert all(a.overlaps(b) for a, b in pairwise(pieces))


def test_a_path_that_ends_early_leaves_something() -> None:
    """So that the test above can fail."""
    with precision(64):
        chosen = *map(arb, PLACES.values()), arb("0.4")
        short = Short(arb(1.5), arb("0.75"), arb("0.99"), arb("0.01"), False, *chosen)
        path = Path(*(getattr(short, n) for n in Path.__dataclass_fields__))
        start = path.over(normal_of(path))
        assert not start.overlaps(short.over(normal_of(path)))
