"""Random compositions whose two ends are certified in ball arithmetic, without the engine's code.

The short form runs everywhere; a thousand cases with ``DPCALC_HYPOTHESIS=long``, a slice of them with
``DPCALC_CASES=100:200`` too. No end may be certainly wrong; counts are printed, run with -s to see them.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter

import numpy as np
import pytest

from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.mechanisms import laplace, poisson_subsampled_gaussian

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"
SEED = 2026

Parts = list[tuple[Guarantee, int]]


def drawn(number: int) -> tuple[Parts, str, float]:
    """Rounds, their neighbouring relation and δ; the same for a number at any time."""
    rng = np.random.default_rng((SEED, number))
    adjacency = "add-remove" if rng.random() < 0.7 else "replace-one"

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")

    def sampled() -> tuple[Guarantee, int]:
        sigma, rate = between(0.5, 8), between(1e-4, 0.5)
        return poisson_subsampled_gaussian(sigma, rate, adjacency), round(between(100, 1e6))

    kinds = [
        lambda: (GDP(between(0.01, 3)), round(between(1, 20))),
        lambda: (PureDP(between(0.01, 1)), round(between(1, 50))),
        lambda: (ApproxDP(between(0.01, 1), between(1e-12, 1e-8)), round(between(1, 10))),
        lambda: (laplace(between(1, 50), adjacency), round(between(1, 30))),
    ]
    parts: Parts = [sampled()] if rng.random() < 0.85 else []
    if not parts or rng.random() < 0.4:
        parts += [kinds[k]() for k in rng.choice(len(kinds), rng.integers(1, 3), replace=False)]
    return parts, adjacency, between(1e-12, 1e-2)


def cases() -> range:
    first, _, last = os.environ.get("DPCALC_CASES", "0:1000" if LONG else "4:6").partition(":")
    return range(int(first), int(last))


def test_no_end_is_certainly_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    slowest = 0.0
    for number in cases():
        parts, adjacency, delta = drawn(number)
        counts["cases"] += 1
        try:
            bracket = compose(*parts).bracket(delta)
        except NumericalFailure:
            counts["refused by the engine"] += 1
            continue
        begun = time.process_time()
        found = certify(parts, adjacency, delta, bracket.upper, bracket.lower)
        slowest = max(slowest, time.process_time() - begun)
        assert not found.contradicted, (number, found.upper, found.lower)
        for end, verdict in (("upper", found.upper), ("lower", found.lower)):
            known = verdict == CERTIFIED
            counts[f"{end} ends certified" if known else f"{end} ends: {verdict[:60]}"] += 1
        if found.certificate is not None:
            assert len(check(found.certificate)) >= 1
    with capsys.disabled():
        for name, n in sorted(counts.items()) if LONG else ():
            print(f"certificates: {name}: {n}")  # noqa: T201 # the counts are the campaign's result
        if LONG:
            print(f"certificates: slowest, processor seconds: {slowest:.1f}")  # noqa: T201
    assert counts["upper ends certified"] > 0
