"""Upper bounds of δ(ε) of equal rounds whose large losses are rare, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proof. Small losses are added on a lattice;
of large ones, at places that are ever farther apart, one counts in full and two by their mean.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Any, NamedTuple

from flint import arb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import need, whole
from dpcalc.certificates.lattice import LARGEST, Masses, clamped, over_masses, repeated
from dpcalc.certificates.laws import Law, Table
from dpcalc.certificates.tables import bends

FARTHEST = 10**9
"""The largest place."""


class Known(NamedTuple):
    """Where divergences of a round are taken, in steps."""

    near: int  # all places from 0 to below it
    places: list[int]  # those and some beyond


class Atoms(NamedTuple):
    """Losses of a round under P with their masses, by their place in steps."""

    small: list[tuple[int, Ball]]
    large: list[tuple[int, Ball]]
    infinite: Ball


def where(points: list[Any]) -> Known:
    """Reads how many there are from 0 on, and by what share of itself how many others go on."""
    need(that=len(points) == 3, got=points)
    near, share, far = (
        whole(x, least, LARGEST) for x, least in zip(points, (2, 1, 1), strict=True)
    )
    places = list(range(near))
    for _ in range(far):
        places.append(places[-1] + max(1, places[-1] // share))
        need(that=places[-1] <= FARTHEST, got=points)
    return Known(near, places)


def large_losses(law: Law, n: int, eps: Table, step: Ball, known: Known, width: int) -> Table:
    """Bounds of δ at rising ε, of several rounds.

    Args:
        law: one whose profile is that of both directions.
        n: rounds.
        eps: ε, not below 0.
        step: of the lattice.
        known: where the profile is taken.
        width: the lattice's largest place.
    """
    need(that=known.near <= width, got=width)
    return over_atoms(atoms(law, step, known), n, eps, step, width)


def atoms(law: Law, step: Ball, known: Known) -> Atoms:
    """What dominates a law, of losses at these places and, for small ones, at their negatives."""
    places = [(step * j, j) for j in known.places]
    above = [(x.exp(), law.profile(x), j) for x, j in places]
    mirrored = [(1 / k, 1 - (1 - delta) / k, -j) for k, delta, j in above[: known.near]]
    found, infinite = bends(above + mirrored)
    small = [(j, mass) for j, mass in found if j < known.near]
    large = [(j, mass) for j, mass in found if j >= known.near]
    return Atoms(small, large, infinite)


def over_atoms(known: Atoms, n: int, eps: Table, step: Ball, width: int) -> Table:
    """Bounds of δ at rising ε, of n rounds with these losses; small ones are on the lattice."""
    small, large, infinite = known
    single = clamped(small, width)
    total, likely = repeated(single, n, width), sum(single, arb(0))
    beyond = likely**n - sum(total, arb(0))
    under_q = sum((mass * (-step * j).exp() for j, mass in small), arb(0))
    shift = (under_q / likely).log().nonnegative_part()
    rare, mean = sum((m for _, m in large), arb(0)), sum((m * step * j for j, m in large), arb(0))
    positive = mean + sum((m * step * j for j, m in small if j > 0), arb(0))
    two = arb(n) * (n - 1) / 2 * (2 * rare * mean + (n - 2) * rare**2 * positive)
    least = n * infinite + two + n / likely * rare * shift
    none = over_masses(total, eps, step, beyond)
    one = of_one(total, [below(each, step) for each in eps], large, step, beyond)
    return [(a + n / likely * b + least).upper() for a, b in zip(none, one, strict=True)]


def below(eps: Ball, step: Ball) -> int:
    """A place that is certainly not above ε, which is not below 0."""
    found = eps / step
    need(that=bool(found.is_finite()), got=found)
    return int(found.lower().min(arb(FARTHEST)).max(arb(0)).floor().unique_fmpz())


def of_one(
    total: Masses, places: list[int], large: list[tuple[int, Ball]], step: Ball, beyond: Ball
) -> Table:
    """The sum over large losses x of their masses times E(1 - e^{ε-x-S})₊, at places of ε.

    Args:
        total: masses of S.
        places: ε in steps.
        large: losses in steps, rising, with their masses.
        step: of the lattice.
        beyond: what S has above it.
    """
    reach = len(total) // 2
    grown = [(step * j).exp() for j in range(-reach, reach + 1)]
    above, shares = sums_from(total), sums_from([m / k for m, k in zip(total, grown, strict=True)])
    lost = [beyond + above[j + 1] - k * shares[j + 1] for j, k in enumerate(grown)]
    losses, masses = [j for j, _ in large], [m for _, m in large]
    rest, discounted = sums_from(masses), sums_from([m * (-step * j).exp() for j, m in large])
    found = []
    for place in places:
        first, last = (bisect_left(losses, place + by) for by in (-reach, reach + 1))
        value = beyond * (rest[0] - rest[first])
        value += sum(
            (masses[i] * lost[place - losses[i] + reach] for i in range(first, last)), arb(0)
        )
        value += (beyond + above[0]) * rest[last]
        found.append(value - (step * place).exp() * shares[0] * discounted[last])
    return found


def sums_from(values: list[Ball]) -> list[Ball]:
    """Of all values from each on, and 0."""
    return list(accumulate(reversed(values), initial=arb(0)))[::-1]
