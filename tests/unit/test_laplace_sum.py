"""Few rounds of Laplace noise are summed exactly; the oracle integrates over the losses of one round after the other."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import contour_integral, laplace_sum
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss, LaplaceLoss


def rounds(*ratios: tuple[float, int]) -> LossSum:
    return LossSum.of([(LaplaceLoss(ratio, ratio), count) for ratio, count in ratios])


def delta_at(epsilon: float, *ratios: tuple[float, int]) -> Bracket:
    found = laplace_sum.enclose(rounds(*ratios), DeltaAt(epsilon, 1e-6))
    assert found is not None
    return found


def one_round(a: mpf, epsilon: mpf) -> mpf:
    """δ(ε) of a single round; below -a all losses are larger."""
    if epsilon >= a:
        return mpf(0)
    return 1 - mp.exp((epsilon - a) / 2) if epsilon >= -a else 1 - mp.exp(epsilon)


def two_rounds(one: float, other: float, epsilon: float) -> mpf:
    """δ(ε) by the law of one round's loss: ends of mass 1/2 and e^{-a}/2, a density between them."""
    a, b, e = mpf(one), mpf(other), mpf(epsilon)
    ends = one_round(b, e - a) / 2 + mp.exp(-a) * one_round(b, e + a) / 2
    places = [-a, *sorted(x for x in (e - b, e + b) if -a < x < a), a]
    return ends + mp.quad(lambda x: mp.exp((x - a) / 2) / 4 * one_round(b, e - x), places)


def equal_rounds(n: int, ratio: float, epsilon: float) -> mpf:
    """δ(ε) by how many rounds are at which end; the others' losses add up as uniform ones do, tilted."""
    a, e = mpf(ratio), mpf(epsilon)
    found = mpf(0)
    for up in range(n + 1):
        for down in range(n + 1 - up):
            between, shift = n - up - down, (up - down) * a
            ways = math.factorial(n) // math.prod(map(math.factorial, (up, down, between)))
            chance = ways * mpf(2) ** -(up + down) * mp.exp(-a * down)
            found += chance * _gain(between, a, e - shift)
    return found


def _gain(m: int, a: mpf, e: mpf) -> mpf:
    """E[(1 - e^{e-s})+] over the sum s of m losses between -a and a, in mass 4^-m e^{(s - ma)/2}."""
    if m == 0:
        return max(mpf(0), 1 - mp.exp(e))

    def density(s: mpf) -> mpf:
        x = (s + m * a) / (2 * a)
        terms = (
            (-1) ** k * math.comb(m, k) * (x - k) ** (m - 1) for k in range(int(mp.floor(x)) + 1)
        )
        uniform = sum(terms, mpf(0)) / math.factorial(m - 1) / (2 * a)
        return (a / 2) ** m * mp.exp((s - m * a) / 2) * uniform

    knots = [-m * a + 2 * a * k for k in range(m + 1)]
    places = [max(e, knots[0]), *(k for k in knots if k > max(e, knots[0]))]
    if len(places) < 2:
        return mpf(0)
    return mp.quad(lambda s: (1 - mp.exp(e - s)) * density(s), places)


@pytest.mark.parametrize(
    ("one", "other", "shares"),
    [
        (0.1, 0.1, (-0.99, -0.3, 0.0, 0.2, 0.7, 0.999999)),
        (0.3, 1.7, (-0.4, 0.0, 0.1, 0.71, 0.99)),
        (2.5, 2.5, (0.0, 0.01, 0.5, 1 - 1e-9)),
    ],
)
def test_two_rounds(one: float, other: float, shares: tuple[float, ...]) -> None:
    with mp.workdps(30):
        for share in shares:
            epsilon = share * (one + other)
            found = delta_at(epsilon, (one, 1), (other, 1))
            true = two_rounds(one, other, epsilon)
            slack = mpf("1e-20")  # of the quadrature, which has 30 digits
            assert found.lower <= true + slack
            assert true <= found.upper + slack
            assert found.relative_width < 1e-11


@pytest.mark.parametrize("ratio", [0.1, 1.0])
@pytest.mark.parametrize("n", [3, 7, 10])
@pytest.mark.few(3)
def test_equal_rounds(n: int, ratio: float) -> None:
    with mp.workdps(40):
        for share in (-0.5, 0.0, 0.3, 0.9, 0.99) if n < 10 else (0.3, 0.99):
            found = delta_at(share * n * ratio, (ratio, n))
            true = equal_rounds(n, ratio, share * n * ratio)
            slack = mpf("1e-25")
            assert found.lower <= true + slack
            assert true <= found.upper + slack
            assert found.relative_width < 1e-11


def test_ten_rounds_next_to_the_largest_loss() -> None:
    """ε(1e-6) of ten rounds of 0.1, by an exact sum made elsewhere, to sixteen digits."""
    found = laplace_sum.enclose(rounds((0.1, 10)), EpsilonAt(1e-6, 1e-6))
    assert found is not None
    assert found.lower <= 0.9989780894472199 <= found.upper
    assert found.relative_width < 2e-14


def test_at_the_top_one_term_is_left() -> None:
    """Σa - ε = 2x, x tiny: 2^{1-n} x, all rounds at their ends but for the gain."""
    top, n = Fraction(0.1) * 10, 10
    epsilon = 1.0 - 1e-9
    x = (top - Fraction(epsilon)) / 2
    found = delta_at(epsilon, (0.1, n))
    assert found.upper == pytest.approx(float(x) * 2.0 ** (1 - n), rel=1e-8)
    assert delta_at(1.0000001, (0.1, n)).upper == 0.0


many = st.lists(
    st.tuples(st.floats(0.01, 2.0), st.integers(1, 12)),
    min_size=1,
    max_size=2,
    unique_by=lambda r: r[0],
)


@given(many, st.sampled_from([1e-2, 1e-5, 1e-9]))
def test_meets_the_integral_on_a_line(ratios: list[tuple[float, int]], delta: float) -> None:
    """Inversion shares no formula with the sum; neither is below the other's lower end."""
    total = rounds(*ratios)
    query = EpsilonAt(delta, 1e-6)
    found = laplace_sum.enclose(total, query)
    if found is None or total.rounds == 1 or total.total_variation_bound <= delta:
        return
    assert found.upper - found.lower <= 1e-11 * max(found.upper, 1e-3)
    estimate = contour_integral.estimate(total, query)
    other = contour_integral.enclose(total, query, estimate)
    if other is not None:
        assert other.lower <= found.upper
        assert found.lower <= other.upper


def test_both_questions_agree() -> None:
    found = laplace_sum.enclose(rounds((0.2, 40), (0.5, 3)), EpsilonAt(1e-7, 1e-6))
    assert found is not None
    back = delta_at(found.upper, (0.2, 40), (0.5, 3))
    assert back.lower <= 1e-7 * (1 + 1e-12)
    assert back.upper == pytest.approx(1e-7, rel=1e-10)


def test_is_left_to_others() -> None:
    query = EpsilonAt(1e-6, 1e-6)
    assert laplace_sum.enclose(rounds((0.1, 201)), query) is None
    assert laplace_sum.enclose(rounds((0.1, 30), (0.2, 30)), query) is None
    assert laplace_sum.enclose(rounds((40.0, 8)), query) is None
    mixed = LossSum.of([(LaplaceLoss(0.1, 0.1), 3), (GaussianLoss(0.1), 1)])
    assert laplace_sum.enclose(mixed, query) is None


def test_a_forgotten_sign_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds at their lower ends subtract; with (1 + u) for (1 - u) the integral disagrees."""
    table = laplace_sum._coefficients

    def planted(total: int, width: int) -> list[list[float]]:
        return [table(total, width)[0]] * (total + 1)

    with mp.workdps(30):
        right = float(two_rounds(0.1, 0.1, -0.05))
    assert delta_at(-0.05, (0.1, 2)).upper == pytest.approx(right, rel=1e-12)
    laplace_sum._mixture.cache_clear()
    monkeypatch.setattr(laplace_sum, "_coefficients", planted)
    try:
        wrong = laplace_sum.enclose(rounds((0.1, 2)), DeltaAt(-0.05, 1e-6))
        assert wrong is not None
        assert wrong.upper != pytest.approx(right, rel=1e-3)
    finally:
        laplace_sum._mixture.cache_clear()
