"""The noisy rounds of the nodes that may differ, and what they cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dpcalc.accounting.enclosure import relative_width
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.guarantees import Guarantee, PureDP, WorstOf, compose
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.objective_perturbation import (
    moved_noise,
    normally_perturbed_update,
    perturbed_update,
)
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency

_MOST_DIFFERENT = 256
"""Rounds of a node that are composed by laws of their own; more are merged, rounded up."""

_MOST_NODES = 8
"""Nodes none of which is the worst in every round that are composed one by one."""

_CELLS, _FEWEST_CELLS, _MOST_CELLS, _ALONE = 12_000, 80, 1000, 8000
"""Cells of all rounds' laws together, of one at least and at most, and of a single round."""

_WIDE, _CELLS_OF_WIDE = 2.5e-3, 4000
"""Relative width of enclosures from which on so few serve: they raise ε by some 5e-5 of it."""


@dataclass(frozen=True, slots=True)
class Round:
    """One noisy update of one node; every number rounded up, or every one down.

    Attributes:
        cost: ε at δ = 0.
        bound: a, the effective noise rate times C/B.
        curvature: κ, or κc₁ if gradient and curvature are not tied.
    """

    cost: float
    bound: float
    curvature: float

    @classmethod
    def of_cost(cls, cost: float) -> Round:
        """One of which nothing else is asked."""
        return cls(cost, 0.0, 0.0)

    def exceeds(self, other: Round, *, in_law: bool) -> bool:
        """Whether it costs at least as much, at δ = 0 or in the law of its loss."""
        if in_law and (self.bound < other.bound or self.curvature < other.curvature):
            return False
        return self.cost >= other.cost


Rounds = tuple[tuple[Round, int], ...]
"""Rounds of one node with how many there are of each."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What all rounds share.

    Attributes:
        dimension: coordinates that carry noise.
        tied: whether a record's gradient and curvature are tied as for the logistic loss.
        adjacency: replace-one or add-remove.
    """

    dimension: int
    tied: bool
    adjacency: Adjacency

    def update(self, each: Round, cells: int) -> Guarantee:
        """One round by the law of its loss."""
        update = Update(each.bound, each.curvature, self.dimension, self.tied, cells)
        return perturbed_update(update, self.adjacency, each.cost)


@dataclass(frozen=True, slots=True)
class NormalNoise:
    """The same for normal noise, whose law is that of the line in every dimension."""

    tied: bool
    adjacency: Adjacency

    def update(self, each: Round, cells: int) -> Guarantee:
        """One round, ``bound`` its largest gradient over the standard deviation."""
        update = GaussianUpdate(each.bound, each.curvature, self.tied, cells)
        return normally_perturbed_update(update, self.adjacency)


def largest_total(nodes: Sequence[Rounds]) -> tuple[float, int]:
    """The largest plain sum of a node's costs, rounded up, and the node's number from 1."""
    totals = [_total_cost(rounds) for rounds in nodes]
    beta = max(totals)
    return beta, totals.index(beta) + 1


def _total_cost(rounds: Rounds) -> float:
    total = mpf(0)
    for each, n in rounds:
        total += mpf(each.cost) * n
    return round_up(total)


def over_nodes(nodes: Sequence[Rounds], noise: Noise | None) -> Guarantee:
    """The worst node's composition; nodes that another one exceeds in every round are left out.

    Args:
        nodes: rounds of every node that may differ, alike in how many there are of each.
        noise: for the bound by the noise's own law; None for that of the pure costs.
    """
    kept = _undominated(nodes, in_law=noise is not None)
    pure = {
        label: compose(*[(PureDP(r.cost), n) for r, n in rounds]) for label, rounds in kept.items()
    }
    if noise is None:
        return _worst(pure)
    if len(kept) > _MOST_NODES:
        together = composed(_upper(list(kept.values())), noise)
        return BestOf((together, _worst(pure)))
    return _worst({label: BestOf((composed(kept[label], noise), pure[label])) for label in kept})


def _undominated(nodes: Sequence[Rounds], *, in_law: bool) -> dict[int, Rounds]:
    """Rounds by the number of their node, without those that another node exceeds in every round.

    Of nodes that exceed each other the first is kept.
    """
    kept: dict[int, Rounds] = {}
    for label, rounds in enumerate(nodes, start=1):
        if any(_exceeds(other, rounds, in_law=in_law) for other in kept.values()):
            continue
        others = kept.items()
        kept = {k: v for k, v in others if not _exceeds(rounds, v, in_law=in_law)}
        kept[label] = rounds
    return kept


def _exceeds(rounds: Rounds, others: Rounds, *, in_law: bool) -> bool:
    pairs = zip(rounds, others, strict=True)
    return all(x.exceeds(y, in_law=in_law) for (x, _), (y, _) in pairs)


def _worst(cases: dict[int, Guarantee]) -> Guarantee:
    return next(iter(cases.values())) if len(cases) == 1 else WorstOf(tuple(cases.items()))


def _upper(nodes: Sequence[Rounds]) -> Rounds:
    """A node whose every round costs as much as the worst node's."""
    return tuple(
        (
            Round(
                max(r.cost for r, _ in same),
                max(r.bound for r, _ in same),
                max(r.curvature for r, _ in same),
            ),
            same[0][1],
        )
        for same in zip(*nodes, strict=True)
    )


def composed(rounds: Rounds, noise: Noise | NormalNoise) -> Guarantee:
    """Rounds composed by the laws of their losses."""
    found = merged(rounds)
    most = _ALONE if sum(n for _, n in found) == 1 else _MOST_CELLS
    together = _CELLS if relative_width() < _WIDE else _CELLS_OF_WIDE
    cells = min(most, max(_FEWEST_CELLS, together // len(found)))
    return compose(*[(noise.update(each, cells), n) for each, n in found])


def merged(rounds: Rounds, *, up: bool = True) -> Rounds:
    """Equal rounds added up, near ones made equal where different ones are too many.

    Args:
        rounds: of one node.
        up: whether rounds that are made equal may only cost more; otherwise only less.
    """
    found = _counted(rounds, up=up)
    for k in range(-12, 11):
        if len(found) <= _MOST_DIFFERENT:
            break
        found = _counted([(_rounded(r, 2.0**k, up=up), n) for r, n in rounds], up=up)
    return found


def _counted(rounds: Iterable[tuple[Round, int]], *, up: bool) -> Rounds:
    """Rounds with the same bound and curvature added up, at the largest or least of their costs."""
    worst = max if up else min
    counts: dict[tuple[float, float], tuple[float, int]] = {}
    for each, n in rounds:
        key = each.bound, each.curvature
        cost, before = counts.get(key, (each.cost, 0))
        counts[key] = worst(cost, each.cost), before + n
    return tuple((Round(cost, *key), n) for key, (cost, n) in counts.items())


def _rounded(each: Round, log_ratio: float, *, up: bool) -> Round:
    """With bound and curvature rounded to a geometric grid."""
    whole, worse = (math.ceil, max) if up else (math.floor, min)

    def snapped(value: float) -> float:
        return worse(value, math.exp(whole(math.log(value) / log_ratio) * log_ratio))

    return replace(each, bound=snapped(each.bound), curvature=snapped(each.curvature))


def attained(rounds: Rounds, noise: Noise) -> Guarantee:
    """What one node's rounds really leak, their numbers rounded down.

    Records whose margins lie far out have constant gradients and no curvature, so that a round is
    noise moved by a constant: by 2C/B where opposite records replace each other, by C/B where one
    is added or removed. In one dimension opposite records cannot both have steep losses; a record
    and the same with the other label move it by C/B, wherever the iterate is. At δ = 0 the ratio of
    one outcome decides, whose margins may lie where the cost is largest.
    """
    twice = noise.adjacency == Adjacency.REPLACE_ONE and noise.dimension > 1
    alone = noise.adjacency == Adjacency.REPLACE_ONE and noise.dimension == 1
    return compose(
        *[
            (
                moved_noise(
                    (2 if twice else 1) * r.bound, noise.dimension, r.bound if alone else r.cost
                ),
                n,
            )
            for r, n in merged(rounds, up=False)
        ]
    )
