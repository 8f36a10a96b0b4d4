"""The bound of the Laplace law's tilted characteristic function, against its integral."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses import LaplaceLoss, laplace


def log_modulus(epsilon: float, c: float, y: float) -> mpf:
    with mp.workdps(20):
        e, z = mpf(epsilon), mp.mpc(c, y)

        def moment(z: mp.mpc) -> mp.mpc:
            inside = mp.quad(lambda t: mp.exp(z * t + (t - e) / 2) / 4, mp.linspace(-e, e, 5))
            return mp.exp(z * e) / 2 + mp.exp(-(z + 1) * e) / 2 + inside

        return mp.log(abs(moment(z) / moment(mp.mpc(c, 0))))


CASES = [(0.1, 3.0), (1.0, 0.5), (4.0, 1e-5), (6.0, 2.0)]


def missed() -> int:
    count = 0
    for epsilon, c in CASES:
        tilted = LaplaceLoss(epsilon, epsilon).tilted(c)
        edges = np.geomspace(0.01 / epsilon, 20 / epsilon, 6)
        bounds = tilted.log_modulus_bound(edges, 0)
        assert (bounds <= 0).all()
        for low, high, bound in zip(edges[:-1], edges[1:], bounds, strict=True):
            worst = max(log_modulus(epsilon, c, y) for y in (low, high))
            count += mpf(bound) < worst
    return count


def test_no_bound_is_below_the_modulus() -> None:
    assert missed() == 0


def test_a_bound_that_forgets_most_of_the_fall_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "_PAIRS", 400 * laplace._PAIRS)
    assert missed() > 0


def test_it_says_something() -> None:
    tilted = LaplaceLoss(4.0, 4.0).tilted(1e-5)
    bound = tilted.log_modulus_bound(np.array([2.0, 2.5]), 0)[0]
    assert -math.inf < bound < -1e-4
