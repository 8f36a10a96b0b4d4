"""Recorded scores of two kinds of runs as a game with fair coins.

Statement
    The scores of each kind are independent and of one law. Toss a fair coin for each of m places and
    let the kind it names hand over its next score, unused so far: places, coins and scores are then
    distributed as if every place had been run in the world of its coin. A place whose kind has run
    out counts as a wrong answer, which only lowers the bound. The rule is chosen on scores kept apart
    beforehand, as many of each kind, since a rule for coins that seldom fall alike would be another
    one. Those that are left over by the coins that fell may not help: their number tells how many
    heads there were, and a rule that knows this is no rule fixed before the coins. The coins are
    tossed again for every verdict:
    for a sequence fixed once and for all, with more heads than tails, say, false alarms would be
    more frequent than α whenever it is used.
Source
    Derived here.
Assumes
    Independent runs of one mechanism on one pair of inputs; nothing about how their worlds were
    assigned. Where these were drawn by fair coins, all runs are places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators import learnt_threshold
from dpcalc.auditing.estimators.rule_choice import chosen_rule
from dpcalc.auditing.estimators.rules import Answers, Rule
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]

FEWEST = 20  # runs of the rarer kind
_RESERVE = 1.5  # per √places: three standard deviations of the number of heads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoinGame:
    """Runs on which a rule is chosen, and places that count.

    Attributes:
        pilot: scores that are not counted, as many whatever the coins are; of either kind as many
            unless coins drew the worlds.
        places: scores whose worlds were drawn by fair coins, in the order of the coins.
        missing: places without a score.
    """

    pilot: Observations
    places: Observations
    missing: int

    def reversed(self) -> CoinGame:
        """The same with small scores for large ones."""
        pilot, places = (o.with_score(-o.score) for o in (self.pilot, self.places))
        return CoinGame(pilot=pilot, places=places, missing=self.missing)

    def oriented(self, *, delta: float, alpha: float, curve: bool) -> tuple[CoinGame, Rule]:
        """The game in the direction in which the pilot promises more, and the rule for it."""
        found = []
        counted = self.places.runs + self.missing  # which the coins do not change
        for game in (self, self.reversed()):
            rule, promise = chosen_rule(
                game.pilot, delta=delta, alpha=alpha, curve=curve, counted=counted
            )
            found.append((float(promise), game, rule))
        _, game, rule = max(found, key=lambda entry: entry[0])  # the first where both are equal
        return game, rule

    def answers(self, rule: Rule) -> Answers:
        """Right and wrong answers of a rule chosen on the pilot."""
        return self._with_missing(rule.answers(self.places))

    def answers_on_the_way(self) -> Answers:
        """Right and wrong answers by a threshold learnt on the pilot and on earlier places."""
        pilot, places = self.pilot, self.places
        both = Observations(
            is_in=np.concatenate([pilot.is_in, places.is_in]),
            score=np.concatenate([pilot.score, places.score]),
        )
        return self._with_missing(learnt_threshold.answers(both, pilot.runs))

    def _with_missing(self, seen: Answers) -> Answers:
        return Answers(
            right=seen.right, wrong=seen.wrong + self.missing, runs=seen.runs + self.missing
        )


def coin_game(
    first: Array, second: Array, *, pilot_share: float, fair_coins: bool, seed: int
) -> CoinGame:
    """Scores of runs with and without the record as a game.

    Args:
        first: of runs with the record, at least `FEWEST`.
        second: of runs without it, at least `FEWEST`.
        pilot_share: share of the runs on which the rule is chosen, in (0, 1).
        fair_coins: whether every run's world was drawn by its own fair coin.
        seed: of shuffles and coins.
    """
    draw = np.random.default_rng(seed)
    if fair_coins:
        flags = np.concatenate([np.ones(len(first), bool), np.zeros(len(second), bool)])
        order = draw.permutation(len(flags))
        whole = Observations(
            is_in=flags[order], score=np.concatenate([first, second])[order], fair_coins=True
        )
        cut = round(pilot_share * whole.runs)
        return CoinGame(
            pilot=whole.between(0, cut), places=whole.between(cut, whole.runs), missing=0
        )
    first, second = draw.permutation(first), draw.permutation(second)
    kept = max(round(pilot_share * min(len(first), len(second))), 2)
    rest = (first[kept:], second[kept:])
    places = places_of(min(len(scores) for scores in rest))
    coins = draw.random(places) < 0.5
    score, played = np.empty(places), np.ones(places, bool)
    for world, scores in enumerate(rest):
        wanted = np.flatnonzero(coins == (world == 0))
        score[wanted[: len(scores)]] = scores[: len(wanted)]
        played[wanted[len(scores) :]] = False
    return CoinGame(
        pilot=Observations(
            is_in=np.repeat([True, False], kept),
            score=np.concatenate([first[:kept], second[:kept]]),
        ),
        places=Observations(is_in=coins[played], score=score[played], fair_coins=True),
        missing=int((~played).sum()),
    )


def places_of(each: int) -> int:
    """The most places m with m/2 + 3·√m/2 scores of a kind, hardly ever exceeded."""
    return max(int((math.sqrt(_RESERVE**2 + 2 * each) - _RESERVE) ** 2), 1)
