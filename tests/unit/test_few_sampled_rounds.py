"""A few rounds that sample one record in ten: what is asked once, and that it stays right."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad
from scipy.stats import norm

from dpcalc.accounting.composition import (
    contour_integral,
    large_losses,
    lattice_sum,
    worst_delta,
    worst_epsilon,
)
from dpcalc.accounting.composition.driver import large_apart
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt
from dpcalc.accounting.contour.nodes import Nodes
from dpcalc.accounting.enclosure import Bracket, relative_width
from dpcalc.accounting.losses import fourier
from dpcalc.accounting.losses.discretisation import coarse_upper
from dpcalc.accounting.losses.fourier import change_at_nodes, moduli_at_nodes
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement
from dpcalc.guarantees import best_count, compose
from dpcalc.guarantees.as_share import delta_as_share
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian, sampled_without_replacement

FIVE = compose((sampled_without_replacement(2.0, 0.1), 5))


def test_nodes_that_fall_slowly_take_three_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that double took eight, of which each begins at the first node."""
    law = coarse_upper(WithoutReplacement(2.0, 0.1), 1e-20).tilted(0.5)
    stops: list[int] = []
    inner = type(law).log_ratio

    def counted(self, step, start, stop, uses=math.inf):
        stops.append(stop)
        return inner(self, step, start, stop, uses)

    monkeypatch.setattr(type(law), "log_ratio", counted)
    nodes = Nodes([(law, 1)], 0.5, 0.1, 1e-8)
    nodes.extend_until_negligible(60_000)
    assert nodes.count == 60_001
    assert len(stops) <= 3
    told = Nodes([(law, 1)], 0.5, 0.1, 1e-8, likely=50_000)
    told.extend(255)
    stops.clear()
    told.extend_until_negligible(60_000)
    assert stops[0] == 50_000
    both = nodes.rounding + told.rounding
    assert np.abs(nodes.values - told.values).sum() <= both


def test_one_fine_pass_follows_a_coarse_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass between the two, finer than asked for, cost as much as the last one."""
    cells: list[float] = []
    inner = large_losses._summed

    def counted(total, setting):
        cells.append(setting.cells)
        return inner(total, setting)

    monkeypatch.setattr(large_losses, "_summed", counted)
    query = EpsilonAt(1e-5, 1e-6)
    total = LossSum.of(*(FIVE.losses() or ()))
    found = large_apart(total, query, contour_integral.estimate(total, query), None)
    assert found is not None
    assert found.relative_width <= 1e-6
    # By three passes, of 400, 1250 and 3750 cells: [10.0175095, 10.0175165].
    assert found.lower <= 10.0175165
    assert found.upper >= 10.0175095
    assert len(cells) == 2


def test_a_record_in_ten_of_five_steps_asks_a_contour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large losses apart took five times as long, a lattice, which a δ asked for, ten times."""

    def never(*_: object) -> None:
        raise AssertionError("another method was asked")

    monkeypatch.setattr(lattice_sum, "enclose", never)
    monkeypatch.setattr(large_losses, "_summed", never)
    found = worst_epsilon(FIVE.losses() or (), 1e-5)
    assert found.lower <= 10.0175165  # as above
    assert found.upper >= 10.0175095
    assert found.relative_width <= 1e-6
    delta = worst_delta(FIVE.losses() or (), found.upper)
    assert delta.lower <= 1e-5 <= delta.upper * (1 + 2e-5)
    assert delta.relative_width <= 1e-6


def test_the_accuracy_of_an_attack_asks_no_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens in nearly every round decides δ(0): a contour encloses it at once."""

    def never(*_: object) -> None:
        raise AssertionError("a lattice was asked")

    monkeypatch.setattr(lattice_sum, "enclose", never)
    monkeypatch.setattr(large_losses, "_summed", never)
    five = compose((sampled_without_replacement(2 / 3, 0.1), 5))
    # 0.072906107 to 0.072906258 by convolution
    assert 0.5 + 0.072906107 / 2 <= five.attack_accuracy() <= (0.5 + 0.072906258 / 2) * (1 + 2e-6)


def test_the_accuracy_is_that_of_an_integral() -> None:
    """Two rounds of removal at one record in ten, noise 1: δ(0) as an integral over one of them."""
    rate, sigma = 0.1, 1.0

    def loss(x: float) -> float:
        return math.log1p(rate * math.expm1((2 * x - 1) / (2 * sigma**2)))

    def beyond(x: float) -> float:
        """The second round's δ at minus the first one's loss, under the first one's P."""
        odds = math.expm1(-loss(x)) / rate + 1
        at = -math.inf if odds <= 0 else sigma**2 * math.log(odds) + 0.5
        p = (1 - rate) * norm.sf(at / sigma) + rate * norm.sf((at - 1) / sigma)
        density = (1 - rate) * norm.pdf(x) + rate * norm.pdf(x - 1)
        return density * (p - math.exp(-loss(x)) * norm.sf(at / sigma))

    exact, error = quad(beyond, -12, 14, limit=500, epsabs=1e-13)
    found = compose((poisson_subsampled_gaussian(sigma, rate, "add-remove"), 2)).attack_accuracy()
    assert 0.5 + exact / 2 - error <= found <= (0.5 + exact / 2) * (1 + 1.1e-6)


@pytest.mark.parametrize(("delta", "widths"), [(0.5, [0.05, 3e-6]), (1e-8, [0.05])])
def test_no_more_digits_are_sought_than_the_sum_has(delta: float, widths: list[float]) -> None:
    asked: list[float] = []

    def enclose() -> Bracket:
        asked.append(relative_width())
        return Bracket(delta * (1 - relative_width()), delta, "as wide as asked for")

    assert delta_as_share(enclose, 1.0) == delta
    assert asked == pytest.approx(widths, rel=1e-12)


def test_nothing_is_added_twice() -> None:
    assert delta_as_share(lambda: Bracket(0.0, 0.0, "none"), 1.0) == 0.0
    ends = iter([Bracket(0.1, 0.4, "wide"), Bracket(0.2, 0.45, "wider above")])
    assert delta_as_share(lambda: next(ends), 1.0) == 0.4


def test_the_only_number_that_may_be_best_is_enclosed_narrowly_at_once() -> None:
    asked: list[tuple[float, float]] = []

    def question(value: float) -> Callable[[], Bracket]:
        def enclose() -> Bracket:
            asked.append((value, relative_width()))
            return Bracket(value * (1 - relative_width()), value, "as wide as asked for")

        return enclose

    found = best_count._least([question(value) for value in (1.0, 2.0, 3.0)])
    assert (found.lower, found.upper) == (1.0 - 1e-6, 1.0)
    assert asked == [(1.0, 0.1), (2.0, 0.1), (3.0, 0.1), (1.0, 1e-6)]
    asked.clear()
    best_count._least([question(value) for value in (1.0, 1.05)])
    assert [width for _, width in asked] == [0.1, 0.1, 1e-3, 1e-3, 1e-6]


def test_twenty_different_rounds_ask_one_contour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to draw large losses from twenty laws once took minutes, a lattice for each seconds."""

    def never(*_: object) -> None:
        raise AssertionError("another method was asked")

    monkeypatch.setattr(lattice_sum, "enclose", never)
    monkeypatch.setattr(large_losses, "_summed", never)
    parts = [
        (poisson_subsampled_gaussian(0.85 + k / 1000, 0.0105, "add-remove"), 1) for k in range(20)
    ]
    found = worst_epsilon(compose(*parts).losses() or (), 1e-6)
    assert found.relative_width <= 1e-6
    assert found.lower <= 1.2401901607  # both ends of another run, by large losses apart
    assert found.upper >= 1.2401891477


def test_too_many_ways_to_draw_large_losses_are_left_to_other_methods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = [0]

    def counted(*_: object) -> None:
        sums[0] += 1

    monkeypatch.setattr(large_losses, "summed", counted)
    for many, done in ((2, 1), (40, 0)):
        parts = [(PoissonRemove(0.85 + k / 1000, 0.001), 1) for k in range(many)]
        sums[0] = 0
        setting = large_losses._first(EpsilonAt(1e-6, 1e-2), Bracket(0.0, 0.1, ""))
        assert large_losses._summed(LossSum.of(parts), setting) is None
        assert sums[0] == done


@pytest.mark.parametrize("atoms", [1, 2, 4])
@pytest.mark.parametrize("step", [1e-4, 0.3])
def test_a_handful_of_atoms_is_evaluated_one_by_one(atoms: int, step: float) -> None:
    losses = np.array([0.7, -0.31, 1e-3, 11.5])[:atoms]
    weights = np.array([0.2, 0.3, 0.1, 1e-7])[:atoms]
    found, error = change_at_nodes(losses, weights, step, 3000)
    with mp.workdps(40):
        for n in (0, 1, 7, 2999):
            exact = mp.fsum(
                mp.mpf(float(w)) * (mp.expj(mp.mpf(step) * n * mp.mpf(float(x))) - 1)
                for w, x in zip(weights, losses, strict=True)
            )
            assert abs(mp.mpc(complex(found[n])) - exact) <= error
    assert error <= 1e-15 * (atoms + float((weights * np.abs(losses)).sum()) * step * 3000)
    moduli = moduli_at_nodes(losses, weights, 1 - float(weights.sum()), step, 3000)
    np.testing.assert_array_less(np.abs(1 + found), moduli + 1e-300)
    np.testing.assert_allclose(moduli, np.abs(1 + found), rtol=0, atol=2e-15 + 2 * error)
    _, transformed = fourier._by_bumps(losses, weights, step, 3000)
    assert error < transformed
