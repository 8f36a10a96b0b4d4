"""Leaks in outputs of every kind, each beside a sound twin that keeps its claims.

Nothing is declared: a function that releases, two inputs, a claim. Most twins keep their claim
exactly, so an audit at level α accuses them about as often as α allows.
"""

# ruff: noqa: ARG001, ARG005 -- releases have one signature, whatever they use of it

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Claim
from dpcalc.audits.bugs import relations
from dpcalc.guarantees import GDP

Array = NDArray[Any]
Release = Callable[[float, np.random.Generator, int], Array]

PURE = Claim.of(epsilon=1.0, adjacency="add-remove")
APPROX = Claim.of(epsilon=1.0, delta=1e-5, adjacency="add-remove")
CURVE = Claim(guarantee=GDP(1.0), delta=1e-5, adjacency="add-remove")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Leak:
    """A broken release, its sound twin, and the claims that the twin keeps."""

    name: str
    broken: Release
    sound: Release
    claims: tuple[Claim, ...] = (PURE, APPROX)


def _laplace(x: float, g: np.random.Generator, n: int) -> Array:
    return x + g.laplace(size=n)


def _gauss(x: float, g: np.random.Generator, n: int) -> Array:
    return x + g.standard_normal(n)


def _response(epsilon: float) -> Release:
    return lambda x, g, n: np.where(g.random(n) < 1 / (1 + np.exp(-epsilon)), x, 1 - x)


def _sometimes(rate: float, leak: Release, otherwise: Release) -> Release:
    return lambda x, g, n: np.where(g.random(n) < rate, leak(x, g, n), otherwise(x, g, n))


def _few_noises(noises: Array) -> Release:
    number = len(noises)
    return lambda x, g, n: x + noises[g.integers(number, size=n)]


def _generator() -> np.random.Generator:
    return np.random.default_rng(1)


def _cast(kind: Any) -> Release:
    return lambda x, g, n: 0.7137 * x + g.laplace(size=n).astype(kind).astype(float)


def _geometric(x: float, g: np.random.Generator, n: int) -> Array:
    rate = 1 - np.exp(-1)
    return x + g.geometric(rate, n) - g.geometric(rate, n)


def _shared(x: float, g: np.random.Generator, n: int) -> Array:
    z = g.standard_normal((n, 3))
    z[:, 1] = z[:, 0]
    return np.array([0.3, -0.3, 0.0]) * x + 3 * z


def _fresh_and_wide(x: float, g: np.random.Generator, n: int) -> Array:
    """μ = 0.14, which keeps the curve of 1 and (1, 1e-5)."""
    return np.array([0.3, -0.3, 0.0]) * x + 3 * g.standard_normal((n, 3))


def _reused(x: float, g: np.random.Generator, n: int) -> Array:
    z = g.standard_normal((n, 6))
    z[:, 1::2] = z[:, ::2]
    return x * np.arange(6) / 10 + z


def _rounds(x: float, g: np.random.Generator, n: int) -> Array:
    return x * np.arange(6) / 10 + g.standard_normal((n, 6))


def _overflowing(x: float, g: np.random.Generator, n: int) -> Array:
    return np.where((x > 0) & (g.random(n) < 0.1), np.nan, _laplace(x, g, n))


def _fails_privately(x: float, g: np.random.Generator, n: int) -> Array:
    return np.where(g.random(n) < 0.1, np.nan, _laplace(x, g, n))


def _correlated(x: float, g: np.random.Generator, n: int) -> Array:
    z = g.standard_normal((n, 2))
    z[:, 1] = (0.8 if x else -0.8) * z[:, 0] + 0.6 * z[:, 1]
    return z


def _uncorrelated(x: float, g: np.random.Generator, n: int) -> Array:
    z = g.standard_normal((n, 2))
    return np.stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1]], axis=1)


def _parity(x: float, g: np.random.Generator, n: int) -> Array:
    """The record is the parity of a count, whose size says nothing."""
    return 2 * g.poisson(20, n) + x


def _private_parity(x: float, g: np.random.Generator, n: int) -> Array:
    return 2 * g.poisson(20, n) + _response(1.0)(x, g, n)


def _clipped_noise(x: float, g: np.random.Generator, n: int) -> Array:
    return x + np.clip(g.laplace(size=n), -3, 3)


def _clipped_output(x: float, g: np.random.Generator, n: int) -> Array:
    return np.clip(_laplace(x, g, n), -3, 3)


def _counter(x: float, g: np.random.Generator, n: int) -> Array:
    """The length of an answer, padded for one input only."""
    return np.stack([_laplace(x, g, n), np.full(n, 7.0) + (g.random(n) < 0.3) * x], axis=1)


def _padded(x: float, g: np.random.Generator, n: int) -> Array:
    return np.stack([_laplace(x, g, n), np.full(n, 7.0)], axis=1)


def _wide(x: float, g: np.random.Generator, n: int) -> Array:
    return g.standard_normal(n) * (1 + 2 * x)


def _sign_only(x: float, g: np.random.Generator, n: int) -> Array:
    """Symmetric about zero in both worlds; the magnitude is near 1 in one of them."""
    side = np.where(g.random(n) < 0.5, 1.0, -1.0)
    return side * (1 + 0.05 * g.standard_normal(n)) if x else 1.0 * g.standard_normal(n)


def _sphere(x: float, g: np.random.Generator, n: int) -> Array:
    """Equal means and covariances, no skewness, single numbers nearly alike: noise of fixed length."""
    z = g.standard_normal((n, 10))
    return z / np.linalg.norm(z, axis=1, keepdims=True) * 10**0.5 if x else z


def _ten(x: float, g: np.random.Generator, n: int) -> Array:
    return g.standard_normal((n, 10))


def _symmetric(x: float, g: np.random.Generator, n: int) -> Array:
    return g.standard_normal(n) + 0 * x


def _related(
    name: str,
    relation: Callable[[NDArray[np.bool_], np.random.Generator], Array],
    rate: float = 1.0,
) -> Leak:
    """The relation holds with the record, in this share of runs; in the twin by randomised response."""
    return Leak(
        name,
        lambda x, g, n: relation((x > 0) & (g.random(n) < rate), g),
        lambda x, g, n: relation(_response(1.0)(x, g, n) > 0, g),
    )


LEAKS = (
    Leak("randomised response, ε = 3", _response(3.0), _response(1.0)),
    Leak(
        "answers without noise in 22 per cent",
        _sometimes(0.22, lambda x, g, n: np.full(n, x + 1.0), lambda x, g, n: np.zeros(n)),
        _sometimes(0.22, _response(1.0), lambda x, g, n: np.full(n, 3.0)),
    ),
    Leak(
        "raw record in 40 per cent, far out",
        _sometimes(0.4, lambda x, g, n: np.full(n, 1000 + 100 * x), _gauss),
        _sometimes(0.4, lambda x, g, n: np.full(n, 1000.0), _laplace),
    ),
    Leak(
        "raw record in 20 per cent, far out",
        _sometimes(0.2, lambda x, g, n: np.full(n, 1000 + 100 * x), _symmetric),
        _sometimes(0.2, lambda x, g, n: np.full(n, 1000.0), _laplace),
        (PURE, APPROX, CURVE),
    ),
    Leak(
        "noise missing in 5 per cent",
        lambda x, g, n: x + g.laplace(size=n) * (g.random(n) > 0.05),
        _laplace,
    ),
    Leak("noise of 100 seeds", _few_noises(_generator().standard_normal(100)), _gauss, (CURVE,)),
    Leak("Laplace noise of 100 seeds", _few_noises(_generator().laplace(size=100)), _laplace),
    Leak(
        "rounded noise",
        lambda x, g, n: 0.7137 * x + np.round(g.laplace(size=n), 2),
        lambda x, g, n: np.round(_laplace(x, g, n), 2),
    ),
    Leak(
        "noise in float16",
        _cast(np.float16),
        lambda x, g, n: _laplace(x, g, n).astype(np.float16).astype(float),
    ),
    Leak(
        "noise in float32",
        _cast(np.float32),
        lambda x, g, n: _laplace(x, g, n).astype(np.float32).astype(float),
    ),
    Leak("noise shared by two nodes", _shared, _fresh_and_wide, (APPROX, CURVE)),
    Leak("noise used twice", _reused, _rounds, (CURVE,)),
    Leak("NaN in one world", _overflowing, _fails_privately),
    Leak("covariances", _correlated, _uncorrelated),
    Leak("length of the noise", _sphere, _ten, (PURE, APPROX, CURVE)),
    Leak("parity of a count", _parity, _private_parity),
    Leak("noise clipped, not the output", _clipped_noise, _clipped_output),
    Leak("another length in 30 per cent", _counter, _padded),
    Leak("a spread three times as wide", _wide, _symmetric, (PURE, APPROX, CURVE)),
    Leak("magnitudes near one", _sign_only, _symmetric, (PURE, APPROX, CURVE)),
    Leak(
        "geometric noise for sensitivity 1/3", lambda x, g, n: _geometric(3 * x, g, n), _geometric
    ),
    Leak(
        "a third of the Gaussian noise",
        lambda x, g, n: 3 * x + g.standard_normal(n),
        _gauss,
        (CURVE,),
    ),
    _related("two equal numbers of forty", relations.equal_pair),
    _related("product of three signs", relations.product_of_signs),
    _related("product of three signs in nine runs of ten", relations.product_of_signs, 0.9),
    _related("parity of nine bits", relations.parity_of_nine),
    _related("sum of bytes", relations.sum_of_bytes),
    _related("cyclic code", relations.cyclic_code),
)

PAIRS = tuple((leak, claim) for leak in LEAKS for claim in leak.claims)
"""Every leak with every claim that its twin keeps."""
