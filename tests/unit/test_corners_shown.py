"""Divergences of bare bounds, and the corners they show: each against its definition in fifty digits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.guarantees import GDP, RDP, ZCDP, Guarantee, PureDP
from dpcalc.guarantees.bare_orders import at_most_loss, bare_divergences, up
from dpcalc.guarantees.renyi_profile import corners, renyi_pair
from dpcalc.guarantees.through_renyi import ApproximateRDP

ORDERS = np.sort(np.append(1 + np.geomspace(1e-6, 1e6, 60), [1.5, 2.0, 4.0, 32.0]))
POINTS = {1.5: 0.001, 4.0: 0.01, 32.0: 0.25}
Divergence = Callable[[mpf], mpf]


def response(bound: float) -> Divergence:
    """Of randomised response, no release of a bounded loss has a larger one."""

    def divergence(a: mpf) -> mpf:
        e = mpf(bound)
        p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
        return mp.log1p(p * mp.expm1((a - 1) * e) + q * mp.expm1((1 - a) * e)) / (a - 1)

    return divergence


def chords(points: dict[float, float]) -> Divergence:
    """Of (α-1)β(α) between neighbouring orders; below the first as at the first; none beyond."""
    known = sorted((mpf(a), mpf(b)) for a, b in points.items())

    def divergence(a: mpf) -> mpf:
        if a > known[-1][0]:
            return mp.inf
        if a <= known[0][0]:
            return known[0][1]
        k = next(k for k, (order, _) in enumerate(known) if order >= a)
        (left, low), (right, high) = known[k - 1], known[k]
        share = (a - left) / (right - left)
        return ((1 - share) * (left - 1) * low + share * (right - 1) * high) / (a - 1)

    return divergence


BARE: list[tuple[Guarantee, Divergence]] = [
    (ZCDP(0.02), lambda a: a * mpf(0.02)),
    (ZCDP(1e-7), lambda a: a * mpf(1e-7)),
    (ZCDP(7.0), lambda a: a * mpf(7)),
    (GDP(0.3), lambda a: a * mpf(0.3) ** 2 / 2),
    (PureDP(0.2), response(0.2)),
    (PureDP(3.0), response(3.0)),
    (RDP.from_points(POINTS), chords(POINTS)),
    (RDP(lambda order: 0.01 * order**1.5 * (1 + 1e-14)), lambda a: mpf(0.01) * a ** mpf(1.5)),
]


@pytest.mark.parametrize(("bare", "exact"), BARE)
def test_divergences_are_next_to_their_definition_and_not_below(
    bare: Guarantee, exact: Divergence
) -> None:
    found = bare_divergences(bare, ORDERS)
    with mp.workdps(50):
        for order, value in zip(ORDERS.tolist(), found.tolist(), strict=True):
            truth = exact(mpf(order))
            assert truth <= value
            assert value <= truth * (1 + mpf("1e-6"))


def test_three_units_are_added_and_no_loss_is_above_the_largest() -> None:
    assert up(np.array([1.0]))[0] == 1 + 3 * 2**-52
    found = at_most_loss(0.5, np.array([0.25, 4.0]), np.array([2.0, 3.0]))
    assert 0.25 < found[0] < 0.25 * (1 + 1e-15)
    assert found[1] == 0.5


SHOWN = [(bare, exact) for bare, exact in BARE if not isinstance(bare, GDP | PureDP)]


@pytest.mark.parametrize(("bare", "exact"), SHOWN)
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("failure", [0.0, 1e-3])
def test_every_corner_is_shown_by_its_order(
    bare: Guarantee, exact: Divergence, count: int, failure: float
) -> None:
    """Or by Pinsker's inequality at ε = 0; and no other order says more by much."""
    part = ApproximateRDP(bare, failure) if failure else bare  # type: ignore[arg-type]
    points = corners([(part, count)])
    assert points[0][0] == 0
    with mp.workdps(50):
        failed = 1 - (1 - mpf(failure)) ** count
        for place, (epsilon, delta, order) in enumerate(points):
            truth = _shown(exact, count, mpf(order), mpf(epsilon))
            if place == 0:
                truth = min(truth, mp.sqrt(count * exact(mpf(order)) / 2))
            least = failed + (1 - failed) * truth
            assert least <= delta
            assert delta <= least * (1 + mpf("1e-9"))
        for epsilon, delta, order in points[1::90]:
            for other in (1 + (order - 1) * 0.9, 1 + (order - 1) * 1.1):
                truth = failed + (1 - failed) * _shown(exact, count, mpf(other), mpf(epsilon))
                assert delta <= truth * (1 + mpf("1e-3"))


def _shown(exact: Divergence, count: int, a: mpf, epsilon: mpf) -> mpf:
    """Canonne, Kamath and Steinke 2020, proposition 12."""
    exponent = (a - 1) * (count * exact(a) - epsilon)
    return min(mp.exp(exponent + a * mp.log1p(-1 / a)) / (a - 1), mpf(1))


def test_corners_begin_at_the_top_and_go_down_far() -> None:
    """A tenth apart in ln δ up to e^-80."""
    points = corners([(ZCDP(0.5), 1)])
    logs = np.log([delta for _, delta, _ in points])
    assert logs[0] <= 0
    assert logs[-1] == pytest.approx(-660, abs=1)
    assert (np.diff(logs[1:]) < 0).all()  # after what Pinsker's inequality shows at zero
    above = logs[(logs > -80) & (logs < -2)]
    assert np.diff(above).min() > -0.11
    gaps = np.diff([epsilon for epsilon, _, _ in points])
    assert (gaps >= 0).all()


def test_the_profile_is_the_last_corner_at_or_before_an_epsilon() -> None:
    points = corners([(ZCDP(0.02), 3)])
    found = renyi_pair([(ZCDP(0.02), 3)])
    for epsilon, delta, _ in points[5::200]:
        assert found.delta(epsilon) == delta
        assert found.delta(math.nextafter(epsilon, 0.0)) > delta
    losses = found.losses()
    assert losses is not None
    [[(law, count)]] = losses
    assert count == 1
    for epsilon, delta, _ in points[60::200]:  # past the chord from what is shown at zero
        assert law.delta(epsilon)[1] >= delta  # type: ignore[attr-defined]


def test_chords_of_divergences_that_are_no_normal_doubles() -> None:
    points = {2.0: 5e-324, 5.0: 1e-323, 9.0: 1.5e-322}
    orders = np.linspace(2, 9, 29)
    found = bare_divergences(RDP.from_points(points), orders)
    with mp.workdps(50):
        exact = chords(points)
        for order, value in zip(orders.tolist(), found.tolist(), strict=True):
            assert exact(mpf(order)) <= value <= exact(mpf(order)) + 1e-322
