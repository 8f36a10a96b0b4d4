"""ε of few rounds in doubles, against all outcomes with sixty digits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.pure import few_rounds as module
from dpcalc.accounting.pure.few_rounds import few_rounds_epsilon
from dpcalc.guarantees import GDP, ApproxDP, PureDP, compose, composition
from dpcalc.guarantees.two_valued import few_rounds
from dpcalc.numerals import nearest
from tests.oracles.failing_responses import failing_responses

Rounds = list[tuple[float, float, int]]

CASES: list[tuple[Rounds, float]] = [
    ([(0.1, 1e-6, 2)], 1e-5),
    ([(0.1, 1e-6, 2)], 0.04),
    ([(0.1, 1e-8, 10)], 1e-3),
    ([(0.3, 0.0, 1), (0.2, 0.0, 1)], 1e-6),
    ([(1.0, 0.1, 1), (2.0, 0.2, 1)], 0.4),
    ([(0.1, 1e-3, 2), (0.25, 0.0, 3), (1.5, 1e-9, 1)], 0.01),
    ([(1e-7, 1e-12, 3)], 1e-8),
    ([(6.0, 1e-10, 3)], 1e-3),
    ([(0.5, 1e-5, 5)], 0.2),
]


def answer(rounds: Rounds, delta: float) -> Bracket | None:
    bounds: dict[float, int] = {}
    failures: dict[float, int] = {}
    for bound, failure, n in rounds:
        bounds[bound] = bounds.get(bound, 0) + n
        if failure:
            failures[failure] = failures.get(failure, 0) + n
    return few_rounds_epsilon(bounds, failures, delta)


def holds(rounds: Rounds, delta: float, found: Bracket) -> bool:
    """Whether δ is what the oracle has between the ends: it falls with ε."""
    at_most = failing_responses(rounds, found.upper)
    return bool(at_most <= mpf(delta) <= failing_responses(rounds, found.lower))


@pytest.mark.parametrize(("rounds", "delta"), CASES)
def test_the_truth_is_enclosed(rounds: Rounds, delta: float) -> None:
    found = answer(rounds, delta)
    assert found is not None
    assert holds(rounds, delta, found)
    assert found.relative_width < 1e-12


def drawn(rng: random.Random) -> tuple[Rounds, float]:
    """A composition of any size, and a δ above what fails by anything from 1e-13 to a half."""
    rounds = [
        (
            rng.choice([0.1, 0.5, 1.0, 10 ** rng.uniform(-5, 0.5)]),
            rng.choice([0.0, 1e-6, 10 ** rng.uniform(-12, -1.5)]),
            rng.randint(1, 4),
        )
        for _ in range(rng.randint(1, 3))
    ]
    with mp.workdps(60):
        failing = 1 - mp.fprod((1 - mpf(failure)) ** n for _, failure, n in rounds)
    least = min(bound for bound, _, _ in rounds)
    return rounds, float(failing) + 10 ** rng.uniform(-13, -0.5) * min(least, 1.0)


def test_random_compositions_are_enclosed() -> None:
    rng, answered = random.Random(20), 0
    for _ in range(150):
        rounds, delta = drawn(rng)
        found = answer(rounds, delta)
        if found is None:
            continue
        answered += 1
        assert holds(rounds, delta, found), (rounds, delta, found)
    assert answered > 90


def heavier(rounds: dict[float, int]) -> list[tuple[float, float]]:
    return [(loss, mass * (1 - 1e-9)) for loss, mass in ATOMS(rounds)]


def without_the_largest(rounds: dict[float, int]) -> list[tuple[float, float]]:
    return ATOMS(rounds)[1:]


def never_failing(failures: dict[float, int], delta: float) -> tuple[float, float]:
    del failures
    return LEVEL({}, delta)


def first_crossing(
    atoms: list[tuple[float, float]], level: float, error: float
) -> tuple[float, float]:
    """The ε_k of the largest loss alone."""
    return CROSSING(atoms[:1], level, error)


ATOMS, LEVEL, CROSSING = module._atoms, module._level, module._crossing


@pytest.mark.parametrize(
    ("name", "mistake", "case"),
    [
        ("_atoms", heavier, 1),
        ("_atoms", without_the_largest, 0),
        ("_level", never_failing, 0),
        ("_crossing", first_crossing, 2),
    ],
)
def test_planted_mistakes_are_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, mistake: Callable[..., object], case: int
) -> None:
    monkeypatch.setattr(module, name, mistake)
    rounds, delta = CASES[case]
    found = answer(rounds, delta)
    assert found is None or not holds(rounds, delta, found)


@pytest.mark.parametrize("forgotten", [False, True])
def test_what_fails_is_off_by_more_than_what_is_left(
    monkeypatch: pytest.MonkeyPatch, forgotten: bool
) -> None:
    """Nineteen failures of 1e-17 leave 1.5e-30 of δ = 1.9e-16, some sixty of its roundings: without
    the error of what fails an end is on the wrong side."""
    bound, failure, delta = 1.4108145411134055e-19, 1e-17, 1.9000000000000149e-16
    if forgotten:
        monkeypatch.setattr(module, "_level", lambda *given: (LEVEL(*given)[0], 0.0))
    found = few_rounds_epsilon({bound: 5}, {failure: 19}, delta)
    assert found is not None
    oracle = [(bound, failure, 5), (0.0, failure, 14)]
    assert holds(oracle, delta, found) is not forgotten


@pytest.mark.parametrize(
    ("rounds", "delta"),
    [
        ([(0.1, 1e-6, 2)], 1.9e-6),  # no ε holds
        ([(0.1, 1e-6, 2)], 1e-6),
        ([(0.1, 1e-6, 2)], -math.expm1(2 * math.log1p(-1e-6))),  # the sum of both
        ([(0.1, 1e-6, 2)], 0.9),  # none is needed
        ([(0.1, 1e-6, 65)], 1e-3),
        ([(0.1, 1e-6, 10**400)], 1e-3),
        ([(0.1 * 2**-k, 1e-6, 1) for k in range(7)], 1e-3),
        ([(30.0, 1e-6, 2)], 1e-3),
        ([(1e-200, 1e-6, 2)], 1e-5),
        ([(0.1, 0.4, 2)], 0.7),
    ],
)
def test_others_answer_what_is_no_matter_of_few_doubles(rounds: Rounds, delta: float) -> None:
    assert answer(rounds, delta) is None


def test_compositions_of_two_values_are_answered_by_it() -> None:
    parts = [(ApproxDP(0.1, 1e-6), 2), (PureDP(0.2), 1), (ApproxDP(0.0, 1e-7), 1)]
    found = compose(*parts).bracket(1e-5)
    assert found == few_rounds_epsilon({0.1: 2, 0.2: 1}, {1e-6: 2, 1e-7: 1}, 1e-5)
    assert found is not None
    assert found.method == "sum over all outcomes"


def test_whole_numbers_are_the_doubles_that_they_are() -> None:
    found = few_rounds([(ApproxDP(1, 0.1), 1), (ApproxDP(2, 0.2), 1), (PureDP(0), 3)], 0.3)
    assert found == few_rounds_epsilon({1.0: 1, 2.0: 1}, {0.1: 1, 0.2: 1}, 0.3)
    assert few_rounds([(ApproxDP(2**53 + 1, 0.1), 1), (ApproxDP(2, 0.2), 1)], 0.3) is None


@pytest.mark.parametrize(
    "parts",
    [
        [(PureDP(0.1), 2)],  # a sharper answer
        [(ApproxDP(0.1, 1e-6), 2), (GDP(0.1), 1)],
        [(ApproxDP(math.inf, 1e-6), 2)],
        [(ApproxDP(0.1, 1.0), 2)],
        [(ApproxDP(0.0, 1e-6), 2)],
        [(ApproxDP(nearest(1, 10), 1e-6), 2)],
        [(ApproxDP(0.1, nearest(1, 10**6)), 2)],
    ],
)
def test_other_compositions_are_left_to_others(parts: list) -> None:
    assert few_rounds(parts, 1e-5) is None
    assert few_rounds([(ApproxDP(0.1, 1e-6), 2)], nearest(1, 10**5)) is None
    assert few_rounds([(ApproxDP(0.1, 1e-6), 2)], 0.0) is None
    assert few_rounds([(ApproxDP(0.1, 1e-6), 2)], 1.0) is None


@pytest.mark.parametrize(("rounds", "delta"), CASES)
def test_the_general_sum_agrees_and_is_no_narrower(
    monkeypatch: pytest.MonkeyPatch, rounds: Rounds, delta: float
) -> None:
    found = answer(rounds, delta)
    monkeypatch.setattr(composition, "few_rounds", lambda *_: None)
    composition._cached_epsilon.cache_clear()
    total = compose(*[(ApproxDP(bound, failure), n) for bound, failure, n in rounds])
    other = total.bracket(delta)
    assert found is not None
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert found.upper - found.lower <= 1.5 * (other.upper - other.lower) + 4 * math.ulp(
        found.upper
    )
