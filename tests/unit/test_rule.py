"""The rule of verdicts at its edges, and the words for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from dpcalc.claims.rule import PRIVACY, RATE, Words, standing, verdict_on
from dpcalc.claims.verdict import Judgement, standing_of, surely_attained
from dpcalc.guarantees import GDP, PureDP
from dpcalc.vocabulary import Verdict

ABOVE = math.nextafter(1.0, 2.0)
BELOW = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Proof:
    """A result of which only the printed proof matters."""

    flaw: str | None = None

    def failing_proof(self) -> str | None:
        return self.flaw

    def counterexample(self) -> str:
        return "a concrete instance exceeds the claim."


@pytest.mark.parametrize(
    ("claimed", "certified", "attained", "verdict"),
    [
        (1.0, 1.0, 1.0, Verdict.HOLDS),
        (1.0, 1.0, ABOVE, Verdict.REFUTED),
        (1.0, 1.0, None, Verdict.HOLDS),
        (1.0, ABOVE, 1.0, Verdict.UNSUPPORTED),
        (1.0, ABOVE, None, Verdict.UNSUPPORTED),
        (1.0, math.inf, 1.0, Verdict.UNSUPPORTED),
        (1.0, math.inf, math.inf, Verdict.REFUTED),
        (1.01, 1.0, None, Verdict.HOLDS),
        (math.nextafter(1.01, 2), 1.0, None, Verdict.LOOSE),
        (math.inf, 1.0, 0.5, Verdict.HOLDS),
        (math.inf, math.inf, math.inf, Verdict.HOLDS),
        (0.0, 0.0, 0.0, Verdict.HOLDS),
        (5e-324, 0.0, 0.0, Verdict.LOOSE),
        (0.0, 5e-324, 0.0, Verdict.UNSUPPORTED),
        (0.0, 5e-324, 5e-324, Verdict.REFUTED),
    ],
)
def test_three_numbers_make_a_verdict(
    claimed: float, certified: float, attained: float | None, verdict: Verdict
) -> None:
    assert verdict_on(claimed, certified, attained) is verdict


@pytest.mark.parametrize(
    ("numbers", "flaw", "words", "reason"),
    [
        ((1, 2, 1.5), None, PRIVACY, "an instance leaks at least ε = 1.5: a concrete instance exceeds the claim."),
        ((1, 2, 1.5), "Line 3 is wrong.", PRIVACY, "an instance leaks at least ε = 1.5: Line 3 is wrong."),
        ((1, math.inf, math.inf), "Wrong.", PRIVACY, "an instance leaks no finite ε: Wrong."),
        ((1, 2, 1.23456), None, RATE, "an instance reaches at least 1.234: a concrete instance exceeds the claim."),
        ((1, math.inf, math.inf), "Wrong.", RATE, "an instance reaches no finite value: Wrong."),
        ((1, 2, 0.5), None, PRIVACY, "only ε = 2 is certified; the worst instance worked out here leaks ε = 0.5"),
        ((1, 2, None), None, PRIVACY, "only ε = 2 is certified; no instance worked out here exceeds the claim"),
        ((1, math.inf, None), None, PRIVACY, "nothing is certified; no instance worked out here exceeds the claim"),
        ((1, 1.23411, 0.12349), "Wrong.", RATE, "the published proof fails, nothing decides the claim: only 1.235 is certified; the worst instance worked out here reaches 0.1234"),
        ((math.inf, 2, 1), None, PRIVACY, "nothing is claimed"),
        ((2, 2, 3), "Wrong.", PRIVACY, "the claim is certified"),
        ((3, 2, None), None, PRIVACY, "1.5 times the certified ε"),
        ((1, 0.3, None), None, RATE, "3.333 times the certified bound"),
        ((1, 0, None), None, PRIVACY, "the certified ε is 0"),
        ((1, 0, None), None, RATE, "the certified bound is 0"),
    ],
)  # fmt: skip
def test_the_reason_has_the_numbers(
    numbers: tuple[float, float, float | None], flaw: str | None, words: Words, reason: str
) -> None:
    claimed, certified, attained = numbers
    result: Any = Proof(flaw)
    found = standing(result, claimed, certified, lambda: attained, words)
    assert found.reason == reason
    assert found.attained == (attained if claimed < certified else None)
    assert standing(result, claimed, certified, lambda: attained).verdict is found.verdict


def test_an_instance_is_asked_only_where_the_verdict_depends_on_it() -> None:
    result: Any = Proof()
    for claimed in (1.0, 2.0):
        found = standing(result, claimed, 1.0, lambda: pytest.fail("it was asked"))
        assert found.attained is None
    assert standing(result, 0.5, 1.0, lambda: 0.75).attained == 0.75


def test_what_is_surely_attained_is_below_the_curve() -> None:
    for mu in (0.1, 1.0):
        exact = GDP(mu).epsilon(1e-6)
        assert surely_attained(GDP(mu), 1e-6) == math.nextafter(math.nextafter(exact, 0), 0)
    assert surely_attained(GDP(1.0), 0.0) == math.inf
    assert surely_attained(PureDP(0.5), 0.0) == 0.5 * (1 - 1e-14)
    bracket = SimpleNamespace(lower=0.25)
    enclosed: Any = SimpleNamespace(bracket=lambda delta: bracket, epsilon=lambda delta: 0.5)
    assert surely_attained(enclosed, 1e-6) == 0.25
    assert surely_attained(enclosed, 0.0) == 0.5 * (1 - 1e-14)


def test_a_standing_is_about_the_instance_at_its_delta() -> None:
    def theorem(guarantee: Any) -> Any:
        instance = None if guarantee is None else SimpleNamespace(guarantee=guarantee)
        return SimpleNamespace(
            attained=lambda: instance, failing_proof=lambda: None, counterexample=lambda: ""
        )

    found = standing_of(theorem(GDP(1.0)), 1.0, 9.0, 1e-6)
    assert found.verdict is Verdict.REFUTED
    assert found.attained == surely_attained(GDP(1.0), 1e-6)
    found = standing_of(theorem(None), 1.0, 9.0, 1e-6)
    assert (found.verdict, found.attained) == (Verdict.UNSUPPORTED, None)


@pytest.mark.parametrize(
    ("claimed", "certified", "factor"),
    [(2.0, 0.5, 4.0), (None, 1.0, None), (1.0, 0.0, None), (1.0, math.inf, None), (math.inf, 1.0, math.inf)],
)  # fmt: skip
def test_the_factor_is_the_claim_over_what_is_certified(
    claimed: float | None, certified: float, factor: float | None
) -> None:
    nobody: Any = None
    assert Judgement(nobody, Verdict.HOLDS, "", claimed, certified, None).factor == factor
