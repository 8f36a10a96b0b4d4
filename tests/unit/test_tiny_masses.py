"""Convolution for δ far below what doubles square to, against rare events summed in sixty digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_epsilon, lattice_sum
from dpcalc.accounting.composition.lattice import rows
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.rows import Row, convolved, require_doubles
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate
from dpcalc.accounting.contour.saddle_points import SaddlePoints
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonReplace
from dpcalc.errors import NumericalFailure
from tests.oracles.rare import rare_table_delta

ROUNDS = 300


def law(rate: float, up: float) -> tuple[DiscreteLoss, list[float], list[float]]:
    """A common outcome, one that is rare under both, and one that is rarer still under q."""
    p = [0.0, rate, 1e-3]
    q = [0.0, rate * math.exp(-up), 1e-3 * math.exp(0.01)]
    p[0], q[0] = 1 - p[1] - p[2], 1 - q[1] - q[2]
    common = math.log1p(-q[1] - q[2]) - math.log1p(-p[1] - p[2])
    losses = np.array([-common, up, -0.01])
    return DiscreteLoss(losses, np.array(p)), p, q


def on_lattices(rate: float, epsilon: float, negligible: float) -> Bracket:
    query = DeltaAt(epsilon, 1e-4)
    total = LossSum(((law(rate, 2.0)[0], ROUNDS),))
    found = lattice_sum.refined(total, query, query.start(1.0), epsilon / 4, negligible)
    assert found is not None
    return found


@pytest.mark.parametrize("rate", [1e-150, 1e-200, 1e-240])
def test_the_truth_is_enclosed_narrowly(rate: float) -> None:
    _, p, q = law(rate, 2.0)
    low, high = rare_table_delta(p, q, ROUNDS, 1.8)
    found = on_lattices(rate, 1.8, max(rate * 1e-24, 1e-275))
    assert mpf(found.lower) <= high
    assert mpf(found.upper) >= low
    assert found.relative_width < 0.05
    assert 0.1 * ROUNDS * rate < found.upper < ROUNDS * rate
    # What squares of doubles can tell is nothing here.
    assert on_lattices(rate, 1.8, 1e-154).upper > 1e-152


@pytest.mark.parametrize("k", range(3))
def test_products_that_vanish_are_left_out_and_no_others(k: int) -> None:
    """Masses over three hundred powers of ten, against sums of products in sixty digits."""
    rng = np.random.default_rng(k)
    one, other = (
        Row(0, np.where(rng.random(n) < 0.9, 10 ** rng.uniform(-270, 0, n), 0.0))
        for n in (300, 700)
    )
    found = convolved(one, other, 10**6, 1.0)
    with mp.workdps(60):
        a, b = [mpf(x) for x in one.values], [mpf(x) for x in other.values]
        for place in rng.integers(0, 999, 40).tolist():
            terms = [a[i] * b[place - i] for i in range(300) if 0 <= place - i < 700]
            truth = mp.fsum(terms)
            assert mpf(found.values[place]) >= truth - len(terms) * mpf(rows._VANISHING)
            assert mpf(found.values[place]) <= truth * (1 + mpf(10) ** -12)


def test_too_much_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    _, p, q = law(1e-200, 2.0)
    low, _ = rare_table_delta(p, q, ROUNDS, 1.8)
    monkeypatch.setattr(rows, "_VANISHING", 1e-150)
    assert mpf(on_lattices(1e-200, 1.8, 1e-224).upper) < low


def test_what_may_be_left_out_follows_delta() -> None:
    cut = lattice_sum._negligible
    assert cut(EpsilonAt(1e-6, 1e-6), None) == 1e-154
    assert cut(EpsilonAt(1e-130, 1e-6), None) == pytest.approx(1e-154)
    assert cut(EpsilonAt(1e-200, 1e-6), None) == pytest.approx(1e-224)
    assert cut(EpsilonAt(1e-270, 1e-6), None) == 1e-275
    assert cut(DeltaAt(1.0, 1e-6), None) == 1e-154
    coarse = LossSum(((law(1e-200, 2.0)[0], ROUNDS),)).coarse_upper(1e-280)
    points = SaddlePoints(coarse)
    told = Estimate(1e-280, points, points.contour_for_epsilon(1.0, -460.0), 1.0, 10)
    assert cut(DeltaAt(1.0, 1e-6), told) == pytest.approx(math.exp(-460) * 1e-24)


def test_a_tail_of_thirty_three_deviations_is_narrow() -> None:
    """Seventy-two rounds of a record in 2·10⁸; was [2e-9, 1e-3].

    One round alone is a lower bound, and so is what 72 rounds have together of the largest of their
    losses: P(no other round loses anything below zero to speak of) is next to one.
    """
    pair = PoissonReplace(2.6445957, 4.68e-9)
    found = bracket_epsilon([(pair, 72)], 6e-239)
    assert found.relative_width < 1e-5
    alone = bracket_epsilon([(pair, 1)], 6e-239 / 72)
    # The other 71 rounds add a multiple of their deviation, 1.8e-9 each, to either side.
    assert abs(found.upper - alone.upper) < 72 * 8 * 4.68e-9


def test_masses_beyond_the_doubles_are_a_failure_not_a_number() -> None:
    """Weights of splits may grow without bound."""
    require_doubles(np.array([1e308, 1e-308]))
    for masses in ([1e308, 1e308], [math.nan], [math.inf, 0.0]):
        with pytest.raises(NumericalFailure, match=r"^expected masses that are doubles"):
            require_doubles(np.array(masses))


def test_many_rounds_whose_losses_hardly_vary() -> None:
    """Without the record nothing is sampled, and every loss is -ln(1 - q) but for 1e-20 of the rounds."""
    rate, number = 5.967e-8, 115_007_108
    rounds = rounds_of([(PoissonAdd(0.0502, rate), number)])
    assert rounds is not None
    found = lattice_sum.convolved(rounds, 2.0, 0.5, 512, 4.0)
    truth = -math.expm1(2.0 + number * math.log1p(-rate))
    assert truth - 1e-3 < found.lower(2.0) < truth < found.upper(2.0) < truth + 1e-3
