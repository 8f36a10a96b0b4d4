"""Certificates of small finite distributions: few losses, few nodes, and what was written earlier."""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import pytest
from flint import acb, arb

from dpcalc.certificates import effort, lines, tables
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused, exact
from dpcalc.certificates.laws import values
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.outcomes import MOST
from dpcalc.certificates.quadrature import transformed
from dpcalc.guarantees import compose
from dpcalc.guarantees.mechanisms import finite_distributions

FIVE = (0.17, 0.076, 0.286, 0.257, 0.211), (0.098, 0.0802, 0.3919, 0.1909, 0.239)
TWO = (0.845, 0.155), (0.8434, 0.1566)

List = tuple[tuple[float, ...], tuple[float, ...], int]


def certified(*lists: List, delta: float, adjacency: str) -> Certified:
    parts = [(finite_distributions(p, q, adjacency), n) for p, q, n in lists]
    found = compose(*parts).bracket(delta)
    return certify(parts, adjacency, delta, found.upper, found.lower)


def ends(found: Certified) -> list[dict[str, Any]]:
    """The evidence of all ends and directions."""
    assert found.certificate is not None
    assert (found.upper, found.lower) == (CERTIFIED, CERTIFIED)
    assert len(check(found.certificate)) == 2
    known = (found.certificate[end]["evidence"].values() for end in ("upper", "lower"))
    return [how for each in known for how in each]


def rows(p: tuple[float, ...], q: tuple[float, ...]) -> list[list[str]]:
    return [[repr(a), repr(b)] for a, b in zip(p, q, strict=True)]


def test_corners_of_the_smaller_profile_are_no_losses() -> None:
    """Eleven corners, of which the larger profile has five; with all of them no sum was short enough."""
    with precision(80):
        law = tables.in_either_order([(exact(a), exact(b)) for a, b in rows(*FIVE)])
    assert len(law.terms) == 5
    found = certified((*FIVE, 3), (*TWO, 11), delta=1e-8, adjacency="replace-one")
    assert {how["method"] for how in ends(found)} == {"outcomes"}


def test_lists_that_never_meet_lose_everything_in_either_order() -> None:
    law = tables.in_either_order([(exact("1"), exact("0")), (exact("0"), exact("1"))])
    assert law.infinite == 1
    assert len(law.terms) == 1


def test_a_line_is_no_longer_than_the_ends_ask_for() -> None:
    """It had 114,369 nodes, by a smoothing a tenth of the one that does not decide."""
    first = (0.6, 0.2, 0.1, 0.06, 0.04), (0.5, 0.24, 0.13, 0.05, 0.08), 150
    second = (0.7, 0.2, 0.1), (0.66, 0.21, 0.13), 40
    found = certified(first, second, delta=1e-6, adjacency="add-remove")
    known = ends(found)
    assert {how["method"] for how in known} == {"line"}
    assert max(how["nodes"] for how in known) < 60_000


@pytest.mark.parametrize("end", ["upper", "lower"])
def test_smoothing_falls_until_it_is_the_least(end: str) -> None:
    """A fourth of an enclosure is above δ(ε); of either part the other side of δ has a fourth."""
    largest, least = lines._SMOOTHING[1], lines._LEAST[1]
    delta = exact("0.001")
    enclosure = {"upper": ["0.000987", "0.001003"], "lower": ["0.000991", "0.001007"]}[end]
    (_, chosen) = lines._less(largest, enclosure, delta, end) or (0, 0)
    assert chosen == pytest.approx(largest * math.sqrt(lines._SPARE) / 2)
    for undecided in (None, ["0.5", "0.6"], ["0", "0.0000001"], ["0.001", "0.001"]):
        tried, last = 0, largest
        while found := lines._less(last, undecided, delta, end):
            assert least <= found[1] < last
            last, tried = found[1], tried + 1
        assert last == least
        assert tried < 20


def test_the_last_line_is_smoothed_the_least() -> None:
    """Whatever enclosures promise: here always that a little less smoothing is enough."""
    listed = (
        {"mechanism": "distributions", "outcomes": rows(*FIVE), "count": 3},
        {"mechanism": "distributions", "outcomes": rows(*TWO), "count": 11},
    )
    statement = {"adjacency": "replace-one", "releases": list(listed), "delta": "1e-3"}
    with precision(64):
        rounds = rounds_of(statement["releases"], "replace-one", False)
    tried = []
    for how in lines.lines(rounds, statement, "upper", "0.9", "both", 100):
        how["enclosure"] = ["0.00099", "0.0010001"]
        tried.append(float(how["smoothing"]) * float(how["real_part"]))
    first, last = lines._SMOOTHING[1], lines._LEAST[1]
    shares = [1, lines._LESS, lines._LESS**2]
    assert tried == pytest.approx([*(first * share for share in shares), last])


def test_moments_of_few_values_at_all_nodes() -> None:
    with precision(90):
        atoms = [(arb(k) / 7, arb(1) / (3 + k * k)) for k in range(-3, 5)]
        law, c, step = values(atoms, arb(0)), arb("0.7"), arb("1.3")
        assert law.along is not None
        sums = law.along(c)
        for found in (sums.at_nodes(step, 60), sums.at_nodes(step, 60)):
            for j, value in enumerate(found):
                assert value.overlaps(law.moment(acb(c, j * step)))
                assert float(abs(value - acb(value.mid())).upper()) < 1e-22
    assert values([], arb(1)).along is None


@pytest.mark.parametrize("number", [1, 2, 3, 5, 17, 2_600])
def test_a_sum_between_powers_is_that_of_its_terms(number: int) -> None:
    with precision(90):
        known = [acb(arb(math.sin(j)), arb(math.cos(3 * j))) for j in range(number)]
        turn = acb(0, arb(-1) / 3)
        found = transformed(known, turn)
        truth = sum((x * (turn * j).exp() for j, x in enumerate(known)), acb(0))
        assert found.overlaps(truth)
        assert float(abs(found - acb(found.mid())).upper()) < 1e-18
        wide = transformed([x * arb(1, 0.01) for x in known], turn)
        assert wide.contains(truth.mid())


def test_losses_without_order_are_counted_in_the_effort() -> None:
    """More than there are would be too many to be summed, and count as nothing."""
    found = certified((*FIVE, 3), (*TWO, 11), delta=1e-8, adjacency="replace-one").certificate
    assert found is not None
    begun = time.process_time()
    check(found)
    took = time.process_time() - begun
    assert took / 5 < effort.effort(found) < 60 * took
    release = {"mechanism": "distributions", "outcomes": rows(*FIVE), "count": 10**6}
    how = {"method": "outcomes", "precision": 100}
    statement = {"adjacency": "replace-one", "releases": [release]}
    assert MOST * 1e-6 < effort.effort_of(statement, how) < 10
    for wrong in ([["1", "x"]], [["1"]], [["1", "0"], None], [["0", "0"]], [["1e999", "1"]]):
        statement["releases"][0]["outcomes"] = wrong
        assert effort.effort_of(statement, how) < 10


LINE = {
    "method": "line",
    "precision": 80,
    "real_part": "30.231081261609592",
    "order": "241.84865009287674",
    "smoothing": "9.923561694796858e-05",
    "nodes": 8099,
    "shifts": ["0.0", "0.0"],
    "quiet": [8100, 8100],
}
EARLIER = {
    "format": "dpcalc certificate 1",
    "made_by": "dpcalc 0.1.0",
    "adjacency": "replace-one",
    "releases": [
        {
            "mechanism": "distributions",
            "outcomes": [
                ["509/1000", "1223/2500"],
                ["79/200", "2007/5000"],
                ["11/250", "103/2000"],
                ["13/250", "579/10000"],
            ],
            "count": 7,
        },
        {
            "mechanism": "distributions",
            "outcomes": [["227/1000", "9/40"], ["773/1000", "31/40"]],
            "count": 9,
        },
    ],
    "delta": "0.001",
    "upper": {
        "epsilon": "0.3783096556514432",
        "evidence": {
            "both": {
                **LINE,
                "period": "0.8873997315853093",
                "enclosure": ["9999969127740273421789671e-28", "9999997499722771736426208e-28"],
            }
        },
    },
    "lower": {
        "epsilon": "0.37830760216857434",
        "evidence": {
            "both": {
                **LINE,
                "period": "0.8874020172995949",
                "enclosure": ["10000271219589919207388507e-28", "10000300260329802949512572e-28"],
            }
        },
    },
    "digest": "4958c57708c041134be2ec3c22edef390d9adc24da571237e7195010b5ace927",
}
"""Written before moments of few values were taken at all nodes at once, with losses of mass 0."""


def test_what_was_written_earlier_is_verified() -> None:
    assert len(check(EARLIER)) == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("upper", "epsilon"), "0.378309"),
        (("lower", "epsilon"), "0.378311"),
        (("delta",), "0.00099999"),
        (("releases", 0, "count"), 8),
        (("releases", 1, "outcomes", 0, 0), "228/1000"),
        (("upper", "evidence", "both", "enclosure", 1), "9999996e-10"),
        (("upper", "evidence", "both", "nodes"), 8098),
    ],
)
def test_an_edited_one_is_refused(path: tuple[Any, ...], value: Any) -> None:
    edited: Any = copy.deepcopy(EARLIER)
    place = edited
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(Refused):
        check(edited)
    edited["digest"] = digest(edited)
    with pytest.raises(Refused):
        check(edited)
