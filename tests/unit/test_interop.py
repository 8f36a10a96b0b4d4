"""dp-accounting's events, read and written."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accountant import Accountant
from dpcalc.errors import InvalidInput, MissingExtra
from dpcalc.guarantees import GDP, ZCDP, PureDP, compose
from dpcalc.guarantees.mechanisms import laplace, poisson_subsampled_gaussian
from dpcalc.interop.dp_accounting import event_of, guarantee_of
from tests.oracles import exact

events = pytest.importorskip("dp_accounting").dp_event

ADD, REPLACE = "add-remove", "replace-one"


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match="pip install"):
        event_of(Accountant())


def gaussian_epsilon(mu: str, delta: str) -> Any:
    """ε(δ) of N(μ, 1) against N(0, 1), bisected in fifty digits."""
    with mp.workdps(50):
        low, high = mpf(0), mpf(100)
        for _ in range(150):
            middle = (low + high) / 2
            if exact.gaussian_delta(mpf(mu), middle, 50) > mpf(delta):
                low = middle
            else:
                high = middle
        return high


@pytest.mark.parametrize(("adjacency", "mu"), [(ADD, "1"), (REPLACE, "2")])
def test_unsampled_noise_is_relative_to_one_records_norm(adjacency: str, mu: str) -> None:
    expected = float(gaussian_epsilon(mu, "1e-6"))
    assert expected == pytest.approx({"1": 4.8866, "2": 10.9972}[mu], abs=5e-5)
    gaussian = events.GaussianDpEvent(1.0)
    found = guarantee_of(gaussian, adjacency).epsilon(1e-6)
    assert found == pytest.approx(expected, rel=1e-12)
    sampled = guarantee_of(events.PoissonSampledDpEvent(1.0, gaussian), adjacency)
    assert sampled.epsilon(1e-6) == found
    assert guarantee_of(events.LaplaceDpEvent(4.0), adjacency).epsilon(0.0) == float(mu) / 4


def test_sampling_everything_without_replacement_is_no_sampling() -> None:
    gaussian = events.GaussianDpEvent(4.0)
    event = events.SampledWithoutReplacementDpEvent(10, 10, gaussian)
    expected = float(gaussian_epsilon("0.5", "1e-6"))
    assert guarantee_of(event, REPLACE).epsilon(1e-6) == pytest.approx(expected, rel=1e-12)


def test_events_become_the_guarantees_they_describe() -> None:
    sampled = events.PoissonSampledDpEvent(0.01, events.GaussianDpEvent(1.0))
    event = events.ComposedDpEvent(
        [events.SelfComposedDpEvent(sampled, 100), events.LaplaceDpEvent(2.0), events.NoOpDpEvent()]
    )
    expected = compose((poisson_subsampled_gaussian(1.0, 0.01, ADD), 100), laplace(2.0, ADD))
    assert guarantee_of(event, ADD).epsilon(1e-5) == expected.epsilon(1e-5)
    assert guarantee_of(events.GaussianDpEvent(2.0), ADD) == GDP(0.5)
    assert guarantee_of(events.ZCDpEvent(0.3), REPLACE) == ZCDP(0.3)
    half = guarantee_of(events.RandomizedResponseDpEvent(0.5, 2), REPLACE)
    assert isinstance(half, PureDP)
    assert half.bound == pytest.approx(1.0986122886681098)  # ln 3


@pytest.mark.parametrize("count", [2, 2.0, np.int64(2), np.float32(2)])
def test_whole_numbers_are_counts(count: Any) -> None:
    event = events.SelfComposedDpEvent(events.GaussianDpEvent(1.0), count)
    expected = float(gaussian_epsilon("1.41421356237309504880168872420969807857", "1e-6"))
    assert guarantee_of(event, ADD).epsilon(1e-6) == pytest.approx(expected, rel=1e-12)


NOT_COUNTS = [1.9, 0.9, -1, "3", True, None, math.nan, math.inf, [2], 1 + 0j, np.array([1, 2])]
NOT_NOISE = [0.0, -1.0, "1", True, None, math.nan, math.inf, [1], 10**400]


@pytest.mark.parametrize("count", NOT_COUNTS, ids=repr)
def test_other_counts_and_sizes_are_refused(count: Any) -> None:
    gaussian = events.GaussianDpEvent(1.0)
    for event in (
        events.SelfComposedDpEvent(gaussian, count),
        events.SampledWithoutReplacementDpEvent(count, 1, gaussian),
        events.SampledWithoutReplacementDpEvent(1000, count, gaussian),
        events.RandomizedResponseDpEvent(0.5, count),
    ):
        with pytest.raises(InvalidInput, match="whole number"):
            guarantee_of(event, REPLACE)


@pytest.mark.parametrize("noise", NOT_NOISE, ids=lambda v: repr(v)[:20])
def test_other_noise_is_refused(noise: Any) -> None:
    gaussian = events.GaussianDpEvent(noise)
    for event in (
        gaussian,
        events.LaplaceDpEvent(noise),
        events.PoissonSampledDpEvent(0.1, gaussian),
        events.SampledWithoutReplacementDpEvent(1000, 10, gaussian),
    ):
        with pytest.raises(InvalidInput, match="noise_multiplier needs"):
            guarantee_of(event, REPLACE)


THINGS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]),
    st.just(10**400),
)  # fmt: skip
NOISE = st.one_of(THINGS, st.floats(0.5, 9))
GAUSSIANS = st.builds(events.GaussianDpEvent, NOISE)
EVENTS = st.recursive(
    st.one_of(
        THINGS,
        GAUSSIANS,
        st.builds(events.LaplaceDpEvent, NOISE),
        st.builds(events.ZCDpEvent, THINGS, THINGS),
        st.builds(events.RandomizedResponseDpEvent, THINGS, THINGS),
        st.builds(events.PoissonSampledDpEvent, NOISE, st.one_of(THINGS, GAUSSIANS)),
        st.builds(events.SampledWithoutReplacementDpEvent, THINGS, THINGS, GAUSSIANS),
        st.builds(events.NonPrivateDpEvent),
    ),
    lambda inner: st.one_of(
        st.builds(events.SelfComposedDpEvent, inner, THINGS),
        st.builds(events.ComposedDpEvent, st.one_of(THINGS, st.lists(inner, max_size=3))),
    ),
    max_leaves=4,
)


@given(EVENTS, st.sampled_from([ADD, REPLACE, "neighbouring-functions", "", None, 5]))
def test_any_event_is_read_or_refused(event: Any, adjacency: Any) -> None:
    try:
        found = guarantee_of(event, adjacency)
    except InvalidInput:
        return
    assert found.delta(math.inf) == 0 or found.epsilon(0.5) >= 0


def test_deep_events_are_refused() -> None:
    event = events.GaussianDpEvent(1.0)
    for _ in range(20_000):
        event = events.ComposedDpEvent([event])
    with pytest.raises(InvalidInput, match="nested"):
        guarantee_of(event, ADD)


@pytest.mark.parametrize(
    "event",
    [
        events.SampledWithoutReplacementDpEvent(1000, 10, events.GaussianDpEvent(4.0)),
        events.RandomizedResponseDpEvent(0.5, 2),
    ],
    ids=["sampling", "response"],
)
def test_what_only_replaces_is_refused_under_add_remove(event: Any) -> None:
    assert guarantee_of(event, REPLACE).epsilon(1e-5) > 0
    with pytest.raises(InvalidInput, match="replace-one"):
        guarantee_of(event, ADD)


def test_what_has_no_guarantee_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="NonPrivate"):
        guarantee_of(events.NonPrivateDpEvent(), ADD)
    with pytest.raises(InvalidInput, match="Gaussian noise"):
        guarantee_of(events.PoissonSampledDpEvent(0.1, events.LaplaceDpEvent(1.0)), ADD)


def test_an_accountant_survives_the_round_trip_and_the_peer_agrees() -> None:
    step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.0, "rate": 0.01}
    accountant = Accountant(8.0, 1e-5).spend(step, 1000).spend(ZCDP(0.0)).spend(GDP(0.1), 3)
    event = event_of(accountant)
    assert guarantee_of(event, ADD).epsilon(1e-5) == pytest.approx(
        accountant.epsilon_spent(), rel=1e-9
    )
    from dp_accounting.pld import PLDAccountant

    gaussian = Accountant().spend(step, 1000).spend(GDP(0.1), 3)
    peer = PLDAccountant().compose(event_of(gaussian)).get_epsilon(1e-5)
    assert peer == pytest.approx(gaussian.epsilon_spent(1e-5), rel=1e-3)


def test_a_mechanism_by_another_name_is_the_same_release() -> None:
    step = {"mechanism": "dp-sgd", "noise_multiplier": 0.8, "rate": 1e-3}
    first = step | {"mechanism": "poisson-subsampled-gaussian"}
    accountant = Accountant(8.0, 1e-6).spend(step, 5)
    assert accountant == Accountant(8.0, 1e-6).spend(first, 5)
    assert event_of(accountant, ADD) == event_of(Accountant().spend(first, 5), ADD)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize(
    "release",
    [
        {"mechanism": "gaussian", "noise_multiplier": "7/3"},
        {"mechanism": "gaussian", "noise_over_sensitivity": 1.7},
        {"mechanism": "laplace", "scale_multiplier": 7.0},
        {"mechanism": "laplace", "scale_over_sensitivity": 7.0},
        {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.1, "rate": 0.1},
        {
            "mechanism": "poisson-subsampled-gaussian",
            "noise_multiplier": 1.1,
            "sample": 7,
            "population": 90,
        },
        {"mechanism": "gaussian-without-replacement", "noise_multiplier": 3, "sample": 5, "population": 50},
        GDP(0.3),
        ZCDP(0.3),
        PureDP(0.0),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_written_is_read_back(release: Any, adjacency: str) -> None:
    if isinstance(release, dict):
        if adjacency == ADD and "without" in release["mechanism"]:
            return
        release = {**release, "adjacency": adjacency}
    accountant = Accountant(delta=1e-6).spend(release, 3)
    again = guarantee_of(event_of(accountant, adjacency), adjacency).epsilon(1e-6)
    spent = accountant.epsilon_spent()
    assert spent <= again <= spent * (1 + 1e-9)


def test_an_event_is_written_under_one_relation() -> None:
    bare = Accountant().spend(GDP(0.3))
    with pytest.raises(InvalidInput, match="adjacency is needed"):
        event_of(bare)
    sampled = bare.spend(
        {"mechanism": "gaussian", "noise_multiplier": 1.0, "adjacency": "replace-one"}
    )
    assert event_of(sampled) == event_of(sampled, REPLACE)
    with pytest.raises(InvalidInput, match="replace-one"):
        event_of(sampled, ADD)


def test_releases_without_an_event_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no event"):
        event_of(Accountant().spend(PureDP(0.5)), ADD)


def test_an_event_that_stands_in_others_many_times_is_read_once() -> None:
    """Doubled forty times it is used 2^40 times; walking every path would take years."""
    from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent

    event = GaussianDpEvent(1e6)
    for k in range(40):
        event = ComposedDpEvent([event, event]) if k % 2 else SelfComposedDpEvent(event, 2)
    found = guarantee_of(event, "add-remove")
    assert isinstance(found, GDP)
    assert 2**20 * 1e-6 <= found.mu <= 2**20 * 1e-6 * (1 + 1e-12)


def test_a_refusal_of_an_event_with_millions_inside_is_short_and_names_the_field() -> None:
    from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent

    event = GaussianDpEvent(1.0)
    for _ in range(40):
        event = ComposedDpEvent([event, event])
    with pytest.raises(InvalidInput, match=r"count.*SelfComposedDpEvent\(event=") as refused:
        guarantee_of(SelfComposedDpEvent(event, 1.5), "add-remove")
    assert len(str(refused.value)) < 400


def test_events_too_deep_in_one_another_are_refused() -> None:
    from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent

    event = GaussianDpEvent(1.0)
    for _ in range(3000):
        event = SelfComposedDpEvent(event, 1)
    itself: list[Any] = []
    itself.append(ComposedDpEvent(itself))
    for deep in (event, itself[0]):
        with pytest.raises(InvalidInput, match="nested at most 200 deep"):
            guarantee_of(deep, "add-remove")


@pytest.mark.parametrize(
    "compose_more",
    [lambda e: events.SelfComposedDpEvent(e, 1), lambda e: events.ComposedDpEvent((e,))],
)
def test_two_hundred_events_within_one_another_are_read_and_not_one_more(compose_more: Any) -> None:
    event = events.GaussianDpEvent(1.0)
    for _ in range(200):
        event = compose_more(event)
    assert guarantee_of(event, ADD) == GDP(1.0)
    with pytest.raises(InvalidInput) as caught:
        guarantee_of(compose_more(event), ADD)
    assert str(caught.value).startswith(
        "expected events nested at most 200 deep; got more; compose shallower ones, or check that "
        "none contains itself"
    )
