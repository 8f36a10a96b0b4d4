"""Mechanisms of exactly known privacy loss, and false alarms about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import ndtr

from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Observations

ALPHA, S = 0.05, 2000

MOST = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / S)

Draw = Callable[[np.random.Generator, bool, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Known:
    """Log-ratios in either world, the true ε(δ) in each direction, and μ where it is Gaussian."""

    name: str
    draw: Draw
    delta: float
    forward: float
    backward: float
    mu: float | None = None

    @property
    def epsilon(self) -> float:
        return max(self.forward, self.backward)


def _laplace(rng, is_in, shape):
    x = rng.laplace(size=shape) + is_in
    return np.abs(x) - np.abs(x - 1)


def _response(rng, is_in, shape):
    return np.where((rng.random(shape) < 1 / (1 + np.exp(-1))) == is_in, 1.0, -1.0)


def _gauss(rng, is_in, shape):
    return rng.standard_normal(shape) + (0.5 if is_in else -0.5)


def _nothing(rng, is_in, shape):
    return rng.standard_normal(shape)


def _norm5(rng, is_in, shape):
    z = rng.standard_normal((*shape, 5))
    b = z * (rng.standard_gamma(5, shape) / np.linalg.norm(z, axis=-1))[..., None]
    b[..., 0] += is_in
    far = b.copy()
    far[..., 0] -= 1
    return np.linalg.norm(b, axis=-1) - np.linalg.norm(far, axis=-1)


def _atoms(rng, is_in, shape):
    """Randomised response in three runs of ten, nothing in the others."""
    return np.where(rng.random(shape) < 0.3, _response(rng, is_in, shape), 0.0)


def _mixed(rng, is_in, shape):
    """Half of the runs are randomised response, half the Laplace mechanism; which is told."""
    half = rng.random(shape) < 0.5
    return np.where(half, _response(rng, is_in, shape), _laplace(rng, is_in, shape))


RATE, SHIFT = 0.2, 2.0


def _subsampled(rng, is_in, shape):
    x = rng.standard_normal(shape) + (SHIFT * (rng.random(shape) < RATE) if is_in else 0.0)
    return np.logaddexp(np.log1p(-RATE), np.log(RATE) + SHIFT * x - SHIFT**2 / 2)


def _norm5_epsilon(delta: float) -> float:
    """E_P[(1 - e^{ε-L})_+] = δ by quadrature over radius and angle, both at their quantiles."""
    r = stats.gamma.ppf((np.arange(1500) + 0.5) / 1500, 5)[:, None]
    t = 2 * stats.beta.ppf((np.arange(1500) + 0.5) / 1500, 2, 2)[None, :] - 1
    L = np.sqrt(r**2 + 2 * r * t + 1) - r
    return optimize.brentq(lambda e: np.maximum(1 - np.exp(e - L), 0).mean() - delta, 0.0, 0.999)


def _subsampled_epsilon(delta: float, forward: bool) -> float:
    def divergence(eps):
        level = np.exp(eps) if forward else np.exp(-eps)
        if level <= 1 - RATE:
            return -delta
        t = (np.log((level - 1 + RATE) / RATE) + SHIFT**2 / 2) / SHIFT
        q, p = ndtr(-t), (1 - RATE) * ndtr(-t) + RATE * ndtr(SHIFT - t)
        return (p - np.exp(eps) * q if forward else (1 - q) - np.exp(eps) * (1 - p)) - delta

    return optimize.brentq(divergence, 1e-9, 20.0)


def _gaussian(delta):
    eps = float(gaussian_pair.epsilon_of(1.0, delta))
    return Known(f"gaussian {delta:g}", _gauss, delta, eps, eps, 1.0)


CASES = [
    Known("response", _response, 0.0, 1.0, 1.0),
    Known("laplace", _laplace, 0.0, 1.0, 1.0),
    Known("laplace 1e-5", _laplace, 1e-5, 1 + 2 * np.log1p(-1e-5), 1 + 2 * np.log1p(-1e-5)),
    _gaussian(0.1),
    _gaussian(1e-5),
    Known("norm d=5", _norm5, 0.0, 1.0, 1.0),
    Known("norm d=5 .01", _norm5, 0.01, _norm5_epsilon(0.01), _norm5_epsilon(0.01)),
    Known(
        "subsampled",
        _subsampled,
        1e-3,
        _subsampled_epsilon(1e-3, True),
        _subsampled_epsilon(1e-3, False),
    ),
    Known("atoms", _atoms, 0.0, 1.0, 1.0),
    Known("mixed", _mixed, 0.0, 1.0, 1.0),
    Known("nothing", _nothing, 0.0, 0.0, 0.0, 0.0),
    Known("nothing 1e-5", _nothing, 1e-5, 0.0, 0.0, 0.0),
]

BY_NAME = pytest.mark.parametrize("known", CASES, ids=lambda k: k.name)


def observed(known: Known, runs: int, seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    is_in = rng.random((S, runs)) < 0.5
    score = np.where(is_in, known.draw(rng, True, is_in.shape), known.draw(rng, False, is_in.shape))
    return Observations(is_in=is_in, score=score, fair_coins=True, exact=True)


def alarms(bounds, truth: float) -> float:
    return float(np.mean(np.asarray(bounds) > truth + 1e-9))
