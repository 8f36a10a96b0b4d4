"""Lattices for a certificate. All of it is a choice: any lattice gives true bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from flint import arb

from dpcalc.accounting.composition.sampled_blocks import block_size
from dpcalc.certificates.balls import precision
from dpcalc.certificates.chi_square import FIELDS, REACH
from dpcalc.certificates.effort import most_effort
from dpcalc.certificates.grammar import number
from dpcalc.certificates.lattice import Masses, spread, summed
from dpcalc.certificates.laws import Law, Rounds, Table
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.meter import Exhausted, allowed

PERTURBED = frozenset({"exponentially-perturbed-update", "normally-perturbed-update"})
"""Mechanisms known by bounds of their divergences alone."""

_FINENESS = 300, 1500, 6000
"""Points of a typical round, one after the other while a number is not decided."""

_POINTS = 15_000
"""Of all different rounds together."""

_COARSE, _LARGEST, _WORK = 65, 60_000, 400_000
"""Points with which lattices are chosen, the largest place on one, and that times all squarings."""

_WIDEST = 1e12
"""Losses of one round beyond it, or below its inverse, are not looked at."""

_NEGLIGIBLE = 1e-6
"""What of δ is left beyond the ends."""

_BITS, _COARSE_BITS = 64, 160
"""Next to those that lattices and small masses need; and while they are chosen."""

_FEWEST_BLOCKED, _LARGEST_CHI_SQUARE = 8, 10.0
"""Rounds, and their χ²-divergences added up, for which blocks may give the least."""

_PARTS, _BLOCK_BITS = 32, 128
"""Into how many parts a block is divided at least, if it has as many rounds; bits."""

_PER_DEVIATION, _DEVIATIONS, _BLOCK_DEVIATIONS = (5.4, 7.0), 6.5, 12.0
"""Points in a block's standard deviation, how many of the whole they reach, and in a block's sum."""

_BEYOND = 1.3
"""How many times an ε they reach, which of few rounds is farther."""

_FINER = 2.0
"""By how much its rounds' lattice is finer, times the root of their number."""

_APART = 3_000
"""Places on a lattice from which on large losses are taken apart."""

_SHARE = 100
"""By which share of itself a place is farther than the one before."""

_MISSED = 1e-5
"""Of what a block may take of δ: what more than one large loss may count for."""

_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


def lattices(statement: dict[str, Any], delta: Fraction, reverse: bool) -> Iterator[dict[str, Any]]:
    """The fields of lattices that reach far enough, coarse ones first."""
    with precision(_COARSE_BITS):
        rounds = rounds_of(statement["releases"], statement["adjacency"], reverse)
        log_delta = math.log(float(delta) * _NEGLIGIBLE)
        total = sum(n for _, n in rounds)
        widths = [1.0]
        for law, _ in rounds:
            widths.append(_width(law, math.exp(log_delta) / total, widths[-1]))
        del widths[0]
        typical = math.sqrt(
            math.fsum(n * w * w for (_, n), w in zip(rounds, widths, strict=True)) / total
        )
        reach = _reach(rounds, widths, log_delta)
        squares = sum(n.bit_length() for _, n in rounds)
    for fineness in sorted({min(each, _POINTS // len(rounds)) for each in _FINENESS}):
        step = repr(typical / fineness)
        most = math.ceil(reach / float(step))
        if most <= _LARGEST and most * squares <= _WORK:
            points = [math.ceil(width / float(step)) + 1 for width in widths]
            fields = {"step": step, "points": points, "reach": most}
            bits = _bits(log_delta, float(step))
            yield {"method": "lattice", "precision": bits, **fields}


def blocks(law: Law, count: int, delta: float, epsilon: float) -> Iterator[dict[str, Any]]:
    """The fields of blocks of rounds whose χ²-divergence is bounded, coarse ones first."""
    if not law.chi_square.is_finite() or count < _FEWEST_BLOCKED:
        return
    one = float(law.chi_square)
    if not count * one < _LARGEST_CHI_SQUARE:
        return
    size, wide, least = block_size(count), 1.0, delta * _NEGLIGIBLE / count
    while not law.profile(arb(wide)) < least:
        wide *= 1.1
    while wide > 1 / _WIDEST and law.profile(arb(wide * 0.9)) < least:
        wide *= 0.9
    for per_deviation in _PER_DEVIATION:
        divided = partial(_divided, law, wide, delta / count, per_deviation)
        found = divided(count, size, epsilon)
        fields = dict(zip(FIELDS, found, strict=True))
        if size == 1:
            yield {"method": "chi-square", "precision": _BLOCK_BITS, **fields}
        else:
            parts = divided(size, max(1, size // _PARTS), 0.0)
            method = "chi-square in parts"
            yield {"method": method, "precision": _BLOCK_BITS, **fields, "parts": parts}


def _divided(
    law: Law,
    wide: float,
    spent: float,
    per_deviation: float,
    count: int,
    size: int,
    epsilon: float,
) -> list[Any]:
    """The values of FIELDS for rounds in blocks.

    Args:
        law: of a round.
        wide: how far the losses of a round reach.
        spent: what of δ a round takes.
        per_deviation: points in a block's standard deviation.
        count: how many rounds.
        size: of a block.
        epsilon: that they reach beyond.
    """
    one = float(law.chi_square)
    deviation = math.sqrt(math.expm1(size * math.log1p(one)))
    spacing = float(f"{deviation / per_deviation:.3g}")
    last_point = max(_DEVIATIONS * math.sqrt(2 * count * one), _BEYOND * epsilon)
    reach = min(math.ceil(last_point / spacing), REACH)
    width, fine = wide + _BLOCK_DEVIATIONS * deviation, spacing / math.ceil(_FINER * size**0.5)
    if size > 1 and width > _APART * fine:
        apart = _apart(law, size, spent, wide, deviation, fine)
        return [repr(spacing), reach, size, *apart]
    step = max(fine, width / (_LARGEST - 2))
    points, places = math.ceil(wide / step) + 1, math.ceil(width / step) + 1
    return [repr(spacing), reach, size, repr(step), points, places]


def _apart(
    law: Law, size: int, spent: float, wide: float, deviation: float, fine: float
) -> tuple[str, list[int], int]:
    """Step, points and width where the large losses of a block's rounds are taken apart.

    Args:
        law: of a round.
        size: of a block.
        spent: what of δ a round takes.
        wide: how far the losses of a round reach.
        deviation: of a block.
        fine: a step, next to which a little smaller one is chosen.
    """
    near = deviation
    while near < wide and size * _often(law, near) ** 2 * near > _MISSED * spent:
        near *= 1.1
    width = 2 * near + _BLOCK_DEVIATIONS * deviation
    step = max(fine * (1 - 1e-9), width / (_LARGEST - 2))
    first = math.ceil(near / step) + 1
    more = math.ceil(math.log(max(wide / near, 1.0)) / math.log1p(1 / _SHARE)) + _SHARE
    return repr(step), [first, _SHARE, more], math.ceil(width / step) + 1


def _often(law: Law, place: float) -> float:
    """About how often a round's loss is above a place."""
    nearer = law.profile(arb(place / 1.02)) - law.profile(arb(place))
    return float(nearer) / (place - place / 1.02)


@lru_cache(maxsize=4)
def masses(releases: str, adjacency: str, reverse: bool, how: str) -> Masses | None:
    """What a lattice makes of releases, None if the checker would give it up.

    A few are kept, as δ is asked for at several ε.

    Args:
        releases: of a certificate, as JSON.
        adjacency: the neighbouring relation.
        reverse: whether P is the law without the record.
        how: the lattice, as JSON.
    """
    chosen, known = json.loads(how), json.loads(releases)
    most = most_effort({"releases": known, "adjacency": adjacency}, chosen)
    try:
        with precision(chosen["precision"]), allowed(most):
            rounds = rounds_of(known, adjacency, reverse)
            return summed(rounds, number(chosen["step"]), chosen["points"], chosen["reach"])
    except Exhausted:
        return None


def least_epsilon(total: Masses, step: float, delta: float) -> str:
    """The least ε, in six digits, at which a lattice bounds δ(ε) by δ; "" if there is none."""
    reach = len(total) // 2
    infinite = float((1 - sum(total, arb(0))).upper())
    held = [(step * (j - reach), float(mass)) for j, mass in enumerate(total) if j > reach]
    goal = delta * (1 - _NEGLIGIBLE)

    def lost(eps: float) -> float:
        return infinite + math.fsum(m * -math.expm1(eps - x) for x, m in held if x > eps)

    low, high = 0.0, step * reach
    if not lost(high) < goal:
        return ""
    while high - low > high * 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if lost(middle) < goal else (middle, high)
    return rounded_up(high)


def rounded_up(epsilon: float) -> str:
    """An ε in six digits, as a certificate writes numbers."""
    return str(_DIGITS.plus(Decimal(epsilon))).lower()


def _bits(log_tail: float, step: float) -> int:
    """Second differences are taken twice, each over the square of a step."""
    return _BITS + math.ceil((-log_tail - 4 * min(0.0, math.log(step))) / math.log(2))


def _width(law: Law, level: float, start: float) -> float:
    """How far the losses of one round reach, more or less, beginning at a guess."""

    def small(width: float) -> bool:
        ends = (table[-1] - law.infinite for table in _coarse(law, width))
        return max(float(end.upper()) for end in ends) < level

    while not small(start) and start < _WIDEST:
        start *= 2
    while start > 1 / _WIDEST and small(start * 0.75):
        start *= 0.75
    return start


def _coarse(law: Law, width: float) -> tuple[Table, Table]:
    return law.bounds(arb(width) / (_COARSE - 1), _COARSE)


def _reach(rounds: Rounds, widths: list[float], log_tail: float) -> float:
    """Where Chernoff's inequality leaves next to nothing of the summed loss."""
    known = []
    for (law, n), width in zip(rounds, widths, strict=True):
        step = arb(width) / (_COARSE - 1)
        above, below = _coarse(law, width)
        masses = spread(above, below, step, _COARSE)
        atoms = [(float(step) * j, float(m)) for j, m in enumerate(masses, -_COARSE) if m > 0]
        known.append((n, atoms))

    def quantile(order: float) -> float:
        logs = (
            n * math.log(math.fsum(m * math.exp(order * x) for x, m in atoms)) for n, atoms in known
        )
        return (math.fsum(logs) - log_tail) / order

    largest = min(300 / max(widths), _WIDEST)
    return min(quantile(largest * 0.8**k) for k in range(60))
