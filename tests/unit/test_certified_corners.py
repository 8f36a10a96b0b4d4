"""Certificates of known losses next to what divergences alone say: by a profile that they show."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("flint")

from dpcalc import mechanisms
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.corners import parted, shown
from dpcalc.certificates.divergences import profile_of
from dpcalc.certificates.effort import effort
from dpcalc.certificates.grammar import Refused
from dpcalc.guarantees import GDP, RDP, ZCDP, Guarantee, PureDP, compose
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.renyi_profile import corners

DELTA = 1e-6
PLANS: dict[str, tuple[list[tuple[Guarantee, int]], str]] = {
    "gaussian": ([(GDP(1.0), 1), (ZCDP(1e-4), 1)], ""),
    "batches": (
        [(mechanisms.gaussian_without_replacement(5, 3, 1000), 20), (ZCDP(1e-4), 1)],
        "replace-one",
    ),
    "orders": ([(GDP(0.2), 1), (RDP.from_points({4: 0.01, 40: 0.1}), 2)], ""),
}


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    found = certify(*PLANS["gaussian"], DELTA, compose(*PLANS["gaussian"][0]).epsilon(DELTA))
    assert found.certificate is not None
    return found.certificate


@pytest.mark.parametrize("name", PLANS)
def test_what_is_reported_is_certified_and_verified(name: str) -> None:
    parts, adjacency = PLANS[name]
    total = compose(*parts)
    assert isinstance(total, MixedReleases)
    epsilon = total.epsilon(DELTA)
    assert epsilon < total.divergences.epsilon(DELTA)
    found = certify(parts, adjacency, DELTA, epsilon)
    assert found.upper == CERTIFIED
    assert found.lower.startswith("not certified")
    assert found.certificate is not None
    [how] = {each["method"] for each in found.certificate["upper"]["evidence"].values()}
    assert how == "corners"
    assert 0 < effort(found.certificate) < 60
    assert len(check(found.certificate)) == 1


def test_a_mixed_composition_is_certified_as_its_parts_are() -> None:
    parts, adjacency = PLANS["gaussian"]
    total = compose(*parts)
    assert certify([(total, 1)], adjacency, DELTA, total.epsilon(DELTA)).upper == CERTIFIED


def edited(certificate: dict[str, Any], change: Any) -> dict[str, Any]:
    found = copy.deepcopy(certificate)
    change(found["upper"]["evidence"]["both"])
    return {**found, "digest": digest(found)}


def _lower(how: dict[str, Any]) -> None:
    how["points"][40][1] = (float.fromhex(how["points"][40][1]) * 0.999).hex()


def _earlier(how: dict[str, Any]) -> None:
    how["points"][40][0] = (float.fromhex(how["points"][40][0]) * 0.999).hex()


def _no_order(how: dict[str, Any]) -> None:
    how["points"][40][2] = "1"


def _nothing(how: dict[str, Any]) -> None:
    how["rest"] = {}


def _again(how: dict[str, Any]) -> None:
    how["rest"] = {**how, "rest": {}}


def _no_table(how: dict[str, Any]) -> None:
    how["points"] = "0"


@pytest.mark.parametrize("change", [_lower, _earlier, _no_order, _nothing, _again, _no_table])
def test_what_divergences_do_not_show_is_refused(certificate: dict[str, Any], change: Any) -> None:
    assert check(edited(certificate, lambda _: None))
    with pytest.raises(Refused):
        check(edited(certificate, change))


def test_it_shows_no_lower_end(certificate: dict[str, Any]) -> None:
    turned = {**certificate, "upper": None, "lower": certificate["upper"]}
    with pytest.raises(Refused, match="bound from above"):
        check({**turned, "digest": digest(turned)})


def test_corners_of_others_than_divergences_are_refused(certificate: dict[str, Any]) -> None:
    """Nothing but zCDP and Rényi bounds holds in both directions by its moments."""
    others = {**certificate, "releases": certificate["releases"][:1]}
    with pytest.raises(Refused):
        check({**others, "digest": digest(others)})


def test_where_a_line_does_not_decide_a_larger_number_is_certified_and_said() -> None:
    parts: list[tuple[Guarantee, int]] = [(PureDP(0.1), 50), (ZCDP(0.01), 1)]
    epsilon = compose(*parts).epsilon(DELTA)
    found = certify(parts, "", DELTA, epsilon)
    assert found.upper == CERTIFIED or found.upper.startswith("not certified")
    if found.certificate is not None:
        assert float(found.certificate["upper"]["epsilon"]) >= epsilon
        assert check(found.certificate)


@pytest.fixture
def digits() -> Iterator[None]:
    """What the checker sets before it looks at evidence."""
    with precision(256):
        yield


def stated(rho: float, count: int) -> dict[str, Any]:
    gaussian = {"mechanism": "gaussian", "mu": "1", "count": 1}
    concentrated = {"mechanism": "zcdp", "rho": str(rho), "count": count}
    return {"adjacency": "", "delta": "1e-6", "releases": [gaussian, concentrated]}


def evidence(points: list[list[str]]) -> dict[str, Any]:
    return {
        "method": "corners",
        "precision": 128,
        "enclosure": "both",
        "points": points,
        "rest": {"method": "order"},
    }


def with_delta(row: list[str], factor: float) -> list[str]:
    return [row[0], (float.fromhex(row[1]) * factor).hex(), row[2]]


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("place", [0, 1, 40, 300, -1])
@pytest.mark.parametrize("count", [1, 4])
def test_each_corner_is_shown_and_no_smaller_one(place: int, count: int) -> None:
    """The first by Pinsker's inequality, the others by the moment of their order."""
    statement = stated(0.02, count)
    row = profile_of(statement)[place]
    shown(statement, "upper", evidence([row]))
    smaller = with_delta(row, 1 - 1e-9)
    with pytest.raises(Refused, match="order"):
        shown(statement, "upper", evidence([smaller]))
    with pytest.raises(Refused, match="order"):
        shown(stated(0.02, count + 1), "upper", evidence([row]))
    if place:
        nearer = [(float.fromhex(row[0]) * (1 - 1e-9)).hex(), *row[1:]]
        with pytest.raises(Refused, match="order"):
            shown(statement, "upper", evidence([nearer]))
        for factor in (0.9, 1.1):
            other = (1 + (float.fromhex(row[2]) - 1) * factor).hex()
            with pytest.raises(Refused, match="order"):
                shown(statement, "upper", evidence([[*row[:2], other]]))


@pytest.mark.usefixtures("digits")
def test_an_order_of_one_and_a_lower_end_show_nothing() -> None:
    statement = stated(0.02, 1)
    row = profile_of(statement)[40]
    with pytest.raises(Refused, match="order 1"):
        shown(statement, "upper", evidence([[*row[:2], "1"]]))
    with pytest.raises(Refused, match="bound from above"):
        shown(statement, "lower", evidence([row]))


@pytest.mark.usefixtures("digits")
def test_the_profile_stands_for_these_rounds_and_the_others_stay() -> None:
    statement = stated(0.02, 3)
    rows = profile_of(statement)[:3]
    others, rest = shown(statement, "upper", evidence(rows))
    profile = {"mechanism": "profile", "count": 1, "points": [row[:2] for row in rows]}
    assert others == {**statement, "releases": [statement["releases"][0], profile]}
    assert rest == {"method": "order", "precision": 128, "enclosure": "both"}
    assert parted(statement, bare=True) == [statement["releases"][1]]
    assert parted(statement, bare=False) == [statement["releases"][0]]


def test_corners_go_on_to_where_delta_is_negligible() -> None:
    """All rounds counted, as far as a millionth of a millionth of δ."""
    rows = profile_of(stated(0.02, 3))
    known = [[epsilon, delta] for epsilon, delta, _ in corners([(ZCDP(0.02), 3)])]
    assert [[float.fromhex(x) for x in row[:2]] for row in rows] == known[: len(rows)]
    assert float.fromhex(rows[-1][1]) < 1e-18 < float.fromhex(rows[-2][1])
