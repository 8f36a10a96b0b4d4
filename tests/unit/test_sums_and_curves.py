"""Estimates, refinements and whole curves of a composition: how often each is made, and how close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting import enclosure
from dpcalc.accounting.composition import (
    contour_integral,
    curve,
    exact_sum,
    lattice_sum,
    worst_delta,
    worst_epsilon,
)
from dpcalc.accounting.composition.contour_integral import estimate
from dpcalc.accounting.composition.exact_sum import _finer_between
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.composition.resolution import upper_and_lower_sums
from dpcalc.accounting.contour.saddle_points import SaddlePoints
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpcalc.accounting.losses.discretisation import plan_cells
from dpcalc.accounting.losses.either_order import (
    _Curve,
    _larger,
    density_law_in_either_order,
    law_in_either_order,
)
from dpcalc.accounting.losses.fourier import change_at_nodes, moduli_at_nodes
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.guarantees import compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from tests.oracles.exact import gaussian_delta

SAMPLED = LossSum.of([(PoissonRemove(1.0, 0.05), 200)])

pytestmark = pytest.mark.usefixtures("fifty_digits")


class Counter:
    """Counts the calls of a function that it stands for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module, name: str) -> None:
        self.calls: list[dict] = []
        inner = getattr(module, name)

        def counted(*given, **named):
            self.calls.append(named)
            return inner(*given, **named)

        monkeypatch.setattr(module, name, counted)


def test_an_estimate_is_one_coarse_sum_above_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch, contour_integral, "contour_sum")
    query = EpsilonAt(1e-5, 1e-6)
    found = estimate(SAMPLED, query)
    assert len(counter.calls) <= 2
    assert counter.calls[0]["most_nodes"] == 1024
    unit = 1 / found.contour.c
    assert counter.calls[0]["smoothing"] == pytest.approx(min(0.1 * unit, 0.1), rel=0.3)
    assert found.tail == query.tail(SAMPLED)
    exact = contour_integral.enclose(SAMPLED, query, found)
    assert exact is not None
    assert exact.lower <= found.upper
    assert found.upper <= exact.upper * 1.1
    assert 5 < found.nodes < 300
    assert isinstance(found.saddle_points, SaddlePoints)


@pytest.mark.parametrize("query", [EpsilonAt(1e-5, 1e-6), DeltaAt(3.0, 1e-6)])
def test_a_contour_integral_is_as_narrow_as_asked_in_few_passes(
    query, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch, contour_integral, "upper_and_lower_sums")
    found = contour_integral.enclose(SAMPLED, query, estimate(SAMPLED, query))
    assert found is not None
    assert found.method == "moment inversion, two-sided"
    assert found.relative_width <= 1e-6
    assert len(counter.calls) <= 2
    counter.calls.clear()
    wide = type(query)(query.at, 1e-2)
    rough = contour_integral.enclose(SAMPLED, wide, estimate(SAMPLED, wide))
    assert rough is not None
    assert 1e-6 < rough.relative_width <= 1e-2
    assert len(counter.calls) == 1
    assert max(found.lower, rough.lower) <= min(found.upper, rough.upper)
    assert contour_integral.enclose(SAMPLED, query, None) is None


def test_cells_are_planned_for_the_saddle_point_and_not_for_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line of these rounds stands at a bit more than half the order: cells were too few for it."""
    counter = Counter(monkeypatch, contour_integral, "upper_and_lower_sums")
    parts = [(PoissonRemove(0.8 + 0.006 * k, 0.015 + 6e-5 * k), 7) for k in range(40)]
    total, query = LossSum.of(parts), EpsilonAt(1e-6, 1e-5)
    first = estimate(total, query)
    assert first.contour.slope > 1.5 * first.contour.c
    found = contour_integral.enclose(total, query, first)
    assert found is not None
    assert found.relative_width <= 1e-5
    assert len(counter.calls) == 1


def test_cells_follow_the_density_of_the_sum_where_large_losses_are_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tilt alone takes three passes, the last with fourteen times the cells."""
    counter = Counter(monkeypatch, contour_integral, "upper_and_lower_sums")
    total = LossSum.of([(PoissonRemove(0.8 + 0.001 * k, 0.001 + 1e-5 * k), 1) for k in range(10)])
    query = EpsilonAt(1e-6, 1e-6)
    found = contour_integral.enclose(total, query, estimate(total, query))
    assert found is not None
    assert found.relative_width <= 2e-6
    assert len(counter.calls) <= 2
    other = lattice_sum.enclose(total, EpsilonAt(1e-6, 1e-3), None)
    assert other is not None
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


def test_gaussian_rounds_by_the_integral_are_the_closed_form() -> None:
    total = LossSum.of([(GaussianLoss(0.5), 4)])
    for query, truth in ((DeltaAt(1.5, 1e-9), float(gaussian_delta(1.0, 1.5))),):
        found = contour_integral.enclose(total, query, estimate(total, query))
        assert found is not None
        assert found.lower <= truth * (1 + 1e-12)
        assert found.upper >= truth
        assert found.relative_width <= 1e-8


def test_sums_of_exact_laws_are_one_sum() -> None:
    total = LossSum.of([(LaplaceLoss(0.3, 0.3), 9)])
    contour = estimate(total, EpsilonAt(1e-3, 1e-3)).contour
    upper, lower = upper_and_lower_sums(total, 1e-20, contour, 0.01, {})
    assert upper is lower
    pair = PoissonRemove(1.0, 0.05)
    contour = estimate(SAMPLED, EpsilonAt(1e-3, 1e-3)).contour
    upper, lower = upper_and_lower_sums(SAMPLED, 1e-20, contour, 0.01, {pair: 500.0})
    at = contour.epsilon
    assert lower.lower(at) <= upper.upper(at) <= lower.lower(at) * 1.05
    assert upper.upper(at) >= lower.upper(at) * (1 - 1e-9)


def test_convolutions_refine_until_they_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch, lattice_sum, "convolved")
    total = LossSum.of([(PoissonRemove(1.0, 0.01), 3)])
    query = DeltaAt(0.3, 1e-3)
    found = lattice_sum.refined(total, query, query.start(1.0), 0.1)
    assert found is not None
    assert found.method == "convolution, two-sided"
    assert found.relative_width <= 1e-3
    assert len(counter.calls) <= 4
    start, unit = lattice_sum._start(total, query, None)
    assert (start, unit) == (Bracket(0.0, 1.0, "coarse bound"), 0.3)
    told = estimate(total, query)
    assert lattice_sum._start(total, query, told)[1] == 1 / told.contour.c
    assert lattice_sum._start(total, DeltaAt(0.0, 1e-3), None)[1] == 1.0
    ask = EpsilonAt(1e-5, 1e-3)
    told = estimate(total, ask)
    start, unit = lattice_sum._start(total, ask, told)
    assert start.upper == unit == told.upper
    start, unit = lattice_sum._start(total, ask, None)
    assert start.upper == unit < math.inf


def upper_deltas(total: LossSum, epsilons: list[float]) -> list[float]:
    return [high for _, high in curve.DirectionCurve(total).ends(epsilons)]


def test_a_sum_serves_a_stretch_of_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch, curve, "begin")
    epsilons = np.linspace(0.5, 3.0, 26).tolist()
    found = upper_deltas(SAMPLED, epsilons)
    assert len(found) == 26
    assert 2 <= len(counter.calls) <= 8
    assert found == sorted(found, reverse=True)
    for k in (0, 13, 25):
        query = DeltaAt(epsilons[k], 1e-6)
        exact = contour_integral.enclose(SAMPLED, query, estimate(SAMPLED, query))
        assert exact is not None
        assert exact.lower <= found[k] <= exact.upper * (1 + 1e-2)
    assert upper_deltas(LossSum(()), [0.0, 1.0]) == [0.0, 0.0]
    assert curve._serves(0.5, math.log(0.5) + 2.9)
    assert curve._serves(0.5, math.log(0.5) - 2.9)
    assert not curve._serves(0.5, math.log(0.5) + 3.1)
    assert not curve._serves(0.0, 0.0)
    assert not curve._serves(1.0, 0.0)
    assert not curve._serves(0.5, math.nan)


def test_sums_that_were_made_serve_what_is_asked_later(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch, curve, "begin")
    asked = curve.DirectionCurve(SAMPLED, both=True)
    first = asked.ends(np.linspace(0.0, 3.0, 21).tolist())
    made = len(counter.calls)
    assert 2 <= made <= 6
    later = np.linspace(0.05, 2.95, 30).tolist()
    second = asked.ends(later)
    assert len(counter.calls) == made
    for epsilon, (low, high) in list(zip(later, second, strict=True))[::6]:
        query = DeltaAt(epsilon, 1e-6)
        exact = contour_integral.enclose(SAMPLED, query, estimate(SAMPLED, query))
        assert exact is not None
        assert low <= exact.upper
        assert high >= exact.lower
        assert high - low <= 1e-3 * high
    assert [high for _, high in first] == sorted((high for _, high in first), reverse=True)


def test_lattices_bound_a_curve_from_below_as_well() -> None:
    rare = LossSum.of([(PoissonRemove(1.0, 1e-3), 4)])
    for epsilon, (low, high) in zip(
        [0.01, 0.1, 0.5],
        curve.DirectionCurve(rare, both=True).ends([0.01, 0.1, 0.5]),
        strict=True,
    ):
        query = DeltaAt(epsilon, 1e-4)
        exact = lattice_sum.refined(rare, query, query.start(1.0), 0.1)
        assert exact is not None
        assert low <= exact.upper
        assert high >= exact.lower
        assert 0 < low < high <= 1.25 * low


def test_a_single_round_is_cut_once_for_all() -> None:
    pair = PoissonRemove(1.0, 0.1)
    total = LossSum.of([(pair, 1)])
    listed = exact_sum.cells(total)
    assert listed is not None
    for epsilon in (0.0, 0.1, 0.7, 2.0, 4.0):
        low, high = listed.delta(epsilon)
        shifted = mp.log(1 + (mp.exp(mpf(epsilon)) - 1) / mpf("0.1")) if epsilon else mpf(0)
        truth = mpf(0.1) * gaussian_delta(1.0, shifted)
        assert mpf(low) <= truth * (1 + mpf("1e-14"))
        assert mpf(high) >= truth * (1 - mpf("1e-14"))
        assert high - low <= (1e-4 if epsilon <= 2 else 1e-2) * high
    assert exact_sum.cells(LossSum.of([(pair, 2)])) is None
    assert exact_sum.cells(LossSum.of([(LaplaceLoss(0.3, 0.3), 1)])) is None


def test_rare_rounds_are_read_off_one_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    rare = LossSum.of([(PoissonRemove(1.0, 1e-3), 4)])
    counter = Counter(monkeypatch, curve, "convolved")
    found = upper_deltas(rare, [0.01, 0.1, 0.5])
    assert len(counter.calls) == 1
    for epsilon, value in zip([0.01, 0.1, 0.5], found, strict=True):
        query = DeltaAt(epsilon, 1e-2)
        exact = lattice_sum.refined(rare, query, query.start(1.0), 0.1)
        assert exact is not None
        assert exact.lower <= value <= exact.upper * 1.25


def test_cells_that_an_epsilon_may_fall_into_are_cut_again() -> None:
    pair = PoissonRemove(1.0, 0.1)
    edges = plan_cells(pair, pair.truncation_interval(1e-20), 1.0).edges(200)
    losses = pair.loss(edges)
    finer = _finer_between(pair, edges, 0.2, 0.3)
    first = int(np.flatnonzero((losses[1:] >= 0.2) & (losses[:-1] <= 0.3))[0])
    last = int(np.flatnonzero((losses[1:] >= 0.2) & (losses[:-1] <= 0.3))[-1]) + 1
    assert finer[: first + 1].tolist() == edges[: first + 1].tolist()
    assert finer[-(len(edges) - last) :].tolist() == edges[last:].tolist()
    assert len(finer) == first + 500 + len(edges) - last - 1
    assert np.all(np.diff(finer) > 0)
    assert _finer_between(pair, edges, 1e6, 2e6) is edges


P, Q = [0.5, 0.3, 0.2, 0.0], [0.2, 0.3, 0.4, 0.1]


def profile(p, q, epsilon: float) -> mpf:
    return mp.fsum(
        max(mpf(a) - mp.exp(mpf(epsilon)) * mpf(b), mpf(0)) for a, b in zip(p, q, strict=True)
    )


def test_curves_of_two_distributions() -> None:
    with mp.workdps(50):
        for p, q in ((P, Q), (Q, P)):
            forth = _Curve([mpf(x) for x in p], [mpf(x) for x in q])
            for epsilon in (0.0, 0.1, 0.6, 0.9, 3.0):
                assert abs(forth.delta(epsilon) - profile(p, q, epsilon)) < mpf("1e-40")
            corners = sorted(
                {mp.log(mpf(a) / mpf(b)) for a, b in zip(p, q, strict=True) if a > 0 and b > 0}
            )
            assert all(0 <= a - b <= 3e-16 for a, b in zip(forth.losses, corners, strict=True))


def test_the_larger_of_two_curves_has_their_crossings() -> None:
    one = lambda e: mpf("0.5") - mpf("0.1") * mp.exp(mpf(e))  # noqa: E731
    other = lambda e: mpf("0.45") - mpf("0.06") * mp.exp(mpf(e))  # noqa: E731
    points = _larger(one, other, [0.0, 0.5, 1.0])
    crossing = math.log(0.05 / 0.04)
    assert [e for e, _ in points] == pytest.approx([0.0, crossing, 0.5, 1.0])
    for epsilon, value in points:
        truth = max(one(epsilon), other(epsilon))
        assert truth <= value <= truth * (1 + mpf("4e-16"))


def test_laws_in_either_order_are_the_least_above_both() -> None:
    law = law_in_either_order(P, Q)
    for epsilon in (0.0, 0.2, 0.5, 0.69, 0.9, 2.0):
        truth = float(max(profile(P, Q, epsilon), profile(Q, P, epsilon)))
        low, high = law.delta(epsilon)
        assert high >= truth * (1 - 1e-15)
        assert low <= truth * (1 + 1e-12)
    pair = density_law_in_either_order(PoissonRemove(1.0, 0.2), PoissonAdd(1.0, 0.2))
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        r, k = mpf(0.2), mp.exp(mpf(epsilon))
        x = mp.log((k - 1 + r) / r) + mpf(1) / 2
        forth = (1 - r) * mp.ncdf(-x) + r * mp.ncdf(1 - x) - k * mp.ncdf(-x)
        back = mpf(0)
        if k * (1 - r) < 1:
            x = mp.log((1 / k - 1 + r) / r) + mpf(1) / 2
            back = mp.ncdf(x) - k * ((1 - r) * mp.ncdf(x) + r * mp.ncdf(x - 1))
        truth = float(max(forth, back))
        low, high = pair.delta(epsilon)
        assert truth <= high <= truth * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("stop", [3, 100])
def test_transforms_charge_what_they_lose(stop: int) -> None:
    rng = np.random.default_rng(stop)
    losses, weights = rng.normal(size=7), rng.dirichlet(np.ones(7))
    step = 0.3
    found, error = change_at_nodes(losses, weights, step, stop)
    size = 2 * 2 ** math.ceil(math.log2(stop))
    turns = losses * step / (2 * math.pi) * size
    offset = turns - np.rint(turns)
    total, unit = 0.0, 2.0**-53
    for k in range(20):
        grid = np.bincount(
            np.mod(np.rint(turns), size).astype(int), weights * offset**k, minlength=size
        )
        total += math.pi**k / math.factorial(k) * float(np.linalg.norm(grid))
    total *= 5 * unit * math.log2(size) * math.sqrt(size)
    total += (math.pi / 2) ** 20 / math.factorial(20) + unit * 120
    total += unit * 6 * math.pi * float((weights * np.abs(turns)).sum()) / size * stop
    assert error == pytest.approx(total, rel=1e-9)
    assert len(found) == stop
    moduli = moduli_at_nodes(losses, weights * 0.9, 0.1, step, stop)
    exact = np.abs(
        0.1 + np.exp(1j * np.multiply.outer(step * np.arange(stop), losses)) @ (weights * 0.9)
    )
    angle = 2 * math.pi / (4 * 2 ** math.ceil(math.log2(stop))) * np.arange(stop)
    assert np.all(moduli >= exact - 1e-15)
    assert np.all(moduli <= exact + 2 * 0.0049 * 0.9 * angle**6 + 1e-11)


def test_a_law_with_nothing_at_all() -> None:
    law = DiscreteLoss(np.zeros(0), np.zeros(0))
    assert law.supremum == 0.0
    assert law.delta(0.0) == (0.0, 0.0)


def test_a_sum_of_very_many_laws_is_enclosed_less_narrowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless somebody says how narrowly; few laws, however often, are enclosed as ever."""
    monkeypatch.setattr(enclosure, "MANY", 3)
    laws = [(PoissonRemove(1.0, 0.05 + 0.01 * k), 20) for k in range(4)]
    wide = worst_epsilon([laws], 1e-5)
    assert 1e-6 < wide.relative_width <= 1e-5
    assert worst_delta([laws], 1.0).relative_width <= 1e-5
    with enclosure.with_relative_width(1e-6):
        narrow = worst_epsilon([laws], 1e-5)
    assert narrow.relative_width <= 1e-6
    assert narrow.lower <= wide.upper
    assert wide.lower <= narrow.upper
    assert worst_epsilon([laws[:3]], 1e-5).relative_width <= 1e-6
    mechanisms = [poisson_subsampled_gaussian(1.0, 0.05 + 0.01 * k, "add-remove") for k in range(4)]
    assert compose(*mechanisms).bracket(1e-5).relative_width > 1e-6  # type: ignore[attr-defined]
    assert compose((mechanisms[0], 300)).bracket(1e-5).relative_width <= 1e-6  # type: ignore[attr-defined]
