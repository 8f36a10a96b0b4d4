"""Which rounds of a sum are listed: few, with losses that are large next to those of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpcalc.accounting.composition.graded_sums import largest, of_equal
from dpcalc.accounting.composition.lattice.rounds import Round, rounds_of
from dpcalc.accounting.composition.listed_losses import Outline, of_density, of_outcomes
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.outcomes import Outcomes, outcomes
from dpcalc.accounting.losses import DiscreteLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss

_MOST_OUTCOMES, _MOST_LISTS = 2000, 2
"""Outcomes of all rounds that have few; and lists of rounds that have densities."""

_MOST_EQUAL = 64
"""Equal rounds that are one list, if their losses are bounded."""

_FINE, _EQUAL = 1e-2, 1e-4
"""Of the losses of the finest rounds, how fine lists of equal ones are; how much finer if all are."""

_APART, _COARSER = 30.0, 3.0
"""How many times larger losses of a density are than those of the finest rounds if they are listed,
and losses with few outcomes than all others."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A sum in two.

    Attributes:
        outlines: of the rounds that are listed.
        rest: the others.
    """

    outlines: tuple[Outline, ...]
    rest: LossSum


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Equal rounds without a list of their own; about the deviation of their sum; how to cut one."""

    scale: float
    round: Round | None
    loss: PrivacyLoss
    count: int

    @classmethod
    def of(cls, loss: PrivacyLoss, count: int) -> _Candidate:
        made = rounds_of([(loss, 1)]) or []
        scale = math.sqrt(sum(_variance(one.rough) * one.count for one in made) * count)
        cut = made[0] if len(made) == 1 and made[0].pair is not None else None
        return cls(scale or math.inf, cut, loss, count)

    @property
    def most(self) -> int:
        """How many may be listed."""
        pair = None if self.round is None else self.round.pair
        if pair is None:
            return 0
        return _MOST_EQUAL if largest(pair) < math.inf else 1

    def times(self, count: int) -> _Candidate:
        """So many of them."""
        return replace(self, scale=self.scale * math.sqrt(count / self.count), count=count)


def parted(total: LossSum, tail: float) -> Parting | None:
    """Rounds to list, and the others; None if there are none of either.

    Args:
        total: the losses.
        tail: P-mass that may be left on either side of what is cut of a round.
    """
    few: list[tuple[PrivacyLoss, int]] = []
    others: list[tuple[PrivacyLoss, int]] = []
    for part in total.parts:
        discrete = isinstance(part[0], DiscreteLoss | RandomisedResponseLoss)
        (few if discrete and _outcomes([*few, part]) is not None else others).append(part)
    candidates = [_Candidate.of(*part) for part in others]
    finest = min((one.scale for one in candidates), default=0.0)
    dense, rest = _dense(candidates, finest)
    listed = _outcomes(few) if few else None
    if not rest or _scale(dense, listed) < _COARSER * _scale(rest):
        # The others decide. Equal rounds may be told from as many others all the same; what is asked of
        # many more is as wide as what is asked of all, and costs as much each time.
        dense, rest = [], candidates
        if few or len(rest) != 1:
            return None
        taken = min(rest[0].count - 1, rest[0].most)
        if rest[0].count > 2 * taken:
            return None
        dense, rest = [rest[0].times(taken)], [rest[0].times(rest[0].count - taken)]
        finest *= _EQUAL
    outlines = [] if listed is None else [of_outcomes(listed)]
    outlines += [_outline(one, finest * _FINE, tail) for one in dense]
    return Parting(tuple(outlines), LossSum.of((one.loss, one.count) for one in rest))


def _dense(
    candidates: Sequence[_Candidate], finest: float
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Rounds with densities to list, and the others."""
    cut: list[_Candidate] = []
    rest: list[_Candidate] = []
    for one in sorted(candidates, key=lambda each: -each.scale):
        apart = one.scale > _APART * finest and one.count <= one.most
        (cut if apart and len(cut) < _MOST_LISTS else rest).append(one)
    return cut, rest


def _outline(one: _Candidate, scale: float, tail: float) -> Outline:
    assert one.round is not None  # noqa: S101 # others are not listed
    if one.count == 1:
        return of_density(one.round, tail)
    return of_equal(one.round, one.count, scale, tail)


def _scale(some: Sequence[_Candidate], listed: Outcomes | None = None) -> float:
    """About the deviation of a sum."""
    law = None if listed is None else DiscreteLoss(listed.losses, listed.masses)
    few = 0.0 if law is None else math.sqrt(_variance(law))
    return math.hypot(few, *(one.scale for one in some))


def _variance(law: DiscreteLoss) -> float:
    """About that of a loss."""
    mean = float((law.masses * law.losses).sum())
    return float((law.masses * (law.losses - mean) ** 2).sum())


def _outcomes(parts: Sequence[tuple[PrivacyLoss, int]]) -> Outcomes | None:
    """All outcomes, if they are few."""
    found = outcomes(parts)
    return found if found is not None and len(found.losses) <= _MOST_OUTCOMES else None
