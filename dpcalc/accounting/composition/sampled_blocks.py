"""The profile of rounds on samples without replacement, by blocks that numbers of rounds share.

Statement
    Rounds are divided into blocks of one size and a shorter one, of whose two laws the profile and
    the χ²-divergence are bounded: `dpcalc.accounting.composition.chi_square`. The shorter block is
    a part of a longer one, so that its profile is at most that of the others. The profile of a
    block is the smaller of two: of its dominating pairs, and of its own rounds in shorter blocks.
Source
    docs/theorems/private-dual-averaging.md, with the proof.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.accounting.composition import worst_deltas
from dpcalc.accounting.composition.chi_square import (
    LimitedBlock,
    LimitedProfile,
    followed,
    nothing,
)
from dpcalc.accounting.composition.curve import one_lattice
from dpcalc.accounting.composition.driver import begin
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.contour.shared import alone, is_shared
from dpcalc.accounting.enclosure import relative_width
from dpcalc.accounting.gaussian import gaussian_delta_bounds
from dpcalc.accounting.losses.subsampled_gaussian import WithoutReplacement
from dpcalc.numerics.precise import context, mpf, round_up

if TYPE_CHECKING:
    from dpcalc.accounting.losses.distribution import Reals

_FEWEST_BLOCKS = 48
"""Rounds are divided into so many whole blocks at least; half as many more, or all rounds if few."""

_PARTS = 32
"""Into how many shorter blocks, up to half as many more, a block is divided; into rounds if few."""

_POINTS_PER_DEVIATION = 5
_DEVIATIONS = 6.5
"""Lattice points in a block's standard deviation, and how many of the whole they reach."""

_LOST = 1e-14
"""More than a few operations in doubles lose."""

_NEGLIGIBLE = 1e-20
_NEAR = (64, 192)
"""Points beyond which a block's δ is often negligible: normal tails, and heavier ones."""

_CONVOLVED = 1024
"""Points of the lattice on which a block's rounds are convolved: ε is right to four digits or so."""

_WIDE = 2e-4
"""Relative width from which on answers of a line may have levels that are a little off."""

_COARSE = 0.1
"""Relative width that tells how far a block's δ has to be followed."""


def chi_square(mu: float, rate: float, rounds: int) -> float:
    """(1 + γ²(e^{μ²} - 1))^T - 1."""
    ctx = context()
    each = mpf(rate) ** 2 * ctx.expm1(mpf(mu) ** 2)
    return round_up(ctx.expm1(rounds * ctx.log1p(each)))


def _lattice(mu: float, rate: float, size: int, rounds: int) -> tuple[float, int]:
    """Distance of the lattice's points, and how many lie above zero.

    Args:
        mu: of a round.
        rate: of a round.
        size: rounds of a block.
        rounds: of all blocks together.
    """
    spacing = _few_digits(math.sqrt(chi_square(mu, rate, size)) / _POINTS_PER_DEVIATION)
    total = rounds * chi_square(mu, rate, 1)
    return spacing, math.ceil(_DEVIATIONS * math.sqrt(2 * total) / spacing)


def profile_of_rounds(mu: float, rate: float, rounds: int) -> LimitedProfile:
    """Whole blocks, whose profiles other numbers of rounds share, and one of the rounds left over."""
    size = block_size(rounds)
    whole, left = divmod(rounds, size)
    wide = is_shared() and relative_width() >= _WIDE
    before = _after(mu, rate, size, whole, wide)
    if not left:
        return before
    shorter = replace(_block(mu, rate, size), chi_square=chi_square(mu, rate, left))
    return followed(before, shorter, wide=wide)


@lru_cache(maxsize=2048)
def _after(mu: float, rate: float, size: int, blocks: int, wide: bool) -> LimitedProfile:
    """The profile of whole blocks; kept for more of them, and for the other δ of a table."""
    block = _block(mu, rate, size)
    if not blocks:
        return nothing(block)
    return followed(_after(mu, rate, size, blocks - 1, wide), block, wide=wide)


@lru_cache(maxsize=64)
def _block(mu: float, rate: float, size: int) -> LimitedBlock:
    """What is known of a block of so many rounds."""
    most = _FEWEST_BLOCKS * _next_size(size) - 1
    spacing, reach = _lattice(mu, rate, size, most)
    deltas = _by_pairs(mu, rate, size, spacing, 2 * reach + 1)
    if size > 1:
        parts = _in_parts(mu, rate, size)
        limited = [parts.delta(spacing * k) for k in range(len(deltas))]
        deltas = np.minimum.accumulate(np.minimum(deltas, limited))
    return LimitedBlock(spacing, deltas, chi_square(mu, rate, size))


def _in_parts(mu: float, rate: float, size: int) -> LimitedProfile:
    """The profile of a block's rounds, divided into shorter blocks."""
    part = max(size // _PARTS, 1)
    spacing, reach = _lattice(mu, rate, part, size)
    deltas = _by_pairs(mu, rate, part, spacing, 2 * reach + 1)
    block = LimitedBlock(spacing, deltas, chi_square(mu, rate, part))
    profile = nothing(block)
    for _ in range(size // part):
        profile = followed(profile, block)
    return profile


def _by_pairs(mu: float, rate: float, size: int, spacing: float, count: int) -> Reals:
    """δ of so many rounds by their dominating pairs, on a lattice."""
    if size == 1:
        return np.array([_one_round(mu, rate, spacing * k) for k in range(count)])
    with alone():
        return _deltas(WithoutReplacement(mu, rate), size, spacing, count)


def block_size(rounds: int) -> int:
    """Rounds of a block: 1, 2, 3, 4, 6, 8, 12, ..., so that many numbers of rounds share theirs."""
    most = max(rounds // _FEWEST_BLOCKS, 1)
    power = 1 << (most.bit_length() - 1)
    return power + power // 2 if 2 * most >= 3 * power else power


def _next_size(size: int) -> int:
    """The next larger size of blocks."""
    power = 1 << (size.bit_length() - 1)
    return max(power + power // 2, 2) if size == power else 2 * power


def _few_digits(value: float) -> float:
    """Near a value, with ten binary digits."""
    share, power = math.frexp(value)
    return math.ldexp(round(share * 1024), power - 10)


def _one_round(mu: float, rate: float, epsilon: float) -> float:
    """γδ(ln(1 + (e^ε - 1)/γ)) in doubles, δ that of the unsampled round."""
    unsampled = (
        epsilon + math.log(rate * math.exp(-epsilon) - math.expm1(-epsilon)) - math.log(rate)
    )
    safe = max(unsampled - _LOST * (1 + epsilon - math.log(rate)), 0.0)
    return rate * float(gaussian_delta_bounds(np.array([mu]), safe)[0]) * (1 + _LOST)


def _deltas(loss: WithoutReplacement, size: int, spacing: float, count: int) -> Reals:
    """δ of rounds at their worst on a lattice; where it is negligible, its last value."""
    total = LossSum.of([(loss, size)])
    for last in (*(near for near in _NEAR if near < count), count):
        query = DeltaAt(spacing * (last - 1), _COARSE)
        if last == count or begin(total, query).upper <= _NEGLIGIBLE:
            break
    asked = [spacing * k for k in range(last)]
    found = one_lattice(total, asked, _CONVOLVED) or worst_deltas([[(loss, size)]], asked)
    return np.minimum.accumulate(np.array(found + [found[-1]] * (count - last)))
