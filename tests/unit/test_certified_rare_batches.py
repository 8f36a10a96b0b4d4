"""Small losses apart from large ones, against quadrature and the engine's two-sided enclosure."""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from typing import Any

import pytest
from flint import acb, arb
from mpmath import mp, mpc, mpf

from dpcalc.certificates import checker, contour, lines, rare, ways
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest, enclosure
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import sampled_without_replacement

MU, RATE, ROUNDS, EPSILON = 4.0, 0.01, 20, 8.0
PARTED = {
    "real_part": "0.23",
    "period": "30",
    "order": "0.46",
    "nodes": 25,
    "shifts": ["1.26"],
    "place": "10",
    "chernoff": "1.4",
}


@cache
def large(real: str, imag: float, place: str, mu: str, rate: str) -> mpc:
    """The moment of the large losses, by quadrature with 20 digits."""
    with mp.workdps(20):
        m, q, a, z = mpf(mu), mpf(rate), mpf(place), mpc(real, imag)

        def f(x: mpf) -> mpc:
            t = q * mp.exp(m * x - m * m / 2)
            share = 1 - (1 - mp.exp(-a / t)) ** 8
            return share * mp.npdf(x) * mp.exp((1 + z) * mp.log(1 - q + t))

        return mp.quad(f, mp.linspace(m / 2, m / 2 + 15, 31))


def near(ball: Any, value: mpc) -> bool:
    """Whether quadrature is right to 1e-12 of it; the ball is far narrower."""
    return bool(abs(complex(ball) - complex(value)) <= 1e-12 * abs(complex(value)) + 1e-16)


@pytest.mark.parametrize(("mu", "place"), [("4", "10"), ("1.5", "0.3"), ("9", "3")])
def test_small_losses_are_what_is_left_without_the_large_ones(mu: str, place: str) -> None:
    with precision(120):
        law = rounds_of(
            [{"mechanism": "gaussian-without-replacement", "mu": mu, "rate": "0.01", "count": 1}],
            "replace-one",
            False,
        )[0][0]
        split = rare.rare(arb(mu), arb("0.01"), arb(place))
        assert split.small is not None
        for y in (0.0, 1.0, 5.0):
            at = acb(arb("0.2"), y)
            apart = law.moment(at) - split.small(at)
            assert near(apart, large("0.2", y, place, mu, "0.01"))


@pytest.mark.parametrize("shift", ["0.05", "0.2", "0.25", "0.6", "1.5", "3"])
@pytest.mark.few(3)
def test_large_losses_are_bounded_beyond_a_height(shift: str) -> None:
    """With the line moved up once or twice; the bound falls, and is near the modulus somewhere."""
    with precision(120):
        split = rare.rare(arb(4), arb("0.01"), arb(3))
        before = None
        for y in ("0.5", "2", "6", "12"):
            bound = float(split.beyond(arb("0.2"), arb(y), arb(shift)))
            for higher in (1, 2):
                size = abs(large("0.2", float(y) * higher, "3", "4", "0.01"))
                assert size <= bound
            assert before is None or bound < before
            before = bound


def test_a_line_that_is_not_moved_bounds_nothing() -> None:
    split = rare.rare(arb(4), arb("0.01"), arb(3))
    for shift in (arb(0), arb("0.25").union(arb("0.2501"))):
        assert not split.beyond(arb("0.2"), arb(2), shift).is_finite()


def found(**changes: Any) -> Any:
    """The enclosure of δ(8) of twenty rounds by a line with other choices."""
    release = {"mechanism": "gaussian-without-replacement", "mu": "4", "rate": "0.01"}
    with precision(64):
        rounds = rounds_of([{**release, "count": ROUNDS}], "replace-one", False)
        how = {"method": "parted line", "precision": 64, "enclosure": None, **PARTED, **changes}
        return enclosure(rounds, arb(EPSILON), how)


@cache
def truth() -> tuple[float, float]:
    rounds = Composition(((sampled_without_replacement(MU, RATE), ROUNDS),))
    bracket = rounds.delta_bracket(EPSILON)
    return bracket.lower, bracket.upper


CHOICES: list[dict[str, Any]] = [
    {},
    {"nodes": 12},
    {"place": "100"},
    {"place": "100000", "chernoff": "0.5"},
    {"shifts": ["0.1"]},
    {"order": "2"},
]


@pytest.mark.parametrize("changes", CHOICES)
@pytest.mark.few(2)
def test_no_choice_makes_the_enclosure_miss(changes: dict[str, Any]) -> None:
    low, high = truth()
    value = found(**changes)
    assert float(value.lower()) <= high
    assert low <= float(value.upper())
    if not changes:
        assert float(value.upper()) < 1.03 * high


def test_it_misses_without_what_the_small_losses_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "sums_of_small", lambda *_: arb(0))
    assert float(found(place="100000", chernoff="0.5").upper()) < truth()[0]


@pytest.mark.parametrize("field", ["nodes", "shifts", "place", "chernoff", "period"])
def test_other_forms_of_a_choice_are_refused(field: str) -> None:
    for wrong in (None, [], "", "x", -1, 10**9, {"a": 1}):
        with pytest.raises((Refused, ValueError, ArithmeticError)):
            found(**{field: wrong})


def test_a_reported_epsilon_is_certified_by_a_line_without_small_losses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the rounds to the file, with room enough in δ that a coarse line decides."""
    for name in ("bends", "rare_bends"):  # a hyperbola would decide first
        monkeypatch.setattr(ways, name, lambda *_: ())
    monkeypatch.setattr(lines, "_MANY", 0)
    monkeypatch.setattr(lines, "_PARTED", (1e-2,))
    rounds = [(sampled_without_replacement(MU, RATE), ROUNDS)]
    made = certify(rounds, "replace-one", 0.0216, EPSILON)
    assert made.upper == CERTIFIED
    assert made.certificate is not None
    how = made.certificate["upper"]["evidence"]["both"]
    assert how["method"] == "parted line"
    least, most = (float(end) for end in how["enclosure"])
    low, high = truth()
    assert least <= high
    assert low <= most < 1.03 * high
    assert check(json.loads(json.dumps(made.certificate)))


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    """The upper end of an ε with a fortieth of δ to spare, by a short line."""
    release = {"mechanism": "gaussian-without-replacement", "mu": "4", "rate": "0.01"}
    how = {"method": "parted line", "precision": 64, "enclosure": ["0.0176", "0.0216"], **PARTED}
    statement: dict[str, Any] = {
        "format": checker.FORMAT,
        "made_by": "nobody",
        "adjacency": "replace-one",
        "releases": [{**release, "count": ROUNDS}],
        "delta": "0.0216",
        "upper": {"epsilon": "8", "evidence": {"both": how}},
        "lower": None,
    }
    statement["digest"] = digest(statement)
    assert check(statement)
    return statement


EDITS: list[tuple[tuple[Any, ...], Any]] = [
    (("adjacency",), "add-remove"),
    (("delta",), "0.0215"),
    (("releases", 0, "mu"), "4.3"),
    (("releases", 0, "rate"), "0.0106"),
    (("releases", 0, "count"), 22),
    (("upper", "epsilon"), "7.4"),
    (("upper", "evidence", "both", "enclosure"), ["0.0176", "0.0212"]),
    (("upper", "evidence", "both", "enclosure"), ["0.019", "0.0216"]),
    (("upper", "evidence", "both", "nodes"), 5),
    (("upper", "evidence", "both", "place"), "100000"),
    (("upper", "evidence", "both", "place"), "0"),
    (("upper", "evidence", "both", "chernoff"), "0.01"),
    (("upper", "evidence", "both", "order"), "0.2"),
    (("upper", "evidence", "both", "period"), "5"),
    (("upper", "evidence", "both", "shifts"), ["40"]),
    (("upper", "evidence", "both", "shifts"), []),
    (("upper", "evidence", "both", "method"), "line"),
    (("upper", "evidence", "both", "quiet"), [1]),
    (("upper", "evidence", "both", "smoothing"), "0.1"),
]


@pytest.mark.parametrize(("path", "value"), EDITS)
def test_edited_certificates_are_refused(
    certificate: dict[str, Any], path: tuple[Any, ...], value: Any
) -> None:
    edited = copy.deepcopy(certificate)
    place: Any = edited
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(Refused):
        check(edited)
    with pytest.raises((Refused, ValueError, ArithmeticError)):
        check({**edited, "digest": digest(edited)})


def test_no_place_is_looked_for_in_many_steps_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three rounds small losses alone reach ε: no order makes next to nothing of them."""
    asked: list[Any] = []
    honest = contour.sums_of_small

    def counted(*given: Any) -> Any:
        asked.append(given)
        return honest(*given)

    monkeypatch.setattr(contour, "sums_of_small", counted)
    with precision(80):
        law = rare.rare(arb(2), arb("0.01"), arb(1))
        law = law._replace(parted=lambda place: rare.rare(arb(2), arb("0.01"), place))
        chooser = contour.Chooser([(law, 3)], 3.6638)
        for tolerance in (1e-12, 1e-14):
            assert chooser._parts(math.log(tolerance)) == (0.0, 0.0)
        assert len(asked) <= 12
        place, order = chooser._parts(math.log(1e-6))
        assert place == 10.0
        assert chooser._order(place, math.log(1e-6)) == order
        least = [chooser._left_out(place, k) for k in range(len(contour._ORDERS))]
        first = next(k for k, bound in enumerate(least) if bound < math.log(1e-6) - 1)
        assert contour._ORDERS[first] == order
