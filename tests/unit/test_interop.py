"""dp-accounting's events, read and written; skipped where it is not installed."""

from __future__ import annotations

import sys

import pytest

from dpcalc.accountant import Accountant
from dpcalc.errors import InvalidInput, MissingExtra
from dpcalc.guarantees import GDP, ZCDP, PureDP, compose
from dpcalc.guarantees.mechanisms import laplace, poisson_subsampled_gaussian
from dpcalc.interop.dp_accounting import event_of, guarantee_of
from dpcalc.vocabulary import Adjacency


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match="pip install"):
        event_of(Accountant())


@pytest.fixture
def events():
    return pytest.importorskip("dp_accounting").dp_event


def test_events_become_the_guarantees_they_describe(events) -> None:
    sampled = events.PoissonSampledDpEvent(0.01, events.GaussianDpEvent(1.0))
    event = events.ComposedDpEvent(
        [events.SelfComposedDpEvent(sampled, 100), events.LaplaceDpEvent(2.0), events.NoOpDpEvent()]
    )
    expected = compose(
        [
            (poisson_subsampled_gaussian(1.0, 0.01, "add-remove"), 100),
            (laplace(2.0, "add-remove"), 1),
        ]
    )
    assert guarantee_of(event).epsilon(1e-5) == expected.epsilon(1e-5)
    assert guarantee_of(events.GaussianDpEvent(2.0)) == GDP(0.5)
    assert guarantee_of(events.ZCDpEvent(0.3)) == ZCDP(0.3)
    half = guarantee_of(events.RandomizedResponseDpEvent(0.5, 2))
    assert isinstance(half, PureDP)
    assert half.bound == pytest.approx(1.0986122886681098)  # ln 3


def test_sampling_without_replacement_is_read_for_replacing_a_record(events) -> None:
    event = events.SampledWithoutReplacementDpEvent(1000, 10, events.GaussianDpEvent(4.0))
    assert guarantee_of(event, Adjacency.REPLACE_ONE).epsilon(1e-5) > 0
    with pytest.raises(InvalidInput, match="replace-one"):
        guarantee_of(event)


def test_what_has_no_guarantee_is_refused_by_name(events) -> None:
    with pytest.raises(InvalidInput, match="NonPrivate"):
        guarantee_of(events.NonPrivateDpEvent())
    with pytest.raises(InvalidInput, match="Gaussian noise"):
        guarantee_of(events.PoissonSampledDpEvent(0.1, events.LaplaceDpEvent(1.0)))


def test_an_accountant_survives_the_round_trip_and_the_peer_agrees(events) -> None:
    step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.0, "rate": 0.01}
    accountant = Accountant(8.0, 1e-5).spend(step, 1000).spend(ZCDP(0.0)).spend(GDP(0.1), 3)
    event = event_of(accountant)
    assert guarantee_of(event).epsilon(1e-5) == pytest.approx(accountant.epsilon_spent(), rel=1e-9)
    gaussian = Accountant().spend(step, 1000).spend(GDP(0.1), 3)
    from dp_accounting.pld import PLDAccountant

    peer = PLDAccountant().compose(event_of(gaussian)).get_epsilon(1e-5)
    assert peer == pytest.approx(gaussian.epsilon_spent(1e-5), rel=1e-3)


def test_releases_without_an_event_are_refused() -> None:
    pytest.importorskip("dp_accounting")
    with pytest.raises(InvalidInput, match="no event"):
        event_of(Accountant().spend(PureDP(0.5)))
