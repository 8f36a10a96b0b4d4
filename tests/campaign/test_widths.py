"""How wide are enclosures of random compositions over the whole documented range?

δ from 1e-30 to 0.5, up to 1e9 rounds of each part, q from 1e-9, σ from 0.05 to 1e4, one to three
parts. The short form is a few cases; ``DPCALC_HYPOTHESIS=long pytest -s tests/campaign/test_widths.py``
runs a thousand, and ``DPCALC_SEEDS=0:100`` a part of them. Every case is counted.
"""

from __future__ import annotations

import math
import os
import random
import warnings
from collections import Counter

import pytest

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss, LaplaceLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)

NARROW = 1e-5
SHORT = (3, 9, 13, 26, 44, 99, 147, 375, 422)
LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"


def seeds() -> list[int]:
    if not LONG:
        return list(SHORT)
    first, _, last = os.environ.get("DPCALC_SEEDS", "0:1000").partition(":")
    return list(range(int(first), int(last)))


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def mechanism(rng: random.Random) -> PrivacyLoss:
    kind = rng.choice("RRRAAPPPWWLGT")
    if kind in "RAP":
        sigma, rate = log_uniform(rng, 0.05, 1e4), log_uniform(rng, 1e-9, 0.9999)
        return {"R": PoissonRemove, "A": PoissonAdd, "P": PoissonReplace}[kind](sigma, rate)
    if kind == "W":
        return WithoutReplacement(log_uniform(rng, 1e-4, 20), log_uniform(rng, 1e-9, 0.9999))
    if kind == "L":
        epsilon = log_uniform(rng, 1e-6, 1e2)
        return LaplaceLoss(epsilon, epsilon)
    if kind == "G":
        return GaussianLoss(log_uniform(rng, 1e-4, 20))
    return RandomisedResponseLoss.of({log_uniform(rng, 1e-6, 1e2): 1})


def composition(seed: int) -> tuple[list[tuple[PrivacyLoss, int]], float]:
    rng = random.Random(seed)
    parts = rng.choice([1, 1, 1, 2, 3])
    rounds = [(mechanism(rng), int(log_uniform(rng, 1, 1e9))) for _ in range(parts)]
    return rounds, log_uniform(rng, 1e-30, 0.5)


def narrow(parts: list[tuple[PrivacyLoss, int]], delta: float, found: Bracket) -> bool:
    """To 1e-5 of ε; next to zero, where ε ends within a few percent of δ, to 1e-5 of δ."""
    if found.relative_width <= NARROW:
        return True
    if not math.isfinite(found.upper):
        return False
    at_lower = bracket_delta(parts, found.lower)
    return at_lower.upper <= delta * (1 + NARROW)


def test_enclosures_are_narrow() -> None:
    counts: Counter[str] = Counter()
    wide = []
    for seed in seeds():
        parts, delta = composition(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = bracket_epsilon(parts, delta)
        counts["cases"] += 1
        counts["vacuous"] += found.upper > 0 and found.lower == 0
        for width in (1e-5, 1e-4, 1e-3, 1e-2):
            counts[f"wider than {width:g}"] += found.relative_width > width
        if not narrow(parts, delta, found):
            wide.append((seed, found))
            print(f"widths: {seed}: {parts}, {delta!r}: {found}", flush=True)  # noqa: T201
    for name, number in counts.items():
        print(f"widths: {name}: {number}")  # noqa: T201
    if not LONG:
        assert not wide


@pytest.mark.parametrize("seed", SHORT)
def test_delta_at_both_ends_agrees(seed: int) -> None:
    parts, delta = composition(seed)
    found = bracket_epsilon(parts, delta)
    if 0 < found.lower < found.upper < math.inf:
        assert bracket_delta(parts, found.upper).lower <= delta
        assert bracket_delta(parts, found.lower).upper >= delta
