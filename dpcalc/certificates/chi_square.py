"""Upper bounds of δ(ε) of rounds whose χ²-divergence is bounded, in ball arithmetic.

Depends on python-flint alone; docs/theorems/private-dual-averaging.md proves the bound, and
docs/certificates.md what is computed of it. V(r) is the largest E_Q(r·dP/dQ - 1)₊ that adaptive rounds
can have, so that δ(ε) = e^ε V(e^-ε); it is followed at r = e^{lh}, block by block.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import itemgetter, mul
from typing import Any

from flint import arb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import need, positive, whole
from dpcalc.certificates.large_losses import Known, large_losses, where
from dpcalc.certificates.lattice import LARGEST, over_masses, summed
from dpcalc.certificates.laws import Law, Rounds, Table

REACH, BLOCKS = 1_000, 200
"""The largest l, and the most blocks."""

FIELDS = "spacing", "reach", "block", "step", "points", "width"
PARTED = *FIELDS, "parts"


def chi_square(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """A bound of δ(ε), ε >= 0; arguments as of `followed`."""
    return at(followed(rounds, *chosen), eps, positive(chosen[0]))


def followed(
    rounds: Rounds,
    spacing: Any,
    reach: Any,
    block: Any,
    step: Any,
    points: Any,
    width: Any,
    parts: Any = None,
) -> Table:
    """Bounds of V at e^-nh, ..., 1 after all rounds.

    Args:
        rounds: a single law that bounds its χ²-divergence, and how many there are.
        spacing: h.
        reach: n.
        block: how many rounds make a block.
        step: of the lattice on which the losses of a block are added.
        points: at which divergences of one round are taken, from 0 on; or what `where` asks for.
        width: the lattice's largest place.
        parts: the same six for the rounds of a block, if it is divided into shorter blocks.
    """
    h, last = positive(spacing), whole(reach, 1, REACH)
    (law, count), *others = rounds
    need(that=not others and law.chi_square.is_finite(), got="rounds of other kinds")
    size = whole(block, 1, count)
    blocks, left = divmod(count, size)
    need(that=blocks <= BLOCKS, got=f"{blocks} blocks")
    known = where(points) if isinstance(points, list) else whole(points, 2, LARGEST)
    sums = positive(step), known, whole(width, 1, LARGEST)
    places = [h * j for j in range(2 * last + 1)]
    deltas = divergences(law, size, places, *sums)
    if parts is not None:
        need(that=isinstance(parts, list) and len(parts) == len(FIELDS), got=parts)
        within, near = followed([(law, size)], *parts), positive(parts[0])
        deltas = [
            delta.min(at(within, eps, near).upper())
            for delta, eps in zip(deltas, places, strict=True)
        ]
    held = weights(deltas, h)
    value = [arb(0)] * (last + 1)
    for n in [size] * blocks + [left] * (left > 0):
        value = with_a_block(value, held, budget(law.chi_square, n, h), h)
    return value


def divergences(
    law: Law, size: int, places: Table, step: Ball, known: int | Known, width: int
) -> Table:
    """Bounds of δ at rising ε, of so many rounds of dominating pairs; of one by its profile."""
    if size == 1:
        return [law.profile(eps).upper() for eps in places]
    if isinstance(known, int):
        return over_masses(summed([(law, size)], step, [known], width), places, step)
    return large_losses(law, size, places, step, known, width)


def weights(deltas: Table, h: Ball) -> Table:
    """2 sinh(h)·k times the largest E_Q(X - k)₊ - (1 - k)₊ at k = e^{lh}, l from -2n to 2n."""
    above = [(h * j).exp() * delta for j, delta in enumerate(deltas)]
    below = [(-2 * h * j).exp() * delta for j, delta in enumerate(deltas)]
    return [2 * h.sinh() * each for each in [*below[:0:-1], *above]]


def budget(one: Ball, count: int, h: Ball) -> Ball:
    """What H times the weights of its places may add up to: E_Q of the chords of (X - 1)²."""
    squared = (1 + one) ** count
    return squared - 1 + h.expm1() ** 2 / 4 * squared


def curvatures(value: Table, h: Ball) -> Table:
    """Exact bounds of V's changes of slope at e^{lh} over 2 sinh(h)e^{lh}, l from -n to n.

    Args:
        value: V at e^-nh, ..., 1.
        h: spacing.
    """
    n = len(value) - 1
    worth = [*value, *((h * j).exp() * value[n - j] for j in range(1, n + 1))]
    ratios = [(h * j).exp() for j in range(-n, n + 1)]
    slopes = [worth[0] / ratios[0]]
    slopes += [(worth[j + 1] - worth[j]) / (ratios[j + 1] - ratios[j]) for j in range(2 * n)]
    slopes.append(arb(0))
    found = []
    for j, ratio in enumerate(ratios):
        change = slopes[j + 1] - slopes[j] + (1 if j == n else 0)
        found.append((change / (2 * h.sinh() * ratio)).upper().max(arb(0)))
    return found


def with_a_block(value: Table, held: Table, most: Ball, h: Ball) -> Table:
    """V after one block more: V(r) + r²(νχ² + Σ held (curvature - ν)₊), for a ν at every r.

    Args:
        value: V at e^-nh, ..., 1.
        held: how much each place may hold, by its distance from -2n to 2n.
        most: how much all places together may hold.
        h: spacing.
    """
    bends, n = curvatures(value, h), len(value) - 1
    need(that=all(bend.is_finite() for bend in bends), got="values without bound")  # to be sorted
    falling = sorted(range(2 * n + 1), key=bends.__getitem__, reverse=True)
    levels, in_order = [bends[place] for place in falling], itemgetter(*falling)
    roughly, enough = [float(each) for each in held], float(most)
    found = []
    for row, before in enumerate(value):
        seen = slice(2 * n - row, 4 * n + 1 - row)
        above = bisect_right(list(accumulate(in_order(roughly[seen]))), enough, 0, 2 * n)
        level = levels[above]
        more = [bend - level for bend in levels[:above]]
        gained = sum(map(mul, in_order(held[seen]), more), level * most)
        found.append((before + (2 * h * (row - n)).exp() * gained).upper())
    return found


def at(value: Table, eps: Ball, h: Ball) -> Ball:
    """δ(ε) by the chord between the places next to it, below the first in proportion to r.

    Where it is not known on which side of a place r is, V's value there counts as well: V increases.
    """
    n = len(value) - 1
    if not eps >= 0:
        return arb.nan()
    before = int(min(float(eps / h), n))
    while before > 0 and not h * before <= eps:
        before -= 1
    if before == n:
        return (h * n).exp() * value[0]
    r, near, far = ((-each).exp() for each in (eps, h * before, h * (before + 1)))
    share, least = (near - r) / (near - far), value[n - before - 1]
    return (share * least + (1 - share) * value[n - before]).max(least) / r
