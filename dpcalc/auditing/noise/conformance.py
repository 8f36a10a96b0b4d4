"""Scale, shape, centre, independence, repeats and support of the unit noise that was drawn.

Tests
    scale         Σ‖z‖² is χ² (Gaussian), Σ‖z‖ is Gamma (exponential norm): two-sided
    shape         Kolmogorov's test of all coordinates (Gaussian); of the radius against Gamma(d)
                  and of every squared direction cosine against Beta(½, (d-1)/2)
    centre        the mean of every coordinate
    independence  products of rounds one and two apart, of a round's nodes, of neighbouring runs,
                  of coordinates, and of the two worlds
    repeats       vectors that coincide to nine digits although chance would not have it
    support       numbers on a lattice coarser than 2⁻²⁴ of the scale
Power
    A standard deviation five per cent too small is found in 10⁴ coordinates; one per cent takes
    10⁵. Attacks on the lowest bits of floating-point noise are out of reach of such tests.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.noise.distributions import (
    correlation,
    gamma_two_sided,
    kolmogorov,
    normal_two_sided,
    poisson_at_least,
)
from dpcalc.auditing.noise.report import NoiseReport, NoiseTest
from dpcalc.auditing.targets.target import Noise
from dpcalc.errors import InvalidInput
from dpcalc.numerics.arithmetic import own_arithmetic

Array = NDArray[np.float64]

LEVEL = 0.001
"""Default probability that correct noise fails."""

_FEWEST = 200  # coordinates below which nothing is said
_CLOSE = 1e-9
_COORDINATES = 8  # tested one by one, the first ones


@own_arithmetic
def conformance(first: Noise, second: Noise | None = None, *, level: float = LEVEL) -> NoiseReport:
    """All tests of one or two worlds' unit noise.

    Args:
        first: noise of one world.
        second: noise of the other, from separate generators; tested alike and against the first.
        level: probability that correct noise fails any of them.

    Raises:
        InvalidInput: if the level is not in (0, 1) or the laws differ.
    """
    if not 0 < level < 1:
        raise InvalidInput(f"level needs a number in (0, 1); got level={level!r}")
    worlds = [first] if second is None else [first, second]
    if len({noise.law for noise in worlds}) > 1:
        raise InvalidInput("expected one noise law in both worlds; got two")
    vectors = np.concatenate([_flat(noise) for noise in worlds])
    if vectors.size < _FEWEST:
        return NoiseReport(tests=(), level=level, vectors=len(vectors))
    tests = _law(vectors, first.law)
    tests += _centre(vectors, first.law)
    tests += _independence(worlds, first.law)
    tests += [_repeats(vectors), _support(vectors)]
    return NoiseReport(tests=tuple(tests), level=level, vectors=len(vectors))


def _law(vectors: Array, law: str) -> list[NoiseTest]:
    return _gaussian(vectors) if law == "gaussian" else _exponential_norm(vectors)


def _gaussian(vectors: Array) -> list[NoiseTest]:
    from scipy.special import ndtr

    total, count = float((vectors**2).sum()), vectors.size
    distance, p = kolmogorov(vectors, ndtr)
    return [
        _test(
            "scale", gamma_two_sided(total / 2, count / 2), "σ / modelled σ", (total / count) ** 0.5
        ),
        _test("shape", p, "Kolmogorov distance", distance),
    ]


def _exponential_norm(vectors: Array) -> list[NoiseTest]:
    from scipy.special import betainc, gammainc

    d = vectors.shape[1]
    radius = np.linalg.norm(vectors, axis=1)
    total, shape = float(radius.sum()), float(d * len(radius))
    distance, p = kolmogorov(radius, lambda r: gammainc(d, r))
    tests = [
        _test("scale", gamma_two_sided(total, shape), "scale / modelled scale", total / shape),
        _test("shape", p, "Kolmogorov distance of the radius", distance),
    ]
    direction = vectors / np.maximum(radius, 1e-300)[:, None]
    for j in range(min(d, _COORDINATES) if d > 1 else 0):
        distance, p = kolmogorov(
            direction[:, j] ** 2, lambda u: betainc(0.5, (d - 1) / 2, np.minimum(u, 1.0))
        )
        tests.append(_test(f"direction {j + 1}", p, "Kolmogorov distance", distance))
    z, p = _standard(radius - d, math.sqrt(d), direction[:, 0], 1 / math.sqrt(d))
    return [*tests, _test("radius and direction", p, "correlation", z)]


def _centre(vectors: Array, law: str) -> list[NoiseTest]:
    n, d = vectors.shape
    spread = _spread(law, d)
    z = vectors.mean(axis=0) * math.sqrt(n) / spread
    far = int(np.abs(z).argmax())
    p = min(1.0, d * normal_two_sided(float(z[far])))
    return [_test("centre", p, f"mean of coordinate {far + 1}", float(z[far]) * spread / n**0.5)]


def _independence(worlds: list[Noise], law: str) -> list[NoiseTest]:
    """Products of noise that should be independent; Gaussian limits of their means."""
    pairs: dict[str, tuple[list[Array], list[Array]]] = {}

    def add(name: str, a: Array, b: Array) -> None:
        mine = pairs.setdefault(name, ([], []))
        mine[0].append(a.ravel())
        mine[1].append(b.ravel())

    for noise in worlds:
        unit = noise.unit if noise.active is None else noise.unit * noise.active[..., None]
        add("successive rounds", unit[:, :-1], unit[:, 1:])
        add("rounds two apart", unit[:, :-2], unit[:, 2:])
        add("neighbouring runs", unit[:-1], unit[1:])
        add("nodes of a round", unit[:, :, :-1], unit[:, :, 1:])
        add("coordinates", unit[..., :-1], unit[..., 1:])
    if len(worlds) == 2:
        n = min(len(worlds[0].unit), len(worlds[1].unit))
        add("the two worlds", worlds[0].unit[:n], worlds[1].unit[:n])
    tests = []
    for name, (first, second) in pairs.items():
        a, b = np.concatenate(first), np.concatenate(second)
        drawn = (a != 0) & (b != 0)
        a, b = a[drawn], b[drawn]
        if len(a) < _FEWEST:
            continue
        scale = float(np.sqrt(np.mean(a**2) * np.mean(b**2)))
        if name == "coordinates" and law != "gaussian":  # uncorrelated, not independent
            scale = float(np.sqrt(np.mean((a * b) ** 2)))
        value, p = correlation(a, b, max(scale, 1e-300))
        tests.append(_test(name, p, "correlation", value))
    return tests


def _repeats(vectors: Array) -> NoiseTest:
    """Neighbours in sorted order that agree in all coordinates."""
    n, d = vectors.shape
    order = np.argsort(vectors[:, 0], kind="stable")
    gap = np.abs(np.diff(vectors[order], axis=0)).max(axis=1)
    count = int((gap < _CLOSE).sum())
    # Two coordinates lie within a distance t of each other with probability at most t·2·max density.
    chance = (2 * _CLOSE * (1.0 if d == 1 else 0.5)) ** min(d, 3)
    expected = n * (n - 1) / 2 * chance
    return _test("repeats", poisson_at_least(count, expected), "coinciding vectors", float(count))


def _support(vectors: Array) -> NoiseTest:
    """How many numbers are whole multiples of 2⁻²⁴ of the scale; a lattice has all of them."""
    cells = vectors.ravel() * 2.0**24
    whole = np.abs(cells - np.round(cells)) < 1e-6
    count, n = int(whole.sum()), vectors.size
    chance = 2e-6 + 2.0**-24
    return _test(
        "support",
        poisson_at_least(count, n * chance + 1e-9) if count > 1 else 1.0,
        "share on a lattice of 2⁻²⁴",
        count / n,
    )


def _standard(a: Array, scale_a: float, b: Array, scale_b: float) -> tuple[float, float]:
    return correlation(a / scale_a, b / scale_b)


def _spread(law: str, d: int) -> float:
    """Standard deviation of one coordinate: 1, or √(E r²/d) = √(d + 1) for the exponential norm."""
    return 1.0 if law == "gaussian" else math.sqrt(d + 1)


def _flat(noise: Noise) -> Array:
    vectors = noise.unit.reshape(-1, noise.unit.shape[-1])
    return vectors if noise.active is None else vectors[noise.active.reshape(-1)]


def _test(name: str, p_value: float, statistic: str, value: float) -> NoiseTest:
    return NoiseTest(name=name, p_value=float(p_value), statistic=statistic, value=float(value))
