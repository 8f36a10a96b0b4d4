"""Compose privacy losses numerically, with a two-sided answer.

Statement
    For adaptively composed mechanisms with dominating pairs (P_t, Q_t), the composition is
    dominated by the product pair, whose privacy loss is the sum of independent losses
    (Zhu, Dong and Wang 2022, theorem 10). The brackets enclose the exact answer for the product
    pair; with several directions, that for the worst of them.
Rounding
    The upper end is never below and the lower end never above the exact value: see
    `dpcalc.accounting.contour.contour_sum` for what the enclosure covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpcalc import checks
from dpcalc.accounting.composition.curve import FARTHEST, DeltaCurve
from dpcalc.accounting.composition.driver import worst_direction
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.neighbours import current_neighbours
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.enclosure import relative_width as default_width
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.numerics.arithmetic import own_arithmetic

__all__ = [
    "DeltaCurve",
    "bracket_delta",
    "bracket_epsilon",
    "certain_delta",
    "certain_epsilon",
    "worst_delta",
    "worst_deltas",
    "worst_epsilon",
]

Losses = Iterable[tuple[PrivacyLoss, int]]


def bracket_epsilon(
    losses: Losses, delta: float, *, relative_width: float | None = None
) -> Bracket:
    """Enclose the smallest ε for which the composition is (ε, δ)-DP in this direction.

    Args:
        losses: privacy losses and the number of rounds each is used.
        delta: in (0, 1).
        relative_width: width aimed at, relative to ε; a cap on the work may leave it wider. By
            default that of `dpcalc.accounting.enclosure`.
    """
    return worst_epsilon([losses], delta, relative_width=relative_width)


def bracket_delta(
    losses: Losses, epsilon: float, *, relative_width: float | None = None
) -> Bracket:
    """Enclose δ(ε) of the composition in this direction.

    Args:
        losses: privacy losses and the number of rounds each is used.
        epsilon: 0 or above.
        relative_width: width aimed at, relative to δ, likewise.
    """
    return worst_delta([losses], epsilon, relative_width=relative_width)


@own_arithmetic
def worst_epsilon(
    directions: Iterable[Losses], delta: float, *, relative_width: float | None = None
) -> Bracket:
    """`bracket_epsilon` for the direction in which ε is largest."""
    checks.proper_delta(delta)
    totals = [LossSum.of(each) for each in directions]
    query = EpsilonAt(delta, relative_width or _width(totals))
    neighbours = current_neighbours()
    if neighbours is None:
        return worst_direction(totals, query)
    known = neighbours.known(totals, delta)
    if known is not None and known.relative_width <= query.relative_width:
        return known
    found = worst_direction(totals, query, known)
    neighbours.add(totals, delta, found)
    return found


@own_arithmetic
def worst_delta(
    directions: Iterable[Losses], epsilon: float, *, relative_width: float | None = None
) -> Bracket:
    """`bracket_delta` for the direction in which δ is largest."""
    checks.non_negative("epsilon", epsilon)
    totals = [LossSum.of(each) for each in directions]
    width = relative_width or _width(totals)
    found = worst_direction(totals, DeltaAt(min(epsilon, FARTHEST), width))
    if epsilon <= FARTHEST:
        return found
    certain = max((total.certain_mass for total in totals), default=0.0)
    return Bracket(min(found.lower, certain), found.upper, found.method)


def _width(totals: Sequence[LossSum]) -> float:
    return default_width(max((len(total.parts) for total in totals), default=1))


@own_arithmetic
def worst_deltas(directions: Iterable[Losses], epsilons: Sequence[float]) -> list[float]:
    """Upper bounds of δ at each of several ε, in the worst direction at each; see `DeltaCurve`."""
    for epsilon in epsilons:
        checks.non_negative("epsilon", epsilon)
    return [high for _, high in DeltaCurve.of(directions).ends(epsilons)]


def certain_delta(directions: Iterable[Losses]) -> float:
    """At most δ at every ε: what infinite losses take, as far as they surely happen."""
    return max((LossSum.of(each).certain_mass for each in directions), default=0.0)


def certain_epsilon(directions: Iterable[Losses]) -> float:
    """What the largest losses take at δ = 0, as far as they surely happen; a lower bound of ε."""
    return max((LossSum.of(each).epsilon_of_largest(0.0) for each in directions), default=0.0)
