"""δ(ε) of rare samples by an integral on a hyperbola, with moments enclosed on cells, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs. The hyperbola is that of curve.py.
What the rule misses is bounded by the integrand's modulus on both edges of a strip: on cells of an edge
by a moment and its derivative in the middle and a bound of the second derivative, beyond them by
bounds that fall with heights.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, precision, product
from dpcalc.certificates.curve import Bend, Weights, nodes, places
from dpcalc.certificates.grammar import NODES, need, positive, whole
from dpcalc.certificates.laws import Rounds, Sector
from dpcalc.certificates.rays import exactly

FIELDS = "vertex", "turn", "along", "side", "height", "ray", "step", "nodes", "cells"

CELLS = 5_000
"""The most on an edge."""

COARSE = 64
"""Bits with which moduli are bounded."""


Known = tuple[tuple[Sector, int], ...]


class Sum(NamedTuple):
    """What the sum along a hyperbola needs; the same for every ε."""

    terms: Weights
    missed: Weights  # a real part x and the weight of e^{-xε}, added in an error


def by_cells(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """δ(ε) without infinite losses.

    Args:
        rounds: laws that are known in sectors.
        eps: ε.
        chosen: the largest real part at height 0, the angle by which real parts may grow with heights,
            the path over which moments are integrated, the step of the rule, its last node, the cells
            of an edge.
    """
    need(that=all(law.sector for law, _ in rounds), got="laws that are not known in sectors")
    *angles, step, most, cells = chosen
    vertex, turn, *corners, h = map(positive, (*angles, step))
    last, number = whole(most, 1, NODES), whole(cells, 1, CELLS)
    if not eps >= 0:
        return arb.nan()
    known = tuple((law.sector(vertex, turn, *corners), n) for law, n in rounds if law.sector)
    found = summed(known, Bend(exactly(vertex, turn, h), vertex, turn, h), last, number, ctx.prec)
    total = sum(((weight * (-z * eps).exp()).real for z, weight in found.terms), arb(0))
    error = sum((weight * (-x * eps).exp() for x, weight in found.missed), arb(0))
    return total + arb(0, 1) * error.upper()


@lru_cache(maxsize=2)
def summed(known: Known, bend: Bend, last: int, cells: int, _bits: int) -> Sum:
    """Nodes of the trapezoidal rule on a hyperbola, and what it misses; kept for other ε."""
    (scale, beta, half), h = places(bend), bend.step
    terms = nodes(known, bend, last)
    with precision(COARSE):
        low, high, end = beta - half, beta + half, h * last
        real_part, height = scale * end.cosh() * high.cos(), scale * end.sinh() * low.sin()
        size = product(each.beyond(real_part, height) ** n for each, n in known)
        beyond = size / (scale * end.sinh())  # bounds the integral of |F z'| from the end on
        share = 1 / ((2 * arb.pi() * half / h).exp() - 1) / arb.pi()
        edges = [cell for b in (low, high) for cell in on_an_edge(known, scale, b, end, cells)]
        missed = [(x, weight * share) for x, weight in edges]
    return Sum(terms, [*missed, (real_part, beyond * (2 * share + 1 / arb.pi()))])


def on_an_edge(known: Known, scale: Ball, b: Ball, end: Ball, cells: int) -> Weights:
    """Least real parts on cells of scale·cosh(t + ib), t < end, and integrals of |M z'/z(z + 1)|."""
    width, found = end / cells, []
    for j in range(cells):
        z, t, reach = (
            scale * acb(width * (j + 0.5), b).cosh(),
            width * j,
            scale * (width * (j + 1)).cosh(),
        )
        radius = reach * width / 2
        x, y = scale * t.cosh() * b.cos(), scale * t.sinh() * b.sin()
        size = arb(1)
        for each, n in known:
            curved = each.bend(x, y) * radius**2 / 2
            most = abs(each.moment(z)) + abs(each.slope(z)) * radius + curved
            size *= (most if most < 1 else each.beyond(x, y).min(most)).upper() ** n
        square = (t.sinh() ** 2 + b.cos() ** 2) * scale**2
        found.append((x, size * reach * width / square))
    return found
