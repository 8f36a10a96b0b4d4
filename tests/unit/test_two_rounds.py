"""Two rounds listed: integrals over one round's loss lie within, and few cells make it narrow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import (
    DeltaCurve,
    bracket_delta,
    bracket_epsilon,
    contour_integral,
    lattice_sum,
    two_rounds,
)
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.listed_curve import ListedCurve
from dpcalc.accounting.composition.listed_losses import CutOutline, Listed, of_density
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.losses import LaplaceLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.discrete import disclosure
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement

Profile = Callable[[mp.mpf], mp.mpf]
"""δ at any real ε."""


@dataclass(frozen=True)
class Oracle:
    """A round of which a record is sampled, with noise σ and the record's contribution 1."""

    sigma: float
    rate: float
    mirrored: bool

    @property
    def loss(self) -> PrivacyLoss:
        if self.mirrored:
            return WithoutReplacement(1 / self.sigma, self.rate)
        return PoissonRemove(self.sigma, self.rate)

    def value(self, x: mp.mpf) -> mp.mpf:
        s, q = mp.mpf(self.sigma), mp.mpf(self.rate)
        return mp.log1p(q * mp.expm1((2 * x - 1) / (2 * s * s)))

    def place(self, loss: mp.mpf) -> mp.mpf | None:
        """Where the loss is that."""
        s, q = mp.mpf(self.sigma), mp.mpf(self.rate)
        odds = 1 + mp.expm1(loss) / q
        return s * s * mp.log(odds) + mp.mpf(1) / 2 if odds > 0 else None

    def delta(self, at: mp.mpf) -> mp.mpf:
        """The best test is a half-line."""
        if self.mirrored and at < 0:
            return -mp.expm1(at) + mp.exp(at) * self.delta(-at)
        x = self.place(at)
        if x is None:
            return -mp.expm1(at)
        s, q = mp.mpf(self.sigma), mp.mpf(self.rate)
        tails = mp.erfc(x / s / mp.sqrt(2)) / 2, mp.erfc((x - 1) / s / mp.sqrt(2)) / 2
        return (1 - q) * tails[0] + q * tails[1] - mp.exp(at) * tails[0]

    def mean(self, of: Profile, kinks: list[mp.mpf]) -> mp.mpf:
        """Its mean over the loss."""
        s, q = mp.mpf(self.sigma), mp.mpf(self.rate)
        half = mp.mpf(1) / 2
        places = [self.place(k) for k in kinks] + [self.place(-k) for k in kinks]
        first = half if self.mirrored else -16 * s
        marks = {k * s for k in range(-16, 17, 2)} | {1 + k * s for k in range(-16, 17, 2)}
        marks |= {x + j * s / 8 for x in places if x is not None for j in (-8, -1, 0, 1, 8)}
        inside = [first, *sorted(x for x in marks if first < x < 1 + 16 * s)]

        def density(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
            without = mp.npdf(x, 0, s)
            return (1 - q) * without + q * mp.npdf(x, 1, s), without

        def term(x: mp.mpf) -> mp.mpf:
            p, without = density(x)
            loss = self.value(x)
            return p * of(loss) + (without * of(-loss) if self.mirrored else 0)

        found = mp.quadgl(term, inside, maxdegree=5)
        if self.mirrored:
            tails = mp.erfc(half / s / mp.sqrt(2)) / 2, mp.erfc(-half / s / mp.sqrt(2)) / 2
            found += (1 - (2 - q) * tails[0] - q * tails[1]) * of(mp.mpf(0))
        return found

    def with_other(self, other: Oracle) -> Profile:
        """δ of both; that of the other one has a corner at 0 or is all but one below ln(1 - q)."""
        corner = mp.mpf(0) if other.mirrored else mp.log1p(-mp.mpf(other.rate))
        return lambda at: self.mean(
            lambda loss: other.delta(at - loss), [at, at - corner, mp.mpf(0)]
        )


def batch(sigma: float, rate: float) -> Oracle:
    return Oracle(sigma, rate, mirrored=True)


def sampled(sigma: float, rate: float) -> Oracle:
    return Oracle(sigma, rate, mirrored=False)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("one", "other", "epsilon"),
    [
        (batch(0.5, 0.1), None, 0.0),
        (batch(0.5, 0.1), None, 7.7),
        (batch(0.5, 0.01), None, 21.2),
        (batch(0.25, 0.001), None, 10.6),
        (batch(1.5, 0.1), None, 5.2),
        (batch(30.0, 1e-4), None, 1e-5),
        (batch(0.05, 1e-3), None, 150.0),
        (sampled(1.0, 0.1), None, 0.4),
        (sampled(0.06, 0.7), None, 200.0),
        (sampled(20.0, 1e-7), None, 2e-8),
        (sampled(1.0, 0.1), sampled(0.4, 0.003), 2.0),
        (batch(0.5, 0.1), sampled(2.0, 0.3), 1.0),
    ],
)
def test_delta_is_an_integral_over_one_round(
    one: Oracle, other: Oracle | None, epsilon: float
) -> None:
    parts = [(one.loss, 2)] if other is None else [(one.loss, 1), (other.loss, 1)]
    found = bracket_delta(parts, epsilon)
    with mp.workdps(30):
        exact = one.with_other(other or one)(mp.mpf(epsilon))
        assert exact > 0
        assert found.lower <= exact <= found.upper
    assert found.relative_width <= 1e-6
    assert found.method == two_rounds.METHOD


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("one", "delta"),
    [
        (batch(0.5, 0.1), 1e-25),
        (batch(2.0, 0.1), 1e-5),
        (batch(0.25, 0.001), 1e-12),
        (sampled(0.1, 0.01), 1e-25),
        (sampled(50.0, 0.01), 1e-9),
    ],
)
def test_epsilon_is_where_the_integral_crosses_delta(one: Oracle, delta: float) -> None:
    found = bracket_epsilon([(one.loss, 2)], delta)
    with mp.workdps(30):
        exact = one.with_other(one)
        assert exact(mp.mpf(found.lower)) >= delta >= exact(mp.mpf(found.upper))
    assert 0 < found.relative_width <= 1e-6
    assert found.method == two_rounds.METHOD


def test_outcomes_are_the_other_round() -> None:
    """Answers, one of which is the other one, and everything revealed now and then."""
    one, e, delta = sampled(0.7, 0.05), 1.5, 1e-4
    parts = [
        (one.loss, 1),
        (RandomisedResponseLoss.of({e: 2}), 1),
        (disclosure(delta), 1),
    ]
    with mp.workdps(30):
        odds = mp.exp(-mp.mpf(e))
        for epsilon in (0.0, 1.0, 3.0, 5.0):
            rest = mp.fsum(
                mp.binomial(2, k)
                * odds**k
                / (1 + odds) ** 2
                * one.delta(epsilon - (2 - 2 * k) * mp.mpf(e))
                for k in range(3)
            )
            found = bracket_delta(parts, epsilon)
            assert found.lower <= delta + (1 - mp.mpf(delta)) * rest <= found.upper
            assert found.relative_width <= 1e-6
            assert found.method == two_rounds.METHOD


def test_laplace_noise_next_to_a_batch() -> None:
    one, e = batch(1.0, 0.02), mp.mpf(0.7)
    for epsilon in (0.0, 0.4, 1.5):
        found = bracket_delta([(one.loss, 1), (LaplaceLoss(0.7, 0.7), 1)], epsilon)
        with mp.workdps(25):
            at = mp.mpf(epsilon)
            kinks = sorted({-e, e, *(k for k in (at, at - 0.1, at + 0.1) if -e < k < e)})
            between = mp.quad(lambda x, at=at: mp.exp((x - e) / 2) / 4 * one.delta(at - x), kinks)
            exact = (one.delta(at - e) + mp.exp(-e) * one.delta(at + e)) / 2 + between
            assert found.lower <= exact <= found.upper
        assert found.relative_width <= 1e-6
        assert found.method == two_rounds.METHOD


@pytest.mark.parametrize("reach", [1.0, 50.0, 2500.0])
def test_delta_of_a_list_at_every_real_argument(reach: float) -> None:
    """Against sums of sixty digits, at values, between them and beyond, over several spans."""
    rng = np.random.default_rng(3)
    losses = np.concatenate([rng.uniform(-reach, reach, 120), [0.25, 0.25]])
    masses = rng.dirichlet(np.ones(len(losses))) * 0.99
    curve = ListedCurve.of(Listed(losses, masses, np.zeros(len(losses)), 1e-3), 1)
    assert np.array_equal(curve.losses, np.sort(losses))
    places = np.concatenate([losses[:20], rng.uniform(-1.2 * reach, 1.2 * reach, 30), [0.25, 0.0]])
    with mp.workdps(60):
        for place, value in zip(places.tolist(), curve.at(places).tolist(), strict=True):
            exact = mp.mpf(1e-3) + mp.fsum(
                mp.mpf(m) * -mp.expm1(mp.mpf(place) - mp.mpf(loss))
                for loss, m in zip(losses.tolist(), masses.tolist(), strict=True)
                if loss > place
            )
            assert abs(value - exact) <= curve.slack / 2 * exact
    assert curve.slack < 1e-11


def test_values_are_moved_by_what_they_may_be_off_by() -> None:
    listed = Listed(np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.array([0.125, 0.25]), 0.0)
    assert ListedCurve.of(listed, 1).losses.tolist() == [0.125, 1.25]
    assert ListedCurve.of(listed, -1).losses.tolist() == [-0.125, 0.75]


def test_many_places_share_their_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    one = batch(0.5, 0.01)
    made: list[float] = []
    inner = two_rounds._refined

    def counted(units, query):
        made.append(query.at)
        return inner(units, query)

    monkeypatch.setattr(two_rounds, "_refined", counted)
    epsilons = np.linspace(0.0, 12.0, 120).tolist()
    ends = DeltaCurve.of([[(one.loss, 2)]], both=True).ends(epsilons)
    assert len(made) <= 12
    assert max((high - low) / high for low, high in ends) <= 1e-4
    with mp.workdps(25):
        for k in (0, 119):
            exact = one.with_other(one)(mp.mpf(epsilons[k]))
            assert ends[k][0] <= exact <= ends[k][1]


def test_beyond_the_largest_losses_lists_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    curve = two_rounds.curve(LossSum.of([(sampled(30.0, 1e-5).loss, 2)]))
    assert curve is not None
    low, high = curve.delta(1.0)
    assert low == 0 < high <= 1e-279

    def never(*_: object) -> None:
        raise AssertionError("lists were made")

    monkeypatch.setattr(two_rounds, "_refined", never)
    assert curve.delta(2.0) == (low, high)


def test_the_accuracy_of_an_attack_on_two_rounds_takes_few_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A contour and a lattice, one after the other, took seconds, and ended forty times wider."""

    def never(*_: object) -> None:
        raise AssertionError("another method was asked")

    for method in (contour_integral, lattice_sum):
        monkeypatch.setattr(method, "enclose", never)
    cells: list[int] = []
    inner = two_rounds.TwoLists.finer

    def counted(self, epsilon, share):
        found = inner(self, epsilon, share)
        cells.append(0 if found is None else found.outlines[0].cells)
        return found

    monkeypatch.setattr(two_rounds.TwoLists, "finer", counted)
    for sigma, rate in ((0.5, 0.1), (0.5, 0.01), (0.25, 0.001), (1.5, 0.1)):
        cells.clear()
        found = bracket_delta([(batch(sigma, rate).loss, 2)], 0.0)
        assert found.relative_width <= 1e-6
        assert 0 < len(cells) <= 3
        assert max(cells) <= 2000


def test_cells_are_cut_where_wanted_and_where_integrals_need_them() -> None:
    (made,) = rounds_of([(PoissonRemove(0.5, 0.01), 1)]) or []
    begun = of_density(made, 1e-20)
    assert isinstance(begun, CutOutline)
    wanted = np.zeros(begun.cells)
    wanted[40:50] = 30.0
    cut = begun.recut(wanted)
    assert isinstance(cut, CutOutline)
    assert cut.edges[[0, -1]].tolist() == begun.edges[[0, -1]].tolist()
    assert 300 <= ((cut.edges >= begun.edges[40]) & (cut.edges <= begun.edges[50])).sum() <= 330
    assert cut.cells < begun.cells + 300  # fewer elsewhere
    pair = made.pair
    assert pair is not None
    width = np.minimum(pair.max_cell_width(cut.edges[1:]), pair.max_cell_width(cut.edges[:-1]))
    assert (np.diff(cut.edges) <= 1.05 * width).all()


def test_what_cells_leave_open_is_what_both_lists_differ_by() -> None:
    """Even where a cell's losses span a power of ten, and where both rounds' edges coincide."""
    parts = [(PoissonRemove(0.778, 2.4e-7), 1), (WithoutReplacement(3.6, 7.4e-9), 1)]
    for losses, epsilon in (
        ([*parts], 0.0),
        ([(batch(0.35, 0.0264).loss, 2)], 0.0),
        ([*parts], 4.0),
    ):
        units = two_rounds._two(LossSum.of(losses))
        assert units is not None
        sums = two_rounds._begun(units, DeltaAt(epsilon, 1e-6))
        left = [float(sums._open(epsilon, k).sum()) for k in (0, 1)]
        assert sum(left) == pytest.approx(sums.upper(epsilon) - sums.lower(epsilon), rel=1e-2)


def test_other_sums_are_left_to_other_methods() -> None:
    batch_, response = batch(0.5, 0.1).loss, RandomisedResponseLoss.of({1.0: 1})
    for parts in (
        [(batch_, 3)],
        [(batch_, 1)],
        [(batch_, 2), (response, 1)],
        [(response, 2)],
    ):
        assert two_rounds._two(LossSum.of(parts)) is None
    for parts in itertools.permutations([(batch_, 1), (response, 1)]):
        assert two_rounds._two(LossSum.of(parts)) is not None
    assert math.isfinite(bracket_epsilon([(batch_, 1), (response, 1)], 1e-5).upper)
