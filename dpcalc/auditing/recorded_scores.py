"""Recorded scores: some choose a rule, the others are counted under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.advice import Unused
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.coin_game import FEWEST, coin_game
from dpcalc.auditing.estimators import accuracy, clopper_pearson, learnt_threshold, one_run
from dpcalc.auditing.estimators.answering import answering, noticeable
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.estimators.rules import Answers, Rule
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.many_scores import MANY, many_scores
from dpcalc.auditing.recorded_evidence import from_counts, recorded_verdict
from dpcalc.auditing.sampling.observations import Counts, Observations, from_scores
from dpcalc.auditing.targets.exact_numbers import exact_scores
from dpcalc.auditing.verdict import Verdict
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]
Kind = tuple[Outcomes, float]
"""How often scores repeat, and in which share of the runs they say anything; see `answering`."""

Seen = tuple[Answers | Counts, Rule, int, Kind]
"""What a rule answered, the rule, on how many runs it was chosen, and of what kind scores are."""

_HELD_OUT = 0.2  # share of α for a rule that may pass over runs, where a threshold has the rest
_OF_A_KIND = 10  # two of them choose the rule
_TELLING = 100  # scores that show whether outcomes repeat
_FIRST, _FIRST_SHARE = 50, 0.05  # runs that only teach the threshold learnt on the way


@dataclass(frozen=True, slots=True, eq=False)
class RecordedScores:
    """The scores of two kinds of runs, and how they are to be used.

    Attributes:
        claim: what is tested.
        first: of runs with the record.
        second: of runs without it.
        alpha: probability of refuting a true claim.
        pilot_share: share of the runs that choose the rule.
        seed: of the shuffle and the coins.
        fair_coins: whether every run's world was drawn by its own independent fair coin.
    """

    claim: Claim
    first: Array
    second: Array
    alpha: float
    pilot_share: float
    seed: int
    fair_coins: bool

    @property
    def game(self) -> bool:
        """Whether right answers are counted, and not both error rates.

        Where coins drew the worlds, what fell must not decide it: of tests that the coins choose
        between, each may err with a chance of α on other coins.
        """
        if self.fair_coins:
            return not self.claim.is_renyi and self.first.size + self.second.size >= 2 * FEWEST
        rarer, other = sorted((self.first.size, self.second.size))
        return not (self.claim.is_renyi or rarer < FEWEST or other > 2 * rarer)

    def seen(self) -> Seen:
        """By answers in a game, or by both error rates."""
        many = self.first.size + self.second.size >= MANY
        return self._in_blocks() if many else self._in_memory()

    @property
    def learns_on_the_way(self) -> bool:
        """Whether a threshold that is learnt on the way gets a share of α: for curves, in memory."""
        many = self.first.size + self.second.size >= MANY
        return self.game and self.claim.is_curve and not many

    def on_the_way(self) -> Answers:
        """Right and wrong answers by a threshold that is learnt on the way."""
        runs = self.first.size + self.second.size
        share = min(max(_FIRST_SHARE, _FIRST / runs), self.pilot_share)
        return coin_game(
            self.first,
            self.second,
            pilot_share=share,
            fair_coins=self.fair_coins,
            seed=self.seed,
        ).answers_on_the_way()

    def _in_memory(self) -> Seen:
        """All scores shuffled at once; by answers in a game, or by both error rates."""
        seen = from_scores(self.first, self.second)
        if self.game:
            of_kinds = seen.scores_of(True), seen.scores_of(False)
            played = coin_game(
                *of_kinds, pilot_share=self.pilot_share, fair_coins=self.fair_coins, seed=self.seed
            )
            played, rule = played.oriented(
                delta=self.claim.delta, alpha=self.alpha, curve=self.claim.is_curve
            )
            answers = played.answers(rule)
            kind = self._kind(played.pilot, answers.runs, seen.score)
            return answers, rule, played.pilot.runs, kind
        pilot = round(seen.runs * self.pilot_share)
        curve = self.claim.quantity is not Quantity.EPSILON  # ρ is seen best where μ is
        seen = clopper_pearson.oriented(
            seen, pilot, delta=self.claim.delta, alpha=self.alpha, curve=curve
        )
        counts, threshold = clopper_pearson.held_out(
            seen,
            delta=self.claim.delta,
            alpha=self.alpha,
            pilot_share=self.pilot_share,
            curve=curve,
        )
        kind = self._kind(seen.between(0, pilot), int(counts.runs), seen.score)
        return counts, Rule.at(float(threshold)), seen.runs - int(counts.runs), kind

    def _in_blocks(self) -> Seen:
        """The same of more scores than are shuffled in memory: see `many_scores`."""
        many = many_scores(
            self.first,
            self.second,
            pilot_share=self.pilot_share,
            seed=self.seed,
            game=self.game,
            fair_coins=self.fair_coins,
        )
        pilot = many.pilot()
        kind = self._kind(pilot, self.first.size + self.second.size - pilot.runs, pilot.score)
        if self.game:
            many, rule = many.oriented(
                pilot, delta=self.claim.delta, alpha=self.alpha, curve=self.claim.is_curve
            )
            return many.answers(rule), rule, pilot.runs, kind
        terms: dict[str, Any] = {
            "delta": self.claim.delta,
            "alpha": self.alpha,
            "curve": self.claim.quantity is not Quantity.EPSILON,
        }
        order = np.random.default_rng(self.seed).permutation(pilot.runs)
        pilot = Observations(is_in=pilot.is_in[order], score=pilot.score[order])
        turned = clopper_pearson.oriented(pilot, pilot.runs // 2, **terms)
        rest = self.first.size + self.second.size - pilot.runs
        threshold = float(clopper_pearson.choose_threshold(turned, counted=rest, **terms))
        many = replace(many, sign=1 if turned is pilot else -1)
        return many.counts(threshold), Rule.at(threshold), pilot.runs, kind

    def _kind(self, pilot: Observations, counted: int, scores: Array) -> Kind:
        """Of the scores on the pilot; of all, taken to say something, where it is too small to tell.

        No bound depends on it: it is about the mechanism for which power is stated.
        """
        if pilot.runs < _TELLING:
            return Outcomes.of(scores), 1.0
        noticed = noticeable(counted, self.claim, self.alpha)
        return answering(pilot.score, pilot, noticed=noticed)


def of_both_kinds(
    in_scores: Sequence[float] | Array,
    out_scores: Sequence[float] | Array,
    pilot_share: float,
    fair_coins: bool,
) -> tuple[Array, Array]:
    """The scores of either kind, or `InvalidInput` for what cannot be audited."""
    if not 0 < pilot_share < 1:
        raise InvalidInput(f"pilot_share needs a number in (0, 1); got pilot_share={pilot_share!r}")
    first, second = _one_a_run("in_scores", in_scores), _one_a_run("out_scores", out_scores)
    if min(first.size, second.size) < _OF_A_KIND:
        raise InvalidInput(
            f"expected at least {_OF_A_KIND} scores of either kind; got {first.size} of runs with the "
            f"record and {second.size} without; make more runs"
        )
    if fair_coins:
        one_run.require_coins(first.size, first.size + second.size, fair_coins, "run", "runs")
    return first, second


def verdict_of(scores: RecordedScores, detectable_ratio: float, name: str) -> Verdict:
    """The verdict: by answers in a game, or by both error rates.

    The scores' α is that of the whole; a threshold learnt on the way leaves the rule `_HELD_OUT` of it.
    """
    claim, alpha, runs = scores.claim, scores.alpha, scores.first.size + scores.second.size
    spent = _HELD_OUT * alpha if scores.learns_on_the_way else alpha
    scores = replace(scores, alpha=spent)
    answers, rule, pilot, (outcomes, share) = scores.seen()
    kind: dict[str, Any] = {"outcomes": outcomes, "share": share}
    note = Finding(
        check="split",
        severity=Severity.HOLDS,
        text=f"{rule.describe()}, chosen on {pilot} runs that are not counted",
        numbers=rule.record() if scores.game else {"threshold": float(rule.upper)},
    )
    if isinstance(answers, Counts):
        found = from_counts(claim, answers, alpha, **kind)
        return recorded_verdict(name, claim, found, alpha, runs, detectable_ratio, (note,))
    terms: dict[str, Any] = {"alpha": spent, "curve": claim.is_curve, **kind}
    found = [accuracy.from_answers(answers, rule, claim, **terms)]
    if scores.learns_on_the_way:
        on_the_way = scores.on_the_way()
        found.append(learnt_threshold.evidence(on_the_way, claim, alpha=alpha - spent, **kind))
    unused = Unused(coins=0 if scores.fair_coins else round((1 - scores.pilot_share) * runs))
    return recorded_verdict(
        name, claim, found, alpha, runs, detectable_ratio, (note,), scores.seed, unused
    )


def _one_a_run(name: str, scores: Sequence[float] | Array) -> Array:
    """The scores of one kind, not copied where they are doubles or shorter numbers."""
    found = np.asanyarray(scores) if isinstance(scores, np.ndarray) else exact_scores(scores)
    short = found.dtype.kind == "f" and found.dtype.itemsize <= 8
    if not short or isinstance(found, np.ma.MaskedArray):
        found = exact_scores(found)
    if found.ndim != 1:
        raise InvalidInput(
            f"expected one score per run, shape (runs,); got {name} of shape={found.shape!r}"
        )
    return found
