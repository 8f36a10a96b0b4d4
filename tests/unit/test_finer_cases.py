"""What coarse sums of cases tell about cells, smoothing and contours: choices, but not any will do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpcalc.accounting.composition import finer_cases, large_losses, parted_laws
from dpcalc.accounting.composition.case_sums import SHARES, CaseSums, Setting, Term
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import Case
from dpcalc.accounting.composition.query import EpsilonAt
from dpcalc.accounting.contour.contour_sum import contour_sum
from dpcalc.accounting.contour.saddle_points import SaddlePoints
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.subsampled_gaussian import PoissonReplace, WithoutReplacement
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import gaussian_without_replacement


def test_thinned_laws_are_about_the_same() -> None:
    rng = np.random.default_rng(4)
    losses = np.sort(rng.normal(size=3000))
    one = DiscreteLoss(losses, np.full(3000, 0.9 / 3000), infinite_mass=0.01, missing=0.02)
    ((thin, count),) = parted_laws.thinned([(one, 7)])
    assert count == 7
    assert isinstance(thin, DiscreteLoss)
    assert len(thin.losses) < 600
    assert thin.supremum == one.supremum
    assert thin.masses.sum() == pytest.approx(one.masses.sum(), rel=1e-12)
    orders = np.array([0.1, 1.0, 5.0])
    np.testing.assert_allclose(thin.cumulants(orders)[0], one.cumulants(orders)[0], rtol=0.04)
    assert (thin.cumulants(orders)[0] >= one.cumulants(orders)[0]).all()


def test_many_rounds_of_a_thinned_law_stand_on_the_same_contour() -> None:
    """Of millions of rounds next to nothing may be added to the mean: neighbours keep it."""
    pair = PoissonReplace(1.05, 8.6e-6)
    plan = plan_cells(pair, pair.truncation_interval(1e-40), 137.0)
    law = upper_and_lower(pair, plan.edges(5000), 1e-40)[0]
    small = parted_laws.parted(law, 1, [0.25]).small
    rounds = [(small, 9_830_303)]
    exact, about = (
        SaddlePoints(each).contour_for_epsilon(0.511, math.log(7.7e-23), 1.0)
        for each in (rounds, parted_laws.thinned(rounds))
    )
    assert about.c == pytest.approx(exact.c, rel=0.05)
    assert about.period == pytest.approx(exact.period, rel=0.05)


def test_the_density_of_small_losses_is_known_far_from_zero() -> None:
    """At ε, where its logarithm is -50, and at zero: one contour alone loses one or the other."""
    mu, rounds, epsilon = 0.004, 100, 0.45
    law = GaussianLoss(mu)
    contour = SaddlePoints([(law, rounds)]).contour_for_epsilon(epsilon, None, 1.0)
    found = contour_sum([(law, rounds)], contour, smoothing=1e-4, most_nodes=2**14)
    case = Case((), (1.0, 1.0), ((law, rounds),))
    term = Term(case, contour, found, case, found)
    sums = CaseSums((term,), 0.0)
    bend = finer_cases.bend_of_cases(sums, epsilon)
    assert bend is not None
    mean, deviation = rounds * mu * mu / 2, math.sqrt(rounds) * mu
    step = 1e-5
    fall = (sums.upper(epsilon - step) - sums.upper(epsilon + step)) / (2 * step)
    for place in (0.0, 0.02, 0.1, 0.3, 0.43, epsilon, 0.46):
        exact = norm.pdf(place, mean, deviation) / fall
        assert bend.at(np.array([epsilon - place]))[0] == pytest.approx(exact, rel=0.02)


def test_very_many_small_losses_take_three_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million rounds whose small losses alone decide: coarse twice, then as fine as asked."""
    made: list[Setting] = []
    summed = large_losses._summed

    def counted(total: LossSum, setting: Setting) -> CaseSums | None:
        made.append(setting)
        return summed(total, setting)

    monkeypatch.setattr(large_losses, "_summed", counted)
    total = LossSum.of([(PoissonReplace(1.050719906325605, 8.6491388387239e-6), 9_830_303)])
    query = EpsilonAt(7.691214314973213e-23, 1e-6)
    found = large_losses.enclose(total, query, Bracket(0.0, 0.62, ""))
    assert found is not None
    assert found.relative_width < 1.1e-6
    assert len(made) == 3


def test_smoothing_stays_short_of_where_the_density_is_more() -> None:
    """A loss far above ε: smoothing may be large, but a little more reaches the loss itself."""
    epsilon, weight = 1e-4, 1e-8
    law = DiscreteLoss(np.geomspace(0.037, 5.0, 400), np.full(400, 0.0025))
    contour = SaddlePoints([(law, 1)]).contour_for_epsilon(epsilon, -0.7, 1.0)
    found = contour_sum([(law, 1)], contour, smoothing=5e-4, most_nodes=2**17)
    case = Case(((0, 0),), (weight, weight), ((law, 1),))
    sums = CaseSums((Term(case, contour, found, case, found),), 0.0)
    for share in (1e-3, 1e-5):
        allowed = share * sums.upper(epsilon)
        chosen, more = finer_cases.smoothing_of_cases(sums, epsilon, allowed)
        assert more == 0
        again = contour_sum([(law, 1)], contour, smoothing=chosen[case.key], most_nodes=2**17)
        left = weight * (again.upper(epsilon) - again.lower(epsilon))
        assert 0.2 * allowed < left < 1.1 * allowed


def test_densities_of_very_rare_losses_outgrow_doubles_in_silence() -> None:
    """10,000 batches."""
    part = gaussian_without_replacement(0.817, 1, 49_019_608)
    found = Composition(((part, 10_000),)).bracket(8.51e-12)
    assert found.lower <= found.upper < found.lower * (1 + 1e-5)


def test_few_rounds_of_rare_batches_are_enclosed_to_a_millionth() -> None:
    """Six rounds whose losses are spread over ten powers of ten around ε."""
    total = LossSum.of([(WithoutReplacement(4.124084559153365, 2.8761089211609692e-08), 6)])
    known = Bracket(0.00014362296537590865, 0.00014378919903070887, "a coarse lattice")
    found = large_losses.enclose(total, EpsilonAt(7.023028408562603e-08, 1e-6), known)
    assert found is not None
    assert found.relative_width < 2e-6
    lattice = Bracket(0.00014373685434253603, 0.00014373858319749407, "the finest lattice")
    assert max(found.lower, lattice.lower) <= min(found.upper, lattice.upper)


def test_where_half_of_epsilon_is_no_rare_loss_more_of_it_is() -> None:
    """Rounds of which several in a hundred lose ε/2: contours by what is above 2ε, or 8ε."""
    total = LossSum.of([(PoissonReplace(0.5586277533197943, 2.690528837826807e-06), 28)])
    query = EpsilonAt(5.59470661603325e-06, 1e-6)
    known = Bracket(0.00010245059840236199, 0.00010263986761325986, "a coarse lattice")
    assert large_losses.enclose(total, query, known) is None
    found = large_losses.enclose(total, query, known, None, SHARES)
    assert found is not None
    assert found.relative_width < 2e-6
    lattice = Bracket(0.00010258606999286308, 0.00010258726670870152, "the finest lattice")
    assert max(found.lower, lattice.lower) <= min(found.upper, lattice.upper)
