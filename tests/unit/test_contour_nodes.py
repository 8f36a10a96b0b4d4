"""The integrand at its nodes against forty digits."""

from __future__ import annotations

import mpmath
import pytest

from dpcalc.accounting.contour.nodes import Nodes
from dpcalc.accounting.losses import GaussianLoss

STEP, MU_SQUARED = 0.01, 1e-6


@pytest.mark.parametrize("c", [1.0, 1e3, 1e5, 1e7])
def test_smoothing_later_states_what_it_rounds(c: float) -> None:
    mu = (MU_SQUARED / c) ** 0.5
    nodes = Nodes([(GaussianLoss(mu).tilted(c), 1)], c, STEP, 0.0)
    nodes.extend(1000)
    nodes.smooth(0.045)
    with mpmath.workdps(40):
        square, gain, real = mpmath.mpf(mu) ** 2, mpmath.mpf(nodes.gain), mpmath.mpf(c)
        error = mpmath.mpf(0)
        for k, value in enumerate(nodes.values):
            y = mpmath.mpf(STEP * k)
            turn = mpmath.mpc(-y * y, (2 * real + 1) * y) * (square / 2 + gain)
            z = mpmath.mpc(real, y)
            exact = mpmath.exp(turn) * real * (real + 1) / (z * (z + 1))
            error += abs(exact - mpmath.mpc(complex(value)))
    assert float(error) <= nodes.rounding
