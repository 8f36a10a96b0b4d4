"""Leaks in outputs of any kind, each beside a sound twin: caught by the default audit, twin not.

Nothing is declared: a function that releases, two inputs, a claim. Five seeds of each leak, all of
them refuted; a few seeds of each twin here, two hundred in the campaign.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from dpcalc.auditing import Claim, Outcome, audit, mechanism
from dpcalc.guarantees import GDP

Array = np.ndarray
Release = Callable[[float, np.random.Generator, int], Array]
PURE = Claim.of(epsilon=1.0, adjacency="add-remove")
APPROX = Claim.of(epsilon=1.0, delta=1e-5, adjacency="add-remove")
CURVE = Claim(guarantee=GDP(1.0), delta=1e-5, adjacency="add-remove")


@dataclass(frozen=True)
class Leak:
    """A broken release, its sound twin, and the claims that the twin keeps."""

    name: str
    broken: Release
    sound: Release
    claims: tuple[Claim, ...] = (PURE, APPROX)


def laplace(x, g, n):
    return x + g.laplace(size=n)


def gauss(x, g, n):
    return x + g.standard_normal(n)


def response(epsilon):
    return lambda x, g, n: np.where(g.random(n) < 1 / (1 + np.exp(-epsilon)), x, 1 - x)


def sometimes(rate, leak, otherwise):
    return lambda x, g, n: np.where(g.random(n) < rate, leak(x, g, n), otherwise(x, g, n))


def few_noises(number):
    noises = np.random.default_rng(1).standard_normal(number)
    return lambda x, g, n: x + noises[g.integers(number, size=n)]


def cast(kind):
    return lambda x, g, n: 0.7137 * x + g.laplace(size=n).astype(kind).astype(float)


def geometric(x, g, n):
    rate = 1 - np.exp(-1)
    return x + g.geometric(rate, n) - g.geometric(rate, n)


def shared(x, g, n):
    z = g.standard_normal((n, 3))
    z[:, 1] = z[:, 0]
    return np.array([0.3, -0.3, 0.0]) * x + 3 * z


def fresh(x, g, n):
    return np.array([0.3, -0.3, 0.0]) * x + g.standard_normal((n, 3))


def reused(x, g, n):
    z = g.standard_normal((n, 6))
    z[:, 1::2] = z[:, ::2]
    return x * np.arange(6) / 10 + z


def rounds(x, g, n):
    return x * np.arange(6) / 10 + g.standard_normal((n, 6))


def overflowing(x, g, n):
    return np.where((x > 0) & (g.random(n) < 0.1), np.nan, laplace(x, g, n))


def fails_privately(x, g, n):
    return np.where(g.random(n) < 0.1, np.nan, laplace(x, g, n))


def correlated(x, g, n):
    z = g.standard_normal((n, 2))
    z[:, 1] = (0.8 if x else -0.8) * z[:, 0] + 0.6 * z[:, 1]
    return z


def uncorrelated(x, g, n):
    z = g.standard_normal((n, 2))
    return np.stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1]], axis=1)


def parity(x, g, n):
    """The record is the parity of a count, whose size says nothing."""
    return 2 * g.poisson(20, n) + x


def private_parity(x, g, n):
    return 2 * g.poisson(20, n) + response(1.0)(x, g, n)


def clipped_noise(x, g, n):
    return x + np.clip(g.laplace(size=n), -3, 3)


def clipped_output(x, g, n):
    return np.clip(laplace(x, g, n), -3, 3)


def counter(x, g, n):
    """The length of an answer, padded for one input only."""
    return np.stack([laplace(x, g, n), np.full(n, 7.0) + (g.random(n) < 0.3) * x], axis=1)


def padded(x, g, n):
    return np.stack([laplace(x, g, n), np.full(n, 7.0)], axis=1)


def wide(x, g, n):
    return g.standard_normal(n) * (1 + 2 * x)


def sign_only(x, g, n):
    """Symmetric about zero in both worlds; the magnitude is near 1 in one of them."""
    side = np.where(g.random(n) < 0.5, 1.0, -1.0)
    return side * (1 + 0.05 * g.standard_normal(n)) if x else 1.0 * g.standard_normal(n)


def symmetric(x, g, n):
    return g.standard_normal(n) + 0 * x


LEAKS = (
    Leak("randomised response, ε = 3", response(3.0), response(1.0)),
    Leak(
        "answers without noise in 22 per cent",
        sometimes(0.22, lambda x, g, n: x + 1.0, lambda x, g, n: np.zeros(n)),
        sometimes(0.22, response(1.0), lambda x, g, n: np.full(n, 3.0)),
    ),
    Leak(
        "raw record in 40 per cent, far out",
        sometimes(0.4, lambda x, g, n: 1000 + 100 * x, gauss),
        sometimes(0.4, lambda x, g, n: np.full(n, 1000.0), laplace),
    ),
    Leak(
        "raw record in 20 per cent, far out",
        sometimes(0.2, lambda x, g, n: 1000 + 100 * x, symmetric),
        sometimes(0.2, lambda x, g, n: np.full(n, 1000.0), laplace),
        (PURE, APPROX, CURVE),
    ),
    Leak(
        "noise missing in 5 per cent",
        lambda x, g, n: x + g.laplace(size=n) * (g.random(n) > 0.05),
        laplace,
    ),
    Leak("noise of 100 seeds", few_noises(100), gauss, (CURVE,)),
    Leak(
        "rounded noise",
        lambda x, g, n: 0.7137 * x + np.round(g.laplace(size=n), 2),
        lambda x, g, n: np.round(laplace(x, g, n), 2),
    ),
    Leak(
        "noise in float16",
        cast(np.float16),
        lambda x, g, n: laplace(x, g, n).astype(np.float16).astype(float),
    ),
    Leak(
        "noise in float32",
        cast(np.float32),
        lambda x, g, n: laplace(x, g, n).astype(np.float32).astype(float),
    ),
    Leak("noise shared by two nodes", shared, fresh, (CURVE,)),
    Leak("noise used twice", reused, rounds, (CURVE,)),
    Leak("NaN in one world", overflowing, fails_privately),
    Leak("covariances", correlated, uncorrelated),
    Leak("parity of a count", parity, private_parity),
    Leak("noise clipped, not the output", clipped_noise, clipped_output),
    Leak("another length in 30 per cent", counter, padded),
    Leak("a spread three times as wide", wide, symmetric, (PURE, APPROX, CURVE)),
    Leak("magnitudes near one", sign_only, symmetric, (PURE, APPROX, CURVE)),
    Leak("geometric noise for sensitivity 1/3", lambda x, g, n: geometric(3 * x, g, n), geometric),
    Leak(
        "a third of the Gaussian noise",
        lambda x, g, n: 3 * x + g.standard_normal(n),
        gauss,
        (CURVE,),
    ),
)
PAIRS = [(leak, claim) for leak in LEAKS for claim in leak.claims]


def outcome(release: Release, claim: Claim, seed: int) -> Outcome:
    target = mechanism(release, 1.0, 0.0, adjacency="add-remove")
    return audit(target, claim, seed=seed, controls=False).outcome


def named(value):
    return value.name


@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_a_leak_is_refuted_at_the_default_budget(leak, claim):
    found = [outcome(leak.broken, claim, seed) for seed in range(5)]
    assert found.count(Outcome.REFUTED) == 5


@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_its_sound_twin_is_not(leak, claim):
    """A twin that keeps its claim exactly is refuted in at most one audit of twenty."""
    found = [outcome(leak.sound, claim, seed) for seed in range(4)]
    assert found.count(Outcome.REFUTED) <= 1


@pytest.mark.campaign
@pytest.mark.parametrize(("leak", "claim"), PAIRS, ids=named)
def test_no_twin_is_accused_more_often_than_alpha_allows(leak, claim):
    """200 seeds at α = .05: more than 19 alarms come once in 300 at a true level of .05."""
    alarms = sum(outcome(leak.sound, claim, seed) is Outcome.REFUTED for seed in range(200))
    sys.stdout.write(f"\n| {leak.name} | {claim.name} | {alarms} of 200 |")
    assert alarms <= 19
