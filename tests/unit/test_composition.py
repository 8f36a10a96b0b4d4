"""Two-sided numerical composition, against independent values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpcalc.accounting.losses.distribution import (
    ELEMENTARY_ERROR,
    LOG1P_ERROR,
    UNIT_ROUNDOFF,
    log1p,
)
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, PureDP, compose
from tests.oracles import exact

# Independent values: contour inversion with thirty digits, checked twice.
PUBLISHED = [
    ([(PoissonRemove(1.0, 0.01), 10_000)], 1e-5, 6.187712389972, 1e-11),
    ([(PoissonRemove(1.0, 0.01), 10_000)], 1e-9, 8.76543859, 1e-8),
    ([(PoissonRemove(1.0, 0.01), 10_000)], 1e-15, 11.759978502, 1e-9),
    ([(PoissonReplace(1.0, 0.01), 10_000)], 1e-5, 10.8807815336, 1e-10),
    ([(PoissonRemove(0.5, 1 / 20_000), 60_000)], 1e-2, 0.0812432853, 1e-10),
    ([(LaplaceLoss(0.1, 0.1), 100)], 1e-6, 4.6926674147, 1e-10),
]


@pytest.mark.parametrize(("losses", "delta", "value", "digits"), PUBLISHED)
def test_published_values_lie_in_a_narrow_bracket(
    losses: list[tuple[object, int]], delta: float, value: float, digits: float
) -> None:
    found = bracket_epsilon(losses, delta)  # type: ignore[arg-type] # a list of losses
    assert found.lower <= value * (1 + digits)
    assert found.upper >= value * (1 - digits)
    assert found.relative_width <= 1e-6


@given(
    st.floats(0.3, 20),
    st.floats(-6, -0.05).map(lambda x: 10.0**x),
    st.floats(0, 6),
    st.booleans(),
)
def test_one_round_encloses_the_closed_form(
    sigma: float, rate: float, epsilon: float, remove: bool
) -> None:
    pair = PoissonRemove(sigma, rate) if remove else PoissonAdd(sigma, rate)
    truth = exact.subsampled_gaussian_delta(sigma, rate, epsilon, remove=remove, digits=60)
    found = bracket_delta([(pair, 1)], epsilon)
    assert mpf(found.upper) >= truth
    assert mpf(found.lower) <= truth * (1 + mpf("1e-12"))


@given(st.floats(0.01, 3), st.integers(1, 200), st.floats(-25, -1).map(lambda x: 10.0**x))
def test_gaussian_rounds_enclose_the_exact_law(mu: float, count: int, delta: float) -> None:
    found = bracket_epsilon([(GaussianLoss(mu), count)], delta)
    total = mu * math.sqrt(count)
    assert exact.gaussian_delta(total, found.upper, 80) <= mpf(delta) * (1 + mpf("1e-12"))
    if found.lower > 0:
        assert exact.gaussian_delta(total, found.lower, 80) >= mpf(delta) * (1 - mpf("1e-12"))


@given(st.floats(0.01, 4), st.floats(-12, -0.5).map(lambda x: 10.0**x))
def test_one_laplace_round(epsilon_0: float, delta: float) -> None:
    found = bracket_epsilon([(LaplaceLoss(epsilon_0, epsilon_0), 1)], delta)
    assert exact.laplace_delta(epsilon_0, found.upper) <= mpf(delta)
    if found.lower > 0:
        assert exact.laplace_delta(epsilon_0, found.lower) >= mpf(delta) * (1 - mpf("1e-9"))


def test_full_sampling_is_the_plain_gaussian() -> None:
    found = bracket_epsilon([(WithoutReplacement(0.5, 1 - 1e-12), 10)], 1e-6)
    total = 0.5 * math.sqrt(10)
    assert exact.gaussian_delta(total, found.upper, 60) <= mpf(1e-6)
    assert found.lower == pytest.approx(found.upper, rel=1e-5)


@given(
    st.sampled_from([PoissonRemove, PoissonAdd, PoissonReplace]),
    st.floats(0.5, 5),
    st.floats(1e-4, 0.5),
    st.integers(60, 5000),
)
@settings(max_examples=8)
def test_more_noise_fewer_rounds_and_larger_delta_never_cost_more(
    kind: type[PoissonRemove], sigma: float, rate: float, rounds: int
) -> None:
    base = bracket_epsilon([(kind(sigma, rate), rounds)], 1e-6, relative_width=1e-3)
    for losses, delta in (
        ([(kind(sigma * 1.2, rate), rounds)], 1e-6),
        ([(kind(sigma, rate), max(1, rounds // 2))], 1e-6),
        ([(kind(sigma, rate), rounds)], 1e-5),
    ):
        assert bracket_epsilon(losses, delta, relative_width=1e-3).lower <= base.upper


def test_adding_a_mechanism_never_lowers_the_answer() -> None:
    alone = bracket_epsilon([(PoissonRemove(1.0, 0.01), 500)], 1e-6)
    both = bracket_epsilon([(PoissonRemove(1.0, 0.01), 500), (LaplaceLoss(0.2, 0.2), 2)], 1e-6)
    assert both.upper > alone.lower


def test_many_different_mechanisms() -> None:
    rng = np.random.default_rng(5)
    losses = [
        (PoissonRemove(float(s), float(q)), 50)
        for s, q in zip(rng.uniform(0.7, 2, 40), rng.uniform(0.002, 0.02, 40), strict=True)
    ]
    found = bracket_epsilon(losses, 1e-5, relative_width=1e-5)
    assert 0 < found.relative_width <= 1e-5


def test_cost_does_not_grow_with_the_number_of_equal_rounds() -> None:
    widths = [
        bracket_epsilon([(PoissonRemove(1.0, 1e-3), 10**k)], 1e-5).relative_width for k in (5, 7, 9)
    ]
    assert max(widths) <= 1e-6


@pytest.mark.parametrize("bad", [0.0, 1.0, -1.0, math.nan])
def test_nonsense_is_refused(bad: float) -> None:
    with pytest.raises(InvalidInput, match="delta"):
        bracket_epsilon([(GaussianLoss(1.0), 1)], bad)


@given(st.floats(-20, 0), st.floats(-20, 0), st.booleans(), st.booleans())
@example(0.0, -6.0, True, False)
@example(-0.01, -0.9, True, True)
def test_logarithms_near_one_keep_their_relative_accuracy(
    a: float, b: float, left: bool, below: bool
) -> None:
    """What is off by a unit roundoff here is off by 1e-7 after a billion rounds.

    The real part is half the logarithm of 1 + s, s = x(2 + x) + y²: s is off by u(3|x|(2 + x) + 2y²),
    the logarithm by four units in the last place; the angle by those and the rounding of 1 + x.
    """
    z = complex(0.4 * 10**a * (-1 if left else 1), 0.4 * 10**b * (-1 if below else 1))
    assume(abs(z.real) + abs(z.imag) < 0.5)
    found = complex(log1p(np.array([z]))[0])
    with mp.workdps(60):
        x, y = abs(mp.mpf(z.real)), mp.mpf(z.imag)
        truth = mp.log1p(mp.mpc(z))
        square = (3 * x * (2 + mp.mpf(z.real)) + 2 * y**2) / (2 * abs(1 + mp.mpc(z)) ** 2)
        allowed = mp.mpf(UNIT_ROUNDOFF) * square + ELEMENTARY_ERROR * abs(truth.real)
        assert abs(mp.mpf(found.real) - truth.real) <= allowed * (1 + mp.mpf(2) ** -40)
        allowed = (ELEMENTARY_ERROR + UNIT_ROUNDOFF) * abs(truth.imag)
        assert abs(mp.mpf(found.imag) - truth.imag) <= allowed * (1 + mp.mpf(2) ** -40)


@given(st.floats(-3, 2), st.floats(-3, 3), st.floats(-9, 0))
def test_logarithms_are_as_accurate_as_every_law_takes_them_to_be(
    x: float, y: float, size: float
) -> None:
    z = complex(x, y) * 10**size
    assume(abs(z) > 1e-12 and abs(1 + z) > 1e-3)
    found = complex(log1p(np.array([z]))[0])
    with mp.workdps(60):
        truth = mp.log1p(mp.mpc(z))
        allowed = LOG1P_ERROR * abs(truth) * max(1, abs(1 + mp.mpc(z)))
        assert abs(mp.mpc(found) - truth) <= allowed


def test_half_a_billion_rounds_of_tiny_losses_keep_the_bracket_in_order() -> None:
    tiny = PoissonReplace(6.379335856664999, 1.1226124313826729e-07)
    found = bracket_epsilon([(LaplaceLoss(0.1758, 0.1758), 76), (tiny, 594_117_590)], 5.9e-21)
    assert found.lower <= found.upper
    # The tiny rounds together are Gaussian to nine digits; μ² = 2 ln M(c)/(c(c+1)) from 40 digits.
    like = bracket_epsilon(
        [(LaplaceLoss(0.1758, 0.1758), 76), (GaussianLoss(8.5792e-4), 1)], 5.9e-21
    )
    assert found.lower <= like.upper * (1 + 1e-9)
    assert found.upper >= like.lower * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [1e-300, 1e-6, 5e-4, 1e-3])
@pytest.mark.parametrize("rounds", [1, 3])
def test_next_to_no_noise_is_a_large_loss_and_not_none(sigma: float, rounds: int) -> None:
    """The record is in the sample with probability 0.1 > δ, and then seen 1/σ standard deviations off."""
    found = bracket_epsilon([(PoissonRemove(sigma, 0.1), rounds)], 1e-6)
    unsampled = rounds / (2 * sigma * sigma) if sigma > 1e-100 else math.inf
    assert found.upper >= 0.9 * unsampled / rounds
    assert found.lower <= found.upper
    other = bracket_epsilon([(PoissonAdd(sigma, 0.1), rounds)], 1e-6)
    assert other.upper <= -rounds * math.log1p(-0.1) * (1 + 1e-9)


def test_a_sample_that_rarely_holds_the_record_costs_nothing() -> None:
    """The total variation of 600 rounds at 1/20000 is below 0.03."""
    assert bracket_epsilon([(PoissonRemove(0.1, 1 / 20000), 600)], 0.5).upper == 0.0
    assert bracket_epsilon([(PoissonRemove(0.1, 1 / 20000), 600)], 0.02).upper > 0
    assert bracket_delta([(PoissonRemove(0.1, 1 / 20000), 600)], 0.0).upper <= 0.0296


@pytest.mark.parametrize("rounds", [10**14, 10**18, 10**300])
def test_any_number_of_rounds_has_an_answer(rounds: int) -> None:
    found = bracket_epsilon([(PoissonRemove(1.0, 1e-9), rounds)], 1e-6)
    assert 0 <= found.lower <= found.upper
    assert found.upper > 0
    assert found.method.startswith("weaker")


def test_what_underflows_rounds_up() -> None:
    tiny = compose((PureDP(1e-300), 2), (GDP(1e-300), 3))
    assert 8.4e-301 < tiny.delta(0.0) < 2e-300
    assert tiny.delta(1.0) == 5e-324
    mixed = compose((PureDP(0.1), 2), (GDP(1e-300), 3))
    assert mixed.delta(1.0) == 5e-324
    assert mixed.epsilon(1e-5) >= compose((PureDP(0.1), 2)).epsilon(1e-5) * (1 - 1e-6)


def test_a_release_that_reveals_everything_is_all_there_is() -> None:
    total = compose(PureDP(math.inf), GDP(1.0))
    assert total.epsilon(1e-5) == math.inf
    assert total.delta(1.0) == 1.0


@pytest.mark.parametrize("epsilon", [37.8, 38.498305084745766, 38.58305084745763])
def test_subnormal_probabilities_are_rounded_outward(epsilon: float) -> None:
    found = bracket_delta([(GaussianLoss(1.0), 1)], epsilon)
    truth = exact.gaussian_delta(1.0, epsilon, 400)
    assert mpf(found.lower) <= truth <= mpf(found.upper)


def test_mass_at_zero_that_may_be_rounding_is_still_counted() -> None:
    rest, e = 9e-14, math.log(2)
    law = DiscreteLoss(np.array([e, -e]), np.array([2 / 3 * (1 - rest), 1 / 3 * (1 - rest)]))
    with mp.workdps(40):
        up, down = (mpf(float(m)) for m in law.masses)
        zero = 1 - up - down
        two = up**2 * (1 - mp.exp(mpf(0.1) - 2 * mpf(e)))
        truth = two + 2 * up * zero * (1 - mp.exp(mpf(0.1) - mpf(e)))
    assert mpf(bracket_delta([(law, 2)], 0.1).upper) >= truth


def test_the_lower_end_of_a_plain_sum_is_not_above_it() -> None:
    parts = [(PureDP(0.1), 1), (PureDP(0.2), 1), (PureDP(0.7), 3)]
    total = sum(Fraction(part.bound) * n for part, n in parts)
    found = compose(*parts).bracket(0.0)
    assert Fraction(found.lower) < total < Fraction(found.upper)
