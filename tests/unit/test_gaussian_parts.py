"""The closed forms of the Gaussian mechanism, inside: brackets of roots, starts, digits carried."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting import gaussian
from dpcalc.accounting.gaussian import (
    _delta,
    _epsilon,
    _epsilon_by_newton,
    _epsilon_in_doubles,
    _erf_inverse,
    _left_of_root,
    gaussian_delta,
    gaussian_delta_bounds,
    gaussian_epsilon,
    gaussian_mu,
    mu_exact,
    total_mu,
)
from dpcalc.errors import InvalidInput, NumericalFailure
from dpcalc.numerals import Written
from dpcalc.numerics.precise import context
from dpcalc.numerics.precise import mpf as real
from tests.oracles import exact

MUS, EPSILONS = (1e-9, 0.03, 1.0, 7.0, 300.0), (0.0, 1e-12, 0.4, 9.0, 5000.0)

pytestmark = pytest.mark.usefixtures("fifty_digits")


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_keeps_its_digits_however_much_cancels(mu: float, epsilon: float) -> None:
    a = epsilon / mu - mu / 2
    found = _delta(real(mu), real(epsilon))
    if a > 60:
        assert found == context().ldexp(1, -1500)
    elif a < -60:
        assert found == 1
    else:
        truth = exact.gaussian_delta(mu, epsilon, digits=400)
        with mp.workdps(80):
            assert abs(mpf(found) / truth - 1) < mpf("1e-40")


@pytest.mark.parametrize("delta", ["1e-300", "1e-9", "0.0999", "0.1001", "0.7", "0.999999"])
def test_a_start_below_the_inverse_error_function(delta: str) -> None:
    found = _erf_inverse(context().mpf(delta))
    with mp.workdps(60):
        at = mp.erf(mpf(found) / mp.sqrt(8))
        assert at <= mpf(delta)
        # A tangent below δ = 0.1, the quantile itself above it.
        assert at >= mpf(delta) * (mpf("0.99") if mpf(delta) < 0.1 else 1 - mpf("1e-48"))


@pytest.mark.parametrize("delta", [1e-280, 1e-7, 0.05, 0.4, 0.95])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.7, 40.0])
def test_the_largest_mu_is_just_on_the_safe_side(epsilon: float, delta: float) -> None:
    found = mu_exact(epsilon, delta)
    at, next_to_it = (_delta(found * (1 + s), real(epsilon)) for s in (0, context().mpf("1e-38")))
    assert at <= delta < next_to_it
    assert gaussian_mu(epsilon, delta) <= found < math.nextafter(gaussian_mu(epsilon, delta), 2e9)
    for bad in (0.0, 1.0):
        with pytest.raises(InvalidInput, match="delta"):
            gaussian_mu(0.5, bad)
    with pytest.raises(InvalidInput, match="epsilon"):
        gaussian_mu(-0.5, 0.1)


def test_roots_from_the_left_take_few_steps() -> None:
    for function, root, most in (
        (lambda x: x * x - 2, mp.sqrt(2), 20),
        (lambda x: mp.expm1(3 * x), mpf(0), 30),
        (lambda x: -mp.expm1(-3 * x), mpf(0), 30),
    ):
        asked = []

        def counted(x, function=function, asked=asked):
            asked.append(x)
            return function(x)

        with mp.workdps(60):
            found = _left_of_root(counted, mpf(-1) if root == 0 else mpf(0), mpf(3))
            assert 0 <= (mp.sqrt(2) if root else root) - found <= mpf("1e-39")
            assert function(found) <= 0
        assert len(asked) <= most


def test_a_start_in_doubles() -> None:
    for mu, epsilon in ((1.0, 3.0), (0.2, 0.5), (5.0, 20.0)):
        log_delta = float(mp.log(exact.gaussian_delta(mu, epsilon)))
        start = mu**2 / 2 + mu * math.sqrt(-2 * log_delta)
        found = _epsilon_in_doubles(mu, log_delta, start)
        assert found == pytest.approx(epsilon, rel=1e-8)
    assert _epsilon_in_doubles(1.0, -2000.0, 70.0) is None
    assert _epsilon_in_doubles(1e-300, -5.0, 1e-290) is None


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 1e-6), (0.01, 1e-30), (40.0, 0.3), (1e-5, 1e-9)])
def test_newtons_root_is_an_upper_bound_by_thirty_digits(mu: float, delta: float) -> None:
    found = _epsilon(real(mu), real(delta))
    assert _delta(real(mu), found) <= delta
    below = _delta(real(mu), found * (1 - context().mpf("3e-30")))
    assert below > delta
    assert _epsilon_by_newton(real(mu), real(delta)) is not None


def test_roots_next_to_zero_take_more_digits() -> None:
    at_zero = float(exact.gaussian_delta(1.0, 0.0))
    for delta in (math.nextafter(at_zero, 0), at_zero * (1 - 1e-12)):
        found = gaussian_epsilon(1.0, delta)
        assert 0 < found < 1e-11
        assert exact.gaussian_delta(1.0, found, digits=120) <= delta
        assert exact.gaussian_delta(1.0, math.nextafter(found, 0), digits=120) > delta
    assert gaussian_epsilon(1.0, math.nextafter(at_zero, 1)) == 0.0


def test_a_root_that_no_digits_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "_epsilon_by_newton", lambda *_: None)
    with pytest.raises(NumericalFailure) as caught:
        _epsilon(real(2.0), real(0.1))
    assert str(caught.value) == (
        "ε does not fit in a double; got mu=2, delta=0.1; try a delta farther from the one at ε = 0"
    )


def test_ends_of_the_closed_forms() -> None:
    assert gaussian_delta(0.0, 0.0) == gaussian_delta(1.0, math.inf) == 0.0
    assert gaussian_delta(math.inf, 3.0) == gaussian_delta(200.0, 0.0) == 1.0
    assert gaussian_delta(1.0, 1e9) == 5e-324
    assert gaussian_epsilon(0.0, 0.0) == 0.0
    assert gaussian_epsilon(1.0, 0.0) == gaussian_epsilon(math.inf, 0.5) == math.inf
    for bad in ((-1.0, 0.1), (math.nan, 0.1)):
        with pytest.raises(InvalidInput, match="mu"):
            gaussian_delta(*bad)
        with pytest.raises(InvalidInput, match="mu"):
            gaussian_epsilon(*bad)
    with pytest.raises(InvalidInput, match="epsilon"):
        gaussian_delta(1.0, -1.0)
    with pytest.raises(InvalidInput, match="delta"):
        gaussian_epsilon(1.0, 1.5)


def test_the_root_of_a_sum_of_squares() -> None:
    assert total_mu([]) == 0.0
    assert total_mu([(3.0, 1), (2.0, 4)]) == 5.0
    assert total_mu([(math.inf, 0), (1.0, 1)]) == 1.0
    assert total_mu([(math.inf, 1), (1.0, 1)]) == math.inf
    for pairs in ([(0.1, 3), (1e-200, 10**6)], [(1e-300, 7)], [(1e150, 2), (1e-150, 5)]):
        found = total_mu(pairs)
        with mp.workdps(700):
            truth = mp.sqrt(sum(n * mpf(mu) ** 2 for mu, n in pairs))
            assert mpf(math.nextafter(found, 0)) < truth <= found
    tenth = total_mu([(Written(1, 10), 4)])
    assert mpf(tenth) >= mpf(1) / 5


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 8.0, 600.0])
def test_bounds_in_doubles_are_above_and_as_close_as_said(epsilon: float) -> None:
    mus = np.array([1e-6, 0.01, 0.5, 3.0, 35.0, 80.0])
    found = gaussian_delta_bounds(mus, epsilon)
    tiny = float(np.finfo(np.float64).tiny)
    for mu, bound in zip(mus.tolist(), found.tolist(), strict=True):
        truth = exact.gaussian_delta(mu, epsilon, digits=200)
        assert bound >= truth
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        if a > 39:
            assert bound == tiny
            continue
        with mp.workdps(60):
            first = mp.ncdf(-mpf(a))
            lost = 2 * mpf("2e-14") * first + tiny
            slack = mpf("4e-16") * (2 + abs(a)) * (epsilon / mu + mu)
            assert bound <= (truth + lost) * (1 + slack) + mpf("4e-16") * 2 * first * (1 + b)
    assert gaussian_delta_bounds(np.array([200.0]), 0.0).tolist() == [1.0]
