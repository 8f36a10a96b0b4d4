"""The rule by which the numbers of an instance become a verdict.

Three numbers, smaller is stronger: what is claimed, what is certified (proved, no instance exceeds
it) and what is attained (a lower bound of what some instance reaches).

    attained > claimed      REFUTED
    certified <= claimed    HOLDS, or LOOSE if the claim is more than 1.01 times the certified number
    otherwise               UNSUPPORTED

Findings about a printed statement or its proof do not enter: a wrong proof may give a right number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpcalc.theorems.base import Result
from dpcalc.vocabulary import Verdict
from dpcalc.wording import at_least, at_most

TIGHT = 1.01
"""A claim up to this factor above the certified number holds without being called loose."""


@dataclass(frozen=True, slots=True)
class Words:
    """How a reason speaks of the numbers."""

    reaches: str
    symbol: str
    infinite: str
    certified: str


PRIVACY = Words("leaks", "ε = ", "no finite ε", "the certified ε")
RATE = Words("reaches", "", "no finite value", "the certified bound")


@dataclass(frozen=True, slots=True)
class Standing:
    """A verdict on an instance with the reason for it.

    Attributes:
        verdict: by the rule.
        reason: one or two sentences.
        attained: what an instance reaches; None if none is known or nothing depended on it.
    """

    verdict: Verdict
    reason: str
    attained: float | None = None


def verdict_on(claimed: float, certified: float, attained: float | None) -> Verdict:
    """The rule of this module.

    Args:
        claimed: the claimed bound; infinite claims nothing.
        certified: the proved bound; infinite proves nothing.
        attained: a lower bound of what an instance reaches, None if none is known.
    """
    if attained is not None and attained > claimed:
        return Verdict.REFUTED
    if certified > claimed:
        return Verdict.UNSUPPORTED
    if claimed <= TIGHT * certified or math.isinf(claimed):
        return Verdict.HOLDS
    return Verdict.LOOSE


def standing(
    result: Result,
    claimed: float,
    certified: float,
    attained: Callable[[], float | None],
    words: Words = PRIVACY,
) -> Standing:
    """The verdict on an instance, in words.

    Args:
        result: the instance, for the findings about its proof.
        claimed: the claimed bound.
        certified: the proved bound.
        attained: what an instance reaches; asked only where the verdict depends on it.
        words: how to speak of the numbers.
    """
    reached = attained() if claimed < certified else None
    verdict = verdict_on(claimed, certified, reached)
    return Standing(
        verdict, _reason(verdict, result, (claimed, certified, reached), words), reached
    )


def _reason(
    verdict: Verdict, result: Result, numbers: tuple[float, float, float | None], words: Words
) -> str:
    claimed, certified, reached = numbers
    if verdict is Verdict.REFUTED and reached is not None:
        why = result.failing_proof() or result.counterexample()
        how = (
            words.infinite if math.isinf(reached) else f"at least {words.symbol}{at_least(reached)}"
        )
        return f"an instance {words.reaches} {how}: {why}"
    if verdict is Verdict.UNSUPPORTED:
        return _undecided(result, certified, reached, words)
    if math.isinf(claimed):
        return "nothing is claimed"
    if verdict is Verdict.HOLDS:
        return "the claim is certified"
    if certified == 0:
        return f"{words.certified} is 0"
    return f"{claimed / certified:.4g} times {words.certified}"


def _undecided(result: Result, certified: float, reached: float | None, words: Words) -> str:
    proved = "nothing is certified"
    if not math.isinf(certified):
        proved = f"only {words.symbol}{at_most(certified)} is certified"
    known = "no instance worked out here exceeds the claim"
    if reached is not None:
        known = (
            f"the worst instance worked out here {words.reaches} {words.symbol}{at_least(reached)}"
        )
    if result.failing_proof() is None:
        return f"{proved}; {known}"
    return f"the published proof fails, nothing decides the claim: {proved}; {known}"
