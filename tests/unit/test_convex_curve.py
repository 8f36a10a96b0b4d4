"""Between two places that are far apart a chord may be the curve itself."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition.convex_curve import ConvexCurve


@pytest.mark.parametrize("largest", [31.7, 307.3, 687.1])
def test_a_chord_that_is_the_curve_is_not_rounded_below_it(largest: float) -> None:
    """A loss that is certain has δ(ε) = 1 - e^{ε-l}, a line in e^ε from which nothing is spared."""

    def profile(place: float) -> mp.mpf:
        return mp.mpf(0) if place >= largest else -mp.expm1(mp.mpf(place) - mp.mpf(largest))

    def ask(place: float) -> tuple[float, float]:
        value = float(profile(place))
        return value * (1 - 2e-16), value * (1 + 2e-16)

    rng = np.random.default_rng(3)
    with mp.workdps(50):
        for first in rng.uniform(0, 5, 40):
            curve = ConvexCurve(ask)
            curve.add([float(first), largest - rng.uniform(0, 0.01)])
            at = largest - rng.uniform(0, 0.1, 20)
            for place, low, high in zip(at, curve.low(at), curve.high(at), strict=True):
                assert low <= profile(float(place)) <= high
