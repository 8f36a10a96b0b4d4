"""Random compositions over the whole range against oracles that share no code with the engine.

The short form runs everywhere; with ``-m campaign`` and DPCALC_HYPOTHESIS=long the same properties
run over thousands of cases. Counts are printed at the end: run with -s to see them.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss, LaplaceLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.privacy_profile import law_from_distributions
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.renyi import log_moment
from dpcalc.guarantees import PureDP
from dpcalc.guarantees.composition import compose
from tests.oracles import exact

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"
COUNTS: Counter[str] = Counter()


def examples(short: int, long: int) -> int:
    return long if LONG else short


@pytest.fixture(scope="module", autouse=True)
def _print_counts() -> Iterator[None]:
    yield
    print()  # noqa: T201 # the counts are the campaign's result
    for name, number in sorted(COUNTS.items()):
        print(f"soundness: {name}: {number}")  # noqa: T201


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


DELTAS = log_uniform(1e-30, 0.5)
ROUNDS = log_uniform(1, 1e9).map(int)


def judge(kind: str, found: Bracket, truth: mpf) -> None:
    """Count the case; fail if the truth is outside the bracket, by however little."""
    COUNTS[f"{kind}, cases"] += 1
    assert 0 <= found.lower <= found.upper
    COUNTS[f"{kind}, upper bounds below the truth"] += mpf(found.upper) < truth
    COUNTS[f"{kind}, lower bounds above the truth"] += mpf(found.lower) > truth
    assert mpf(found.upper) >= truth
    assert mpf(found.lower) <= truth


def sane(kind: str, found: Bracket) -> None:
    COUNTS[f"{kind}, cases"] += 1
    assert not math.isnan(found.lower + found.upper)
    assert 0 <= found.lower <= found.upper


# ------------------------------------------------------------------ closed forms, any number of rounds


@given(log_uniform(0.05, 1e4), ROUNDS, DELTAS)
@settings(max_examples=examples(15, 600))
def test_gaussian_rounds_against_eighty_digits(sigma: float, rounds: int, delta: float) -> None:
    found = bracket_epsilon([(GaussianLoss(1 / sigma), rounds)], delta)
    mu = math.sqrt(rounds) / sigma
    COUNTS["Gaussian, cases"] += 1
    assert 0 <= found.lower <= found.upper
    assert exact.gaussian_delta(mu, found.upper, 400) <= mpf(delta)
    if found.lower > 0:
        assert exact.gaussian_delta(mu, found.lower, 400) >= mpf(delta)


@given(log_uniform(1e-4, 3), st.integers(2, 60), st.floats(0, 0.95))
@settings(max_examples=examples(10, 300))
def test_randomised_response_against_the_binomial_sum(
    epsilon_0: float, rounds: int, share: float
) -> None:
    epsilon = share * rounds * epsilon_0
    truth = exact.equal_rounds_delta(epsilon_0, rounds, epsilon)
    # As one law with many outcomes, and as many different ones that happen to be equal.
    judge(
        "pure", bracket_delta([(RandomisedResponseLoss.of({epsilon_0: 1}), rounds)], epsilon), truth
    )
    assert mpf(compose((PureDP(epsilon_0), rounds)).delta(epsilon)) >= truth


@given(log_uniform(0.2, 1e3), log_uniform(1e-9, 0.5), st.floats(0, 3), st.booleans())
@settings(max_examples=examples(15, 600))
def test_one_sampled_round_against_sixty_digits(
    sigma: float, rate: float, scale: float, remove: bool
) -> None:
    epsilon = scale * math.log1p(rate * math.expm1(min(3 / sigma, 20)))
    truth = exact.subsampled_gaussian_delta(sigma, rate, epsilon, remove=remove, digits=80)
    pair = PoissonRemove(sigma, rate) if remove else PoissonAdd(sigma, rate)
    if truth > mpf("1e-250"):
        judge("one sampled round", bracket_delta([(pair, 1)], epsilon), truth)


# ------------------------------------------------------------------ brute force at few rounds


def random_table(atoms: int, seed: int) -> tuple[list[float], list[float]]:
    """A random discrete mechanism: the P- and Q-masses of its outcomes."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(atoms))
    q = p * np.exp(rng.normal(0, rng.uniform(1e-3, 2), atoms))
    return (p / p.sum()).tolist(), (q / q.sum()).tolist()


@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 10**6), st.floats(0, 2))
@settings(max_examples=examples(15, 400))
def test_random_tables_against_all_outcomes(
    atoms: int, rounds: int, seed: int, epsilon: float
) -> None:
    p, q = random_table(atoms, seed)
    law = law_from_distributions(p, q)
    truth = exact.finite_delta(p, q, rounds, epsilon)
    if truth > mpf("1e-12"):
        judge("table", bracket_delta([(law, rounds)], epsilon), truth)


@given(log_uniform(0.3, 20), log_uniform(1e-6, 0.9), st.floats(0, 3))
@settings(max_examples=examples(1, 60))
def test_two_sampled_rounds_against_an_integral(sigma: float, rate: float, scale: float) -> None:
    epsilon = scale * math.log1p(rate * math.expm1(min(3 / sigma, 20)))
    truth = exact.two_sampled_rounds_delta(sigma, rate, epsilon)
    if truth > mpf("1e-60"):
        judge(
            "two sampled rounds", bracket_delta([(PoissonRemove(sigma, rate), 2)], epsilon), truth
        )


@given(log_uniform(0.4, 5), log_uniform(1e-3, 0.5), st.integers(3, 5), st.floats(0.05, 2.5))
@settings(max_examples=examples(4, 150))
def test_a_few_sampled_rounds_against_brute_force_convolution(
    sigma: float, rate: float, rounds: int, scale: float
) -> None:
    """Cells of the density, once optimistic and once pessimistic, convolved by Fourier transforms.

    The allowance is for the transforms' rounding, not the engine's.
    """
    unit = math.log1p(rate * math.expm1(min(2 / sigma, 8)))
    epsilon = scale * unit
    low, high = exact.convolved_delta_bounds(sigma, rate, rounds, epsilon)
    found = bracket_delta([(PoissonRemove(sigma, rate), rounds)], epsilon, relative_width=1e-3)
    COUNTS["few sampled rounds, cases"] += 1
    assert found.upper >= low * (1 - 1e-9)
    assert found.lower <= high * (1 + 1e-9)


# ------------------------------------------------------------------ Rényi divergences


@given(log_uniform(0.3, 20), log_uniform(1e-4, 0.9), log_uniform(0.01, 20), st.sampled_from("RAP"))
@settings(max_examples=examples(4, 100))
def test_renyi_divergences_against_quadrature(
    sigma: float, rate: float, exponent: float, kind: str
) -> None:
    pair = {"R": PoissonRemove, "A": PoissonAdd, "P": PoissonReplace}[kind](sigma, rate)
    truth = exact.sampled_log_moment(sigma, rate, exponent, kind)
    found = log_moment(pair, exponent)
    COUNTS["Rényi, cases"] += 1
    COUNTS["Rényi, upper bounds below the truth"] += mpf(found) < truth
    assert mpf(found) >= truth
    assert found <= float(truth) * 1.01 + 1e-18


# ------------------------------------------------------------------ the whole range: never nan, never negative

MECHANISMS = st.one_of(
    *(
        st.tuples(log_uniform(0.05, 1e4), log_uniform(1e-9, 0.9999)).map(lambda v, k=k: k(*v))
        for k in (PoissonRemove, PoissonAdd, PoissonReplace)
    ),
    st.tuples(log_uniform(1e-4, 20), log_uniform(1e-9, 0.9999)).map(
        lambda v: WithoutReplacement(*v)
    ),
    st.tuples(log_uniform(1e-6, 1e3), st.integers(2, 2000)).map(lambda v: ExponentialNorm(*v)),
    log_uniform(1e-6, 1e3).map(lambda e: LaplaceLoss(e, e)),
    log_uniform(1e-4, 20).map(GaussianLoss),
    st.lists(log_uniform(1e-6, 1e2), min_size=1, max_size=3).map(
        lambda es: RandomisedResponseLoss.of(dict.fromkeys(es, 1))
    ),
)


@given(st.lists(st.tuples(MECHANISMS, ROUNDS), min_size=1, max_size=3), DELTAS)
@settings(max_examples=examples(4, 150))
def test_every_request_is_answered_in_order(parts: list, delta: float) -> None:
    found = bracket_epsilon(parts, delta)
    sane("whole range", found)
    if 0 < found.upper < math.inf:
        back = bracket_delta(parts, found.upper)
        sane("whole range, back to δ", back)
        assert back.lower <= delta


@given(st.lists(st.tuples(log_uniform(1e-4, 3), ROUNDS), min_size=1, max_size=4), DELTAS)
@settings(max_examples=examples(10, 300))
def test_sampling_everything_is_the_closed_form(
    parts: list[tuple[float, int]], delta: float
) -> None:
    """Against the exact law of Gaussian composition, across the engine's own path."""
    with mp.workdps(60):
        total = mp.sqrt(mp.fsum(n * mpf(mu) ** 2 for mu, n in parts))
    found = bracket_epsilon([(GaussianLoss(mu), n) for mu, n in parts], delta)
    COUNTS["Gaussian mixtures of rounds, cases"] += 1
    assert exact.gaussian_delta(total, found.upper, 400) <= mpf(delta)
    if found.lower > 0:
        assert exact.gaussian_delta(total, found.lower, 400) >= mpf(delta)


@pytest.mark.campaign
def test_nothing_was_counted_wrong() -> None:
    wrong = {k: v for k, v in COUNTS.items() if ("below" in k or "above" in k) and v}
    with mp.workdps(15):
        assert not wrong
