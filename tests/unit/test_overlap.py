"""What the laws of all rounds have in common bounds δ from below, never above the truth."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpcalc import GDP, compose, mechanisms
from dpcalc.accounting.composition import overlap
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, LaplaceLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.privacy_profile import law_from_distributions
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)

ORDERS = overlap._orders()


def gaussian(mu: float, t: mp.mpf) -> mp.mpf:
    return -t * (1 - t) * mp.mpf(mu) ** 2 / 2


def response(epsilon: float, t: mp.mpf) -> mp.mpf:
    e = mp.mpf(epsilon)
    p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
    return mp.log(p ** (1 - t) * q**t + q ** (1 - t) * p**t)


def laplace(epsilon: float, t: mp.mpf) -> mp.mpf:
    """Both outer parts, and what lies between the two middles."""
    e = mp.mpf(epsilon)
    outer = (mp.exp(-t * e) + mp.exp(-(1 - t) * e)) / 2
    inner = (mp.exp(-t * e) - mp.exp(-(1 - t) * e)) / (1 - 2 * t) / 2
    return mp.log(outer + inner)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.03, 0.7, 1.0, 4.0, 60.0, 900.0])
def test_of_one_round_is_never_below_sixty_digits_and_next_to_them(size: float) -> None:
    for loss, truth in (
        (GaussianLoss(size), gaussian),
        (RandomisedResponseLoss.of({size: 1}), response),
        (LaplaceLoss(size, size), laplace),
    ):
        found = overlap.log_overlaps(LossSum(((loss, 1),)), False)
        with mp.workdps(80):
            for k in (0, 7, 20, 27, 28, 40, 55):
                exact = truth(size, mp.mpf(float(ORDERS[k])))
                assert exact <= float(found[k]), (loss, k)
                assert size < 1e-6 or float(found[k]) <= exact * (1 - mp.mpf("1e-6")), (loss, k)


def test_of_tables_is_that_of_their_sums() -> None:
    draw = np.random.default_rng(2)
    for _ in range(30):
        p, q = draw.dirichlet(np.ones(4)).tolist(), draw.dirichlet(np.ones(4)).tolist()
        found = overlap.log_overlaps(LossSum(((law_from_distributions(p, q), 1),)), False)
        with mp.workdps(60):
            p, q = ([mp.mpf(x) / mp.fsum(map(mp.mpf, side)) for x in side] for side in (p, q))
            for k in (0, 20, 33, 55):
                t = mp.mpf(float(ORDERS[k]))
                exact = mp.log(
                    mp.fsum(x ** (1 - t) * y**t for x, y in zip(p, q, strict=True) if x > 0)
                )
                assert exact <= float(found[k]) <= exact + mp.mpf("1e-12")


def mixture(parts: list[tuple[float, float]], sigma: float, x: Reals) -> Reals:
    each = [w * np.exp(-(((x - u) / sigma) ** 2) / 2) for w, u in parts]
    return np.sum(each, axis=0) / sigma / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("sigma", "rate"), [(0.3, 0.2), (1.0, 0.01), (2.0, 0.5)])
def test_of_sampled_noise_is_above_the_integral(sigma: float, rate: float) -> None:
    """By cells it is next to it; by the parts of the mixtures above it."""
    out, record, other = (1 - rate, 0.0), (rate, 1.0), (rate, -1.0)
    pairs: list[tuple[PrivacyLoss, list[tuple[float, float]], list[tuple[float, float]]]] = [
        (PoissonRemove(sigma, rate), [out, record], [(1.0, 0.0)]),
        (PoissonAdd(sigma, rate), [(1.0, 0.0)], [out, other]),
        (PoissonReplace(sigma, rate), [out, record], [out, other]),
    ]
    for loss, above, below in pairs:
        total = LossSum(((loss, 1),))
        close, parts = overlap.log_overlaps(total, True), overlap.log_overlaps(total, False)
        x = np.linspace(-1 - 12 * sigma, 1 + 12 * sigma, 20_001)
        p, q = mixture(above, sigma, x), mixture(below, sigma, x)
        for k in (18, 28, 37):
            exact = math.log((p ** (1 - ORDERS[k]) * q ** ORDERS[k]).sum() * (x[1] - x[0]))
            assert exact - 1e-13 <= close[k] <= min(parts[k], 0.95 * exact)


def test_noise_of_next_to_no_size_takes_apart_what_is_sampled() -> None:
    """No cells can follow it; the parts of the mixtures do not meet."""
    for rate in (0.5, 1e-12):
        for loss in (PoissonRemove(1e-3, rate), PoissonReplace(1e-3, rate)):
            found = overlap.log_overlaps(LossSum(((loss, 1),)), True)
            assert found[20] == pytest.approx(
                math.log1p(-rate) * (1 - ORDERS[20] * isinstance(loss, PoissonRemove)), rel=0.02
            )
    assert not overlap.log_overlaps(LossSum(((PoissonRemove(1.0, 1.0), 1),)), False).any()


@pytest.mark.parametrize(
    "loss",
    [
        GaussianLoss(0.3),
        RandomisedResponseLoss.of({0.5: 3}),
        LaplaceLoss(0.4, 0.4),
        PoissonRemove(0.8, 0.2),
        PoissonAdd(0.8, 0.2),
        PoissonReplace(0.8, 0.2),
        WithoutReplacement(1.5, 0.2),
        DiscreteLoss(np.array([1.0, -0.5]), np.array([0.3, 0.18])),
    ],
)
def test_bounds_are_below_what_is_enclosed(loss: PrivacyLoss) -> None:
    """And of the same size where many rounds tell much."""
    from dpcalc.accounting.composition import bracket_delta, bracket_epsilon

    for rounds in (1, 400):
        total = LossSum.of([(loss, rounds)])
        for epsilon in (0.0, 2.0):
            truth = bracket_delta([(loss, rounds)], epsilon)
            assert overlap.least_delta(total, epsilon) <= truth.upper
        for delta in (1e-6, 0.5):
            enclosed = bracket_epsilon([(loss, rounds)], delta)
            assert overlap.least_epsilon(total, delta) <= enclosed.upper
    assert overlap.least_delta(total, 0.0) > 0.9
    assert overlap.least_epsilon(total, 0.1) > 0.2 * bracket_epsilon([(loss, 400)], 0.1).lower
    assert overlap.least_epsilon(total, 1.0) == 0.0


def test_the_far_ends_of_the_doubles() -> None:
    """A sampled record is told as surely at every ε that orders reach: the least is some 1e-6."""
    large: list[tuple[PrivacyLoss, float]] = [
        (PoissonRemove(1e-300, 0.1), 1e10),
        (GaussianLoss(1e200), 1e300),
        (LaplaceLoss(1e300, 1e300), 1e300),
    ]
    for loss, least in large:
        total = LossSum(((loss, 10**6),))
        assert least < overlap.least_epsilon(total, 1e-6) < math.inf
        assert 1 - 1e-15 <= overlap.least_delta(total, 0.0) <= 1.0
    for loss in (GaussianLoss(1e-200), PoissonReplace(1.0, 1e-290), LaplaceLoss(1e-300, 1e-300)):
        assert overlap.least_epsilon(LossSum(((loss, 1),)), 1e-300) == 0.0
        assert overlap.least_delta(LossSum(((loss, 1),)), 0.0) < 1e-289


def test_a_bound_that_forgets_epsilon_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = overlap.log_overlaps
    total = LossSum.of([(GaussianLoss(1.0), 1)])
    truth = GDP(1.0).delta(1.0)
    assert overlap.least_delta(total, 1.0) <= truth
    monkeypatch.setattr(
        overlap, "log_overlaps", lambda total, cells: honest(total, cells) - ORDERS * 2.0
    )
    assert overlap.least_delta(total, 1.0) > truth


def test_many_telling_rounds_are_known_to_tell_as_good_as_all() -> None:
    """A lower end of 0 stood next to 1, after seconds."""
    for adjacency in ("add-remove", "replace-one"):
        table = mechanisms.finite_distributions([0.9, 0.1], [0.1, 0.9], adjacency)
        found = compose((table, 10**6), (GDP(0.05), 7))
        assert found.delta_bracket(1.0).lower > 1 - 2e-15  # type: ignore[attr-defined]
        (curve,) = found.tradeoff_brackets([0.1])
        assert curve.upper < 1e-14


def test_noise_that_no_cells_follow_has_a_lower_end() -> None:
    """Three of four rounds part what is sampled: at least 7/8 of all outcomes tell."""
    sampled = mechanisms.poisson_subsampled_gaussian(1e-2, 0.5, "replace-one")
    found = compose((sampled, 3), (GDP(1), 1))
    for epsilon in (0.0, 3.0):
        bracket = found.delta_bracket(epsilon)  # type: ignore[attr-defined]
        assert 0.874 < bracket.lower <= 1 - (1 - GDP(1).delta(epsilon)) / 8 <= bracket.upper


def test_one_large_loss_tells_as_much_as_its_probabilities_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against the same test by the normal law: x above a place that the record reaches."""
    rounds, rate, sigma = 10**9, 1e-9, 0.1
    total = LossSum.of([(PoissonRemove(sigma, rate), rounds)])
    found = overlap.one_round_tells(total, 5.0)
    with mp.workdps(60):
        best = mp.mpf(0)
        for x in np.linspace(0.3, 1.2, 91):
            place, q = mp.mpf(float(x)) / sigma, mp.mpf(rate)
            out, near = mp.ncdf(-place), mp.ncdf(1 / mp.mpf(sigma) - place)
            above = 1 - (1 - (1 - q) * out - q * near) ** rounds
            best = max(best, above - mp.exp(5) * (1 - (1 - out) ** rounds))
    assert 0.95 * best <= found <= best * (1 + mp.mpf("1e-4"))
    assert overlap.one_round_tells(total, 601.0) == 0.0
    assert overlap.one_round_tells(LossSum.of([(GaussianLoss(1.0), 1)]), 0.0) == 0.0
    monkeypatch.setattr(overlap, "_ROOM", -1e-2)
    law = DiscreteLoss(np.array([1.0, -1.0]), np.array([math.e, 1.0]) / (1 + math.e))
    assert overlap.one_round_tells(LossSum(((law, 1),)), 0.5) > law.delta(0.5)[1]


def test_a_curve_is_asked_no_further_than_its_lines_matter() -> None:
    """Half a minute went to ε up to 700, of which the rate asks for those up to 2.3."""
    sampled = mechanisms.poisson_subsampled_gaussian(0.05, 1e-12, "add-remove")
    found = compose((sampled, 10**12))
    (curve,) = found.tradeoff_brackets([0.1])
    missed = math.exp(-1) - 0.1  # who sees a record that was drawn, and flips a coin else
    assert curve.lower <= missed <= curve.upper
    assert curve.upper - curve.lower < 1e-6
    assert found.delta_bracket(80.0).relative_width < 1e-3  # type: ignore[attr-defined]
