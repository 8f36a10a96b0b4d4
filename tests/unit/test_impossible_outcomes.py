"""Releases with outcomes that only one of two data sets can have, where all other losses are negative.

Their moments fall with the order, down to nothing. The oracle enumerates outcomes with forty digits and
uses no code of dpcalc.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import worst_delta
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.renyi import log_moment, renyi_given_finite
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees import GDP, ZCDP, compose
from dpcalc.guarantees.distributions import finite_distributions

Law = tuple[float, ...]


def exact_delta(p: Law, q: Law, count: int, mu: float, epsilon: float) -> mpf:
    """Of so many releases with outcomes of these probabilities, and N(μ, 1) against N(0, 1)."""
    total = mpf(0)
    for drawn in itertools.product(range(len(p)), repeat=count):
        a, b = (math.prod((mpf(law[i]) for i in drawn), start=mpf(1)) for law in (p, q))
        if a > 0 and b > 0:
            far = (mpf(epsilon) - mp.log(a / b)) / mu
            total += a * mp.ncdf(mu / 2 - far) - mp.exp(epsilon) * b * mp.ncdf(-mu / 2 - far)
        else:
            total += a
    return total


@pytest.mark.parametrize(
    ("p", "count", "mu", "epsilon"),
    [
        ((0.9983826626772679, 0.0016173373227320598), 2, 0.8550986583264801, 1.0),
        ((0.9999993792533035, 6.207466964891495e-07), 2, 3.581182140459018e-07, 0.0),
        ((1 - 2**-20, 2.0**-20), 3, 2.0**-21, 0.0),
        ((0.75, 0.25), 3, 2.0, 0.5),
        ((0.0009765625, 0.9990234375), 2, 1.0, 0.25),
    ],
)
def test_brackets_hold_the_exact_law_next_to_normal_noise(
    p: Law, count: int, mu: float, epsilon: float
) -> None:
    q = (1.0, 0.0)
    directions = compose((finite_distributions(p, q, "add-remove"), count), GDP(mu)).losses()
    for losses, (first, second) in zip(directions or (), ((p, q), (q, p)), strict=True):
        found = worst_delta([losses], epsilon)
        with mp.workdps(40):
            truth = exact_delta(first, second, count, mu, epsilon)
            assert mpf(found.lower) <= truth <= mpf(found.upper)
        assert found.relative_width < 1e-3


def test_a_moment_that_is_a_difference_of_ones_is_refused() -> None:
    """Nodes on its line would be those of its rounding; its bounds are finite and above it."""
    law = DiscreteLoss(np.array([-0.5]), np.array([0.75]), infinite_mass=0.25)
    with pytest.raises(NumericalFailure, match="a moment of at least"):
        law.tilted(200.0)
    assert law.tilted(2.0).log_moment == pytest.approx(math.log(0.75) - 1.0)
    orders = np.array((2.0, 100.0, 1e5))
    exact = [math.log(0.75) - 0.5 * float(order) for order in orders]
    for bound, truth in zip(law.cumulants(orders)[0], exact, strict=True):
        assert truth <= bound < 0
    assert log_moment(law, 2.0) == pytest.approx(exact[0], abs=1e-12)


@pytest.mark.parametrize("excess", [1e-9, 1e-6, 1e-3, 1.0, 60.0, 200.0, 1e4, 1e12])
@pytest.mark.parametrize(
    ("losses", "masses", "infinite"),
    [
        ((math.log(0.7),), (0.7,), 0.3),  # all that is finite is as under Q
        ((math.log(6 / 7), math.log(2 / 3)), (0.6, 0.2), 0.2),
        ((math.log(4), -3.0), (0.4, 0.01), 2.0**-3),  # the rest at zero
    ],
)
def test_the_divergence_given_a_finite_loss_is_bounded_at_all_orders(
    losses: Law, masses: Law, infinite: float, excess: float
) -> None:
    law = DiscreteLoss(np.array(losses), np.array(masses), infinite_mass=infinite)
    found = renyi_given_finite([(law, 2)], 1 + excess)
    with mp.workdps(60):
        s, held = mpf(1 + excess) - 1, 1 - mpf(infinite)
        rest = max(held - sum(map(mpf, masses)), mpf(0))
        moment = rest + sum(
            mpf(m) * mp.exp(s * mpf(x)) for m, x in zip(masses, losses, strict=True)
        )
        truth = 2 * (mp.log(moment) - (1 + s) * mp.log(held)) / s
        assert mpf(found) >= truth
        # At most ln 1/(1-f) each where next to nothing, at loss zero, would decide.
        most = truth * (1 + mpf(10) ** -9) + mpf(10) ** -12
        assert mpf(found) <= (most if excess <= 1 else max(most, -2 * mp.log(held) * 1.001))


def test_next_to_a_renyi_guarantee_they_are_bounded() -> None:
    p, q, rho = (0.6, 0.2, 0.2), (0.7, 0.3, 0.0), 0.01
    found = compose(finite_distributions(p, q, "add-remove"), ZCDP(rho))
    for epsilon in (0.0, 0.25, 1.0):
        with mp.workdps(40):
            truth = exact_delta(p, q, 1, math.sqrt(2 * rho), epsilon)
        assert truth <= found.delta(epsilon) < 0.45
    assert 0 < found.epsilon(0.201) < 1
