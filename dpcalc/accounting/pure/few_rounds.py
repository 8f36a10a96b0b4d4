"""ε of so few rounds of pure and approximate differential privacy that sums of doubles do.

Statement
    Rounds with parameters (ε_i, δ_i) have a worst case: with probability 1 - q, q = Π(1 - δ_i),
    everything is revealed; else the loss is a sum of those of randomised response, with values L_j of
    probabilities m_j: ``δ(ε) = 1 - q + q Σ m_j (1 - e^{ε-L_j})₊``.
Source
    Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016.
Proof
    A sum of positive parts is the largest sum over any set of its terms, here over the k largest
    losses for some k. So ε is the largest over k of the ε_k at which those k terms alone add up to
    d = (δ - 1 + q)/q. Let ``D_k = Σ m_j (1 - e^{L_k-L_j})`` and ``B_k = Σ m_j e^{L_k-L_j}`` over
    j <= k. The k terms are D_k + B_k(1 - e^{ε-L_k}), hence ``ε_k = L_k + ln(1 - (d - D_k)/B_k)``,
    or there is none where that quotient is 1 or more. D_k grows with k, and once it exceeds d, which
    puts L_k below ε, no later ε_k is larger than those before.
Rounding
    Masses are off by a relative error, which counts as one of d, and losses by an absolute one, which
    moves ε as much. Every ε_k is followed by a bound of what it is off by; elementary functions are
    taken to be right to four units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpcalc.accounting.enclosure import Bracket

METHOD = "sum over all outcomes"

_UNIT = 2.0**-53
_ELEMENTARY = 8 * _UNIT
_MOST = 64
"""Rounds, and values of the sum of their losses."""

_LEAST_BOUND, _MOST_LOSS = 1e-100, 20.0
"""Of a round's ε, and of their sum: in between every number is a normal double."""

_MOST_FAILING = 0.5
_NEGLIGIBLE = 1e-9
"""1 - (d - D_k)/B_k below this puts ε_k below L_k - 20.7, hence below zero."""

Atoms = list[tuple[float, float]]


def few_rounds_epsilon(
    rounds: Mapping[float, int], failures: Mapping[float, int], delta: float
) -> Bracket | None:
    """The smallest ε of few rounds; None where others have to answer.

    They have to for rounds or outcomes that are many, numbers at the ends of their range, and answers
    that are zero, infinite, or next to the sum of all ε_i.

    Args:
        rounds: ε_i above 0 -> number of such rounds.
        failures: δ_i in (0, 1) -> number of such rounds.
        delta: in (0, 1).
    """
    count = sum(rounds.values())
    if not 0 < count <= _MOST or sum(failures.values()) > _MOST or min(rounds) < _LEAST_BOUND:
        return None
    values, total = 1, 0.0
    for bound, n in rounds.items():
        values, total = values * (n + 1), total + n * bound
    if values > _MOST or total > _MOST_LOSS:
        return None
    level, error = _level(failures, delta)
    if not level > error:
        return None
    # A probability is a power of one, a power of the odds, and a binomial coefficient: an error for
    # every round in each, and a few for every kind of round.
    error += (3 * count + 5 * len(rounds)) * _ELEMENTARY * level
    low, high = _crossing(_atoms(rounds), level, error)
    slip = 2 * _UNIT * (len(rounds) + 4) * total
    low, high = low - slip, high + slip
    return Bracket(low, high, METHOD) if low > 0 and high < total * (1 - 16 * _UNIT) else None


def _level(failures: Mapping[float, int], delta: float) -> tuple[float, float]:
    """d, and at least what it is off by; (0, 0) where failures are frequent."""
    held = 0.0
    for failure, n in failures.items():
        held += n * math.log1p(-failure)
    if held < math.log1p(-_MOST_FAILING):
        return 0.0, 0.0
    relative = 2 * _ELEMENTARY + (len(failures) + 4) * _UNIT  # of what fails, and of what does not
    revealed, kept = -math.expm1(held), math.exp(held)
    left = delta - revealed
    return left / kept, 1.01 * relative * (revealed + 2 * abs(left)) / kept


def _atoms(rounds: Mapping[float, int]) -> Atoms:
    """Losses with their probabilities, the largest first."""
    atoms = [(0.0, 1.0)]
    for bound, n in rounds.items():
        odds = math.exp(-bound)
        most = (1 / (1 + odds)) ** n
        one = [((n - 2 * k) * bound, math.comb(n, k) * odds**k * most) for k in range(n + 1)]
        atoms = [(loss + each, mass * m) for loss, mass in atoms for each, m in one]
    if len(rounds) > 1:
        atoms.sort(reverse=True)
    return atoms


def _crossing(atoms: Atoms, level: float, error: float) -> tuple[float, float]:
    """Bounds of the largest ε_k, for a level that is off by at most ``error``."""
    low = high = -math.inf
    place, reached, weight, relative = atoms[0][0], 0.0, 0.0, 0.0
    for loss, mass in atoms:
        fall = loss - place  # 0 or below
        reached -= weight * math.expm1(fall)
        weight = weight * math.exp(fall) + mass
        place = loss
        relative += 12 * _UNIT - fall * _UNIT  # of both
        if reached * (1 - relative) > level + error:
            break
        share = (level - reached) / weight
        left = 1 - share
        off = (error + relative * reached) / weight + (relative + 4 * _UNIT) * abs(share)
        if left + off <= _NEGLIGIBLE:
            continue
        if off > 0.01 * left:
            return -math.inf, math.inf
        change = math.log1p(-share)
        off = 1.02 * off / left + _ELEMENTARY * abs(change) + 4 * _UNIT * (abs(loss) + abs(change))
        low, high = max(low, loss + change - off), max(high, loss + change + off)
    return low, high
