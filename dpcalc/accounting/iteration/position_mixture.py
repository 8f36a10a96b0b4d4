"""Random orders and random stopping: the steps left after a record's use are drawn at random.

Statement
    If a record is used so that t steps are left with probability 1/m each, t = 1..m, and its μ is
    then at most μ_t, hockey-stick divergences are jointly convex: ``δ(ε) <= (1/m) Σ_t δ_{μ_t}(ε)``,
    even if t is revealed. A random permutation of n records has m = n. A stopping time uniform on
    r..n has m = n - r + 1: no record is worse off than the r-th.
Source
    docs/theorems/amplification-by-iteration.md and admm-iteration-all-users.md.
Rounding
    Every μ_t is rounded up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from dpcalc.numerics.precise import Real, mpf, round_down, round_up

_EXACT_POSITIONS = 4096
"""Positions up to which every μ_t is kept; beyond, blocks share the largest of theirs."""

_GRID = 1.0005
_SAMPLED = 1.04
_ALLOWED = "1e-9"
"""Relative reduction of lower bounds: far more than the rounding error of a mixture's profile."""


def mixed_positions(
    mu_after: Callable[[int], Real], positions: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The values of μ_t for t uniform on 1..positions, and their probabilities.

    Args:
        mu_after: t -> μ_t, not increasing.
        positions: m.

    Returns:
        Upper bounds of μ, above 0, and weights; what they leave of 1 belongs to μ = 0.
    """
    weights: Counter[float] = Counter()
    for first, count in blocks(positions):
        weights[round_up(mu_after(first))] += count
    del weights[0.0]
    return tuple(weights), tuple(count / positions for count in weights.values())


def blocks(positions: int) -> Iterator[tuple[int, int]]:
    """Of 1..positions in blocks the first, whose μ_t is the largest of the block, and how many.

    Args:
        positions: m.
    """
    start = 1
    while start <= positions:
        stop = start + 1 if start <= _EXACT_POSITIONS else int(start * _GRID) + 1
        stop = min(stop, positions + 1)
        yield start, stop - start
        start = stop


def mixed_down(
    mu_after: Callable[[int], Real], positions: int, growth: float = _SAMPLED
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower bounds of μ_t for t uniform on 1..positions, and their probabilities.

    Args:
        mu_after: t -> what an instance attains; whatever follows can only hide it, so a block of
            positions may use the value of its last one if that instance stops there.
        positions: m.
        growth: ratio of one block's end to the next one's, above 1.
    """
    weights: Counter[float] = Counter()
    stop = 0
    while stop < positions:
        start = stop
        stop = min(positions, max(stop + 1, int(stop * growth)))
        weights[round_down(mu_after(stop) * (1 - mpf(_ALLOWED)))] += stop - start
    del weights[0.0]
    return tuple(weights), tuple(count / positions for count in weights.values())
