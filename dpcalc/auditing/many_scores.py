"""Recorded scores too many to be shuffled in memory: read block by block, twice.

Statement
    Every score gets a role, pilot, counted or unused, by drawing without replacement: how many there
    are of each is settled beforehand, and which scores they are is uniform, whatever order they come
    in. Within a block that is a shuffle, between blocks the multivariate hypergeometric law. So the
    pilot and the counted scores have the laws that shuffling everything gives them (`coin_game`), and
    the verdict is one of those that it can give.
    The first pass takes the pilot, of at most `PILOT` scores; the second counts what the rule answers.
Memory
    A block, the pilot and a few copies of each: some 100 MB, whatever the number of scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.coin_game import places_of
from dpcalc.auditing.estimators.rule_choice import chosen_rule
from dpcalc.auditing.estimators.rules import Answers, Rule
from dpcalc.auditing.sampling.observations import Counts, Observations
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

MANY = 2**23
"""Scores from which on they are read in blocks."""

PILOT = 2**20
"""Scores, at most, on which a rule is chosen; more hardly make it better."""

_BLOCK = 2**20
_MOST = 10**9
"""Scores of a kind that the hypergeometric sampler takes."""


class Role(IntEnum):
    """What a score is for."""

    UNUSED = 0
    PILOT = 1
    COUNTED = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyScores:
    """Scores of two kinds of runs with the roles that they were given.

    Attributes:
        kinds: of runs with the record, and without it; arrays, also memory-mapped ones.
        roles: how many of each kind have each role.
        seed: of the roles.
        missing: places of the game without a score; each counts as a wrong answer.
        sign: 1, or -1 for small scores in place of large ones.
    """

    kinds: tuple[Array, Array]
    roles: tuple[dict[Role, int], dict[Role, int]]
    seed: int
    missing: int = 0
    sign: int = 1

    def pilot(self) -> Observations:
        """The scores on which the rule is chosen."""
        found = [np.concatenate(list(self._of(kind, Role.PILOT))) for kind in (0, 1)]
        flags = np.repeat([True, False], [len(scores) for scores in found])
        return Observations(is_in=flags, score=np.concatenate(found))

    def oriented(
        self, pilot: Observations, *, delta: float, alpha: float, curve: bool
    ) -> tuple[ManyScores, Rule]:
        """The scores in the direction in which the pilot promises more, and the rule for it."""
        found = []
        counted = self.missing + sum(roles[Role.COUNTED] for roles in self.roles)
        for sign in (1, -1):
            turned = pilot.with_score(sign * pilot.score)
            rule, promise = chosen_rule(
                turned, counted=counted, delta=delta, alpha=alpha, curve=curve
            )
            found.append((float(promise), sign, rule))
        _, sign, rule = max(found, key=lambda entry: entry[0])  # the first where both are equal
        return replace(self, sign=sign), rule

    def answers(self, rule: Rule) -> Answers:
        """Right and wrong answers of a rule that was chosen on the pilot."""
        right, wrong, runs = 0, self.missing, self.missing
        for kind in (0, 1):
            for scores in self._of(kind, Role.COUNTED):
                above = int((self.sign * scores > rule.upper).sum())
                below = int((self.sign * scores <= rule.lower).sum())
                right += below if kind else above
                wrong += above if kind else below
                runs += len(scores)
        return Answers(right=np.asarray(right), wrong=np.asarray(wrong), runs=runs)

    def counts(self, threshold: float) -> Counts:
        """Right and wrong answers of "IN above the threshold", chosen on the pilot."""
        cells = []
        for kind in (0, 1):
            above = [int((self.sign * s > threshold).sum()) for s in self._of(kind, Role.COUNTED)]
            cells += [sum(above), self.roles[kind][Role.COUNTED] - sum(above)]
        return Counts.of(*cells)

    def _of(self, kind: int, role: Role) -> Iterator[Array]:
        """The scores of a kind that have a role, block by block; the same in every pass."""
        draw = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(kind,)))
        scores, left = self.kinds[kind], np.array([self.roles[kind][r] for r in Role])
        for start in range(0, len(scores), _BLOCK):
            block = np.asarray(scores[start : start + _BLOCK], dtype=np.float64)
            if np.isnan(block).any():
                raise InvalidInput(
                    "scores need to be numbers; got NaN; dropping runs would bias the bound, so give "
                    "them a score of their own, such as -inf"
                )
            taken = draw.multivariate_hypergeometric(left, len(block))
            left -= taken
            given = draw.permutation(np.repeat([int(r) for r in Role], taken).astype(np.int8))
            yield block[given == role]


def many_scores(
    first: Array,
    second: Array,
    *,
    pilot_share: float,
    seed: int,
    game: bool,
    fair_coins: bool = False,
) -> ManyScores:
    """Roles for all scores.

    Args:
        first: of runs with the record.
        second: of runs without it.
        pilot_share: share of the runs on which the rule is chosen, at most; in (0, 1).
        seed: of roles and coins.
        game: whether coins are tossed for which kind hands over a score; see `coin_game`.
        fair_coins: whether every run's world was drawn by its own fair coin; then all count.
    """
    sizes = (len(first), len(second))
    if max(sizes) >= _MOST:
        raise InvalidInput(f"expected fewer than {_MOST} scores of a kind; got {max(sizes)}")
    draw = np.random.default_rng(seed)
    pilot = min(round(pilot_share * sum(sizes)), PILOT)
    if fair_coins or not game:
        in_pilot = int(draw.hypergeometric(*sizes, pilot))
        kept, missing = (in_pilot, pilot - in_pilot), 0
        counted = (sizes[0] - kept[0], sizes[1] - kept[1])
    else:
        each = max(min(round(pilot_share * min(sizes)), PILOT // 2), 2)
        kept = (each, each)
        places = places_of(min(sizes) - each)
        heads = int(draw.binomial(places, 0.5))
        wanted = (heads, places - heads)
        counted = (min(wanted[0], sizes[0] - each), min(wanted[1], sizes[1] - each))
        missing = places - sum(counted)
    roles = [
        {Role.UNUSED: n - k - c, Role.PILOT: k, Role.COUNTED: c}
        for n, k, c in zip(sizes, kept, counted, strict=True)
    ]
    return ManyScores(kinds=(first, second), roles=(roles[0], roles[1]), seed=seed, missing=missing)
