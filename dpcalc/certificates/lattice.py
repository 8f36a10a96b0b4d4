"""Upper bounds of δ(ε) by losses on a lattice, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable

from flint import arb, arb_poly, ctx

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.laws import Rounds, Table
from dpcalc.certificates.meter import plain, spend
from dpcalc.certificates.tables import bends

LARGEST = 60_000
"""Place on a lattice, and number of points."""

Masses = list[Ball]
"""Of the losses from -reach to reach times the step; the rest is infinite."""


def spread(above: list[Ball], below: list[Ball], step: Ball, reach: int) -> Masses:
    """What dominates (P, Q) with divergences of at most these, at k = 1, e^step, e^{2 step}, ...

    Args:
        above: of P against Q.
        below: of Q against P.
        step: of the lattice.
        reach: its largest place.
    """
    grown = [(step * j).exp() for j in range(len(above))]
    points = [(k, delta, j) for j, (k, delta) in enumerate(zip(grown, above, strict=True))]
    points += [
        (1 / k, 1 - (1 - delta) / k, -j)
        for j, (k, delta) in enumerate(zip(grown, below, strict=True))
    ]
    return clamped(((j, mass) for j, mass in bends(points)[0]), reach)


def clamped(atoms: Iterable[tuple[int, Ball]], reach: int) -> Masses:
    """Masses by their place; losses above the lattice become infinite, those below it rise to it."""
    masses = [arb(0)] * (2 * reach + 1)
    for j, mass in atoms:
        if j <= reach:
            masses[max(j, -reach) + reach] += mass
    return masses


def convolved(a: Masses, b: Masses, reach: int) -> Masses:
    """The sum of two independent losses."""
    spend(time_of_product(a, b))
    product = (arb_poly(a) * arb_poly(b)).coeffs()
    product += [arb(0)] * (4 * reach + 1 - len(product))
    return [sum(product[: reach + 1], arb(0)), *product[reach + 1 : 3 * reach + 1]]


def time_of_product(a: Masses, b: Masses) -> float:
    """Of polynomials: the wider their coefficients range, the more pieces they are cut into."""
    masses = a if a is b else [*a, *b]
    sizes = [int(mass.abs_upper().man_exp()[1]) for mass in masses if not mass.is_zero()]
    pieces = 1 + (max(sizes) - min(sizes)) / (512 + ctx.prec / 2) if sizes else 1
    return len(a) * (4 + 6 * plain(ctx.prec)) * pieces


def summed(rounds: Rounds, step: Ball, points: list[int], reach: int) -> Masses:
    """All rounds together, each by its divergences at this many points of the lattice from 0 on."""
    total = clamped([(0, arb(1))], reach)
    for (law, n), known in zip(rounds, points, strict=True):
        single = spread(*law.bounds(step, known), step, reach)
        total = convolved(total, repeated(single, n, reach), reach)
    return total


def repeated(single: Masses, n: int, reach: int) -> Masses:
    """The sum of n losses of the same masses, n above 0."""
    power = single
    for bit in f"{n:b}"[1:]:
        power = convolved(power, power, reach)
        power = convolved(power, single, reach) if bit == "1" else power
    return power


def divergence(total: Masses, eps: Ball, step: Ball) -> Ball:
    """A bound of δ(ε), losses that are not on the lattice being infinite."""
    held, reach = arb(0), len(total) // 2
    for j, mass in enumerate(total, start=-reach):
        held += mass * (1 - (1 - (eps - step * j).exp()).nonnegative_part())
    return 1 - held


def over_masses(total: Masses, places: Table, step: Ball, infinite: Ball | None = None) -> Table:
    """Bounds of δ at rising ε, losses that are not on the lattice being infinite.

    Args:
        total: masses.
        places: ε.
        step: of the lattice.
        infinite: the mass of infinite losses, if masses do not add up to 1 with it.
    """
    reach = len(total) // 2
    held = [(step * j, mass) for j, mass in enumerate(total, -reach) if j > 0]
    rest = 1 - sum(total, arb(0)) if infinite is None else infinite
    found, masses, shares = [], arb(0), arb(0)
    for eps in reversed(places):
        while held and held[-1][0] > eps:
            loss, mass = held.pop()
            masses, shares = masses + mass, shares + mass * (-loss).exp()
        value = rest + masses - eps.exp() * shares
        if held and not held[-1][0] < eps:  # which of them is larger is not known
            loss, mass = held[-1]
            value += mass * (1 - (eps - loss).exp()).nonnegative_part()
            if len(held) > 1 and not held[-2][0] < eps:  # of several
                value = arb(1)
        found.append(value.upper())
    return found[::-1]


def on_a_lattice(rounds: Rounds, eps: Ball, step: Ball, points: list[int], reach: int) -> Ball:
    """The same for rounds."""
    if not step > 0:
        return arb.nan()
    return divergence(summed(rounds, step, points, reach), eps, step)
