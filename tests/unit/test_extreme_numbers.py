"""Extreme numbers: an answer or one line, never a traceback."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.gaussian import (
    gaussian_delta,
    gaussian_delta_bounds,
    gaussian_epsilon,
    gaussian_mu,
)
from dpcalc.accounting.pure.binomial_sum import pure_delta, pure_epsilon
from dpcalc.accounting.pure.chernoff import delta_by_chernoff, epsilon_by_chernoff
from tests.oracles import exact
from tests.unit.extreme_settings import DP, RA, changed

ITERATION = (
    "admm-iteration --sensitivity 1 --step-size 0.5 --penalty 1 --sigma 1 --iterations 101 "
    "--smoothness 2 --operator-norm 1 --min-singular-value 1 --square --delta 1e-5"
)


@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (["epsilon", *changed(DP, sigma="1e-300")], "inf"),
        (["epsilon", *changed(DP, sigma="1e-320")], "inf"),
        (["epsilon", *changed(DP, sigma=1, gradient_bound="1e300")], "inf"),
        (["epsilon", *changed(DP, sigma=1, rounds="1e300")], 1.8e291),
        (["epsilon", *changed(RA, rounds="1e9")], 9e7),
        (["epsilon", *changed(RA, rounds="1e300")], 9e298),
        (["epsilon", *changed(RA, noise_rate="1e5")], 1.09e6),
        (["epsilon", *changed(RA, noise_rate="1e6", rounds=2)], 8.7e5),
        (["epsilon", *changed(RA, noise_rate="1e300")], 1.09e301),
        (["epsilon", *changed(RA, loss_weight="1e300")], 6e297),
        (["epsilon", *changed(RA, n_nodes="1e9")], 10.6),
        (["epsilon", *changed(ITERATION, sigma="1e-200", iterations=5)], "inf"),
    ],
)
def test_extreme_parameters_have_an_answer(run: Any, arguments: list[str], least: Any) -> None:
    status, out, err = run(*arguments, "--json")
    assert (status, err) == (0, "")
    epsilon = json.loads(out)["certified"]["epsilon"]
    assert epsilon == "inf" if least == "inf" else least <= epsilon <= least * 1.2
    assert run(*arguments)[0] == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e300, 1e-5), (1e300, 1e-3), (1e-300, 1e-12), (1e-10, 1e-300)]
)
def test_noise_for_extreme_budgets_meets_them(run: Any, epsilon: float, delta: float) -> None:
    arguments = changed(DP, sigma=None, epsilon=epsilon, delta=delta)
    status, out, err = run("noise", *arguments, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)["certified"]
    assert found["epsilon"] <= epsilon
    mu = math.nextafter(found["mu"], 0)
    assert exact.gaussian_delta(mu * (1 - 1e-9), epsilon, 700) <= mpf(delta)
    assert exact.gaussian_delta(mu * (1 + 1e-9), epsilon, 700) > mpf(delta)


def test_calibration_reaches_noise_of_any_size(run: Any) -> None:
    arguments = changed(DP, sigma=None, gradient_bound="1e200", epsilon="1", delta="1e-5")
    found = json.loads(run("noise", *arguments, "--json")[1])["certified"]
    assert 0.999999 < found["epsilon"] <= 1
    assert found["sigma"] > 1e196


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--gdp 1e300 --to approx --delta 1e-5", {"epsilon": "inf", "delta": 1e-5}),
        ("--gdp 1 --to approx --epsilon 1e300", {"epsilon": 1e300, "delta": 5e-324}),
        ("--pure 0.1 --rounds 1e9 --to approx --delta 1e-6", {"epsilon": 5010849.339, "delta": 1e-6}),
        ("--pure 0.1 --to approx --delta -0", {"epsilon": 0.1, "delta": 0}),
    ],
)  # fmt: skip
def test_convert_far_out(run: Any, arguments: str, expected: dict[str, Any]) -> None:
    status, out, err = run("convert", *arguments.split(), "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["adjacency"] is None
    assert answer["certified"] == {
        k: v if isinstance(v, str) else pytest.approx(v, rel=1e-9, abs=0)
        for k, v in expected.items()
    }
    assert "-0" not in run("convert", *arguments.split())[1].replace("e-0", "")


def test_rounds_beyond_counting_get_a_bound_that_says_it_is_weaker(run: Any) -> None:
    arguments = "convert --pure 0.1 --rounds 1e18 --to approx --delta 1e-6"
    answer = json.loads(run(*arguments.split(), "--json")[1])["certified"]
    mean = 1e18 * 0.1 * math.tanh(0.05)
    assert mean < answer["epsilon"] < mean * (1 + 1e-6)
    assert "weaker" in answer["method"]
    assert "weaker" in run(*arguments.split())[1]


@given(st.floats(-320, 308), st.floats(-320, 308))
@example(150.0, 299.699)
@settings(max_examples=60)
def test_gaussian_delta_over_the_whole_range(log_mu: float, log_epsilon: float) -> None:
    mu, epsilon = 10.0**log_mu, 10.0**log_epsilon
    if mu == 0:
        return
    found = gaussian_delta(mu, epsilon)
    assert 0 < found <= 1
    (bound,) = gaussian_delta_bounds(np.array([mu]), epsilon)
    with mp.workdps(750):
        a = mpf(epsilon) / mpf(mu) - mpf(mu) / 2
        near = abs(a) < 60
    if a > 60:
        assert found == 5e-324
    elif a < -60:
        assert found == 1.0
        assert bound == 1.0
    elif near and abs(log_mu) < 30:
        truth = exact.gaussian_delta(mu, epsilon, 300)
        assert mpf(found) >= truth
        assert found == 5e-324 or found <= float(truth) * (1 + 3e-16)
        assert mpf(float(bound)) >= truth


@pytest.mark.parametrize(
    ("mu", "delta"),
    [(1e150, 1e-5), (1e154, 0.5), (1e-12, 1e-13), (1e-300, 1e-310), (1e5, 1 - 1e-16), (30, 5e-324)],
)
def test_gaussian_epsilon_far_out_is_the_next_double_above(mu: float, delta: float) -> None:
    found = gaussian_epsilon(mu, delta)
    with mp.workdps(1500):
        assert exact.gaussian_delta(mu, found, 1500) <= mpf(delta)
        below = math.nextafter(math.nextafter(found, 0), 0)
        assert exact.gaussian_delta(mu, below, 1500) > mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e300, 1e-5), (1e-300, 1e-12), (1e308, 5e-324)])
def test_gaussian_mu_far_out(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    above = math.nextafter(math.nextafter(mu, math.inf), math.inf)
    assert exact.gaussian_delta(mu, epsilon, 1500) <= mpf(delta)
    assert exact.gaussian_delta(above, epsilon, 1500) > mpf(delta)


@given(st.floats(1e-3, 3), st.integers(1, 50), st.floats(-12, -0.4))
def test_the_weaker_bound_encloses_the_exact_one(
    epsilon: float, count: int, log_delta: float
) -> None:
    delta = 10.0**log_delta
    strong, weak = (
        pure_epsilon({epsilon: count}, delta),
        epsilon_by_chernoff({epsilon: count}, delta),
    )
    assert weak.lower <= strong.upper * (1 + 1e-12)
    assert weak.upper >= strong.lower
    at = strong.upper / 2
    truth = exact.equal_rounds_delta(epsilon, count, at)
    bound = delta_by_chernoff({epsilon: count}, at)
    assert mpf(bound.lower) <= truth <= mpf(bound.upper)


@pytest.mark.parametrize(
    "rounds",
    [{0.1: 10**11}, {0.1: 10**18}, {1e-9: 10**18, 1e-8: 10**17}, {800.0: 10**200}, {1e300: 10**18},
     {5e-324: 10**18}, {1e-160: int(1e300)}, {1e298: 1, 2e297: 3}],
)  # fmt: skip
def test_any_number_of_rounds_has_an_enclosure(rounds: dict[float, int]) -> None:
    for delta in (5e-324, 1e-6, 0.7):
        found = pure_epsilon(rounds, delta)
        assert 0 <= found.lower <= found.upper
        total = sum(mpf(e) * n for e, n in rounds.items())
        if min(rounds) > 700 and delta < 0.5:  # such rounds reveal all but for e^-700
            assert found.upper >= total * (1 - mpf("1e-2"))
        back = pure_delta(rounds, found.upper)
        assert back.upper <= max(delta * (1 + 1e-9), 1e-8 if found.upper == 0 else 0)
