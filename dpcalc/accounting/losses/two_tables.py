"""Two finite distributions in whole numbers, and what doubles tell of their privacy loss.

Statement
    Probabilities are whole numbers over one denominator, exactly as they were given; they are
    normalised by their sum. The two laws of `laws_in_doubles`, of ln(p/q) under P and of ln(q/p)
    under Q, are for moments (`closed_moments.atoms_moments`): of every adaptive sequence of orders
    the moments are at most products of the larger of the two, so that a round that may meet either
    order needs no pair that dominates both.
Rounding
    A quotient of whole numbers is the nearest double. A loss l is ``log1p((p - q)/q)`` while p/q is
    in [1/2, 2], where a relative error u of the argument x is one of l of at most ``u·x/((1+x)l)``,
    1.45 u; elsewhere ``log(p/q)`` or ``-log(q/p)`` of a quotient above 2, where it is one of at most
    u/ln 2. With the function's own 8 u a loss is right to 10 u of itself. Masses are right to u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcalc import checks
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.errors import InvalidInput
from dpcalc.numerals import ratio
from dpcalc.numerics.precise import Real, context, mpf

Whole = list[int]
"""Probabilities times a common denominator."""

_LEAST_MASS = 1e-300


def whole_numbers(p: Sequence[float], q: Sequence[float]) -> tuple[Whole, Whole]:
    """Two distributions on the same finite set.

    Raises:
        InvalidInput: for numbers that are no probabilities, sums off 1, or different lengths.
    """
    whole = _whole("p", p), _whole("q", q)
    if len(p) != len(q):
        raise InvalidInput(
            f"p and q need the same outcomes; got {len(p)} and {len(q)} probabilities"
        )
    return whole


def _whole(name: str, probabilities: Sequence[float]) -> Whole:
    if not probabilities:
        raise InvalidInput(f"{name} needs at least one probability; got none")
    ratios = [ratio(checks.probability(name, value)) for value in probabilities]
    common = math.lcm(*(bottom for _, bottom in ratios))
    found = [top * (common // bottom) for top, bottom in ratios]
    total = sum(found)
    if abs(total - common) * 10**9 > common:
        raise InvalidInput(
            f"the probabilities {name} need to sum to 1; their sum is {total / common!r}"
        )
    return found


def largest_loss(p: Whole, q: Whole) -> Real:
    """The largest of all |ln(p/q)|, with sixty digits; infinite where only one of them is zero."""
    total_p, total_q = sum(p), sum(q)
    above, below = 1, 1
    for a, b in zip(p, q, strict=True):
        if a == 0 or b == 0:
            if a != b:
                return mpf(math.inf)
            continue
        small, large = sorted((a * total_q, b * total_p))
        if large * below > above * small:
            above, below = large, small
    return context().log(mpf(above) / below)


def laws_in_doubles(p: Whole, q: Whole, *, both: bool) -> tuple[DiscreteLoss, ...] | None:
    """The law of ln(p/q) under P, and that of ln(q/p) under Q if ``both`` are asked for.

    None where a loss is infinite, a ratio no double, or a mass too small for a full mantissa.
    """
    total_p, total_q = sum(p), sum(q)
    rows = []
    try:
        for a, b in zip(p, q, strict=True):
            if a == 0 and b == 0:
                continue
            rows.append((_loss(a * total_q, b * total_p), a / total_p, b / total_q))
    except (ZeroDivisionError, OverflowError):
        return None
    losses, under_p, under_q = np.array(rows).T.copy()
    if min(under_p.min(), under_q.min()) < _LEAST_MASS:
        return None
    forth = DiscreteLoss(losses, under_p)
    return (forth, DiscreteLoss(-losses, under_q)) if both else (forth,)


def _loss(p: int, q: int) -> float:
    """ln(p/q)."""
    if 2 * q < p:
        return math.log(p / q)
    return -math.log(q / p) if 2 * p < q else math.log1p((p - q) / q)
