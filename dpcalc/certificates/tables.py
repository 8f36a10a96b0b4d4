"""Laws of what is known at finitely many points, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.grammar import RELATIONS, Relation, at_least, exact, in_range, need, table
from dpcalc.certificates.laws import Law, values

Points = list[tuple[Ball, Ball]]
Row = tuple[Any, Any]
"""Of fractions, or of doubles where about is enough."""
Corner = tuple[Ball, Ball, Any]


def distributions(pairs: Points) -> Law:
    """Outcomes with their probabilities under P and under Q."""
    shared = [((p / q).log(), p) for p, q in pairs if p > 0 and q > 0]
    return values(shared, sum((p for p, q in pairs if q == 0), arb(0)))


def in_either_order(rows: list[Row]) -> Law:
    """The pair whose profile is the larger of those of P against Q and of Q against P: exactly."""
    corners, infinite = larger_profile(rows)
    atoms = [(ball(k).log(), ball(k * bend)) for k, bend in corners if bend]
    return values(atoms or [(arb(0), arb(0))], ball(infinite))


def larger_profile(rows: list[Row]) -> tuple[list[Row], Any]:
    """Where the larger profile may bend, by how much, and its last height.

    Both are linear between the corners of either. Where they cross the larger one has a corner, too.
    """
    turned = [(q, p) for p, q in rows]
    ratios = (p / q for p, q in (*rows, *turned) if p and q)
    corners = sorted({0, 1, *ratios})
    sides = divergences(rows, corners), divergences(turned, corners)
    gaps = [(k, forth - back) for k, forth, back in zip(corners, *sides, strict=True)]
    crossings = (k + (m - k) * g / (g - h) for (k, g), (m, h) in pairwise(gaps) if g * h < 0)
    places = sorted([*corners, *crossings])
    heights = list(map(max, divergences(rows, places), divergences(turned, places)))
    chords = zip(pairwise(places), pairwise(heights), strict=True)
    slopes = [*((high - low) / (m - k) for (k, m), (low, high) in chords), 0]
    bent = zip(places[1:], pairwise(slopes), strict=True)
    return [(k, after - before) for k, (before, after) in bent], heights[-1]


def divergences(rows: list[Row], places: list[Any]) -> list[Any]:
    """The sum of (p - kq)₊ at increasing k."""
    held = sorted(((p / q, p, q) for p, q in rows if q), reverse=True)
    above, below = sum(p for p, _ in rows), sum(q for _, q in rows)
    found = []
    for k in places:
        while held and held[-1][0] <= k:
            _, p, q = held.pop()
            above, below = above - p, below - q
        found.append(above - k * below)
    return found


def ball(value: Fraction) -> Ball:
    """A ratio as a ball."""
    return arb(value.numerator) / arb(value.denominator)


def profile(points: Points) -> Law:
    """What dominates every mechanism with δ(ε) <= δ at the points, in both directions."""
    given = [(eps.exp(), delta, eps) for eps, delta in points]
    given += [(1 / k, 1 - (1 - delta) / k, -eps) for k, delta, eps in given]
    return values(*bends(given))


def bends(points: list[Corner]) -> tuple[list[tuple[Any, Ball]], Ball]:
    """The losses of (P, Q) with D_k(P, Q) <= δ at points (k, δ, name of its loss), with their masses.

    Beyond the last point divergences are at most its δ, the mass of an infinite loss.
    """
    corners = lower_corners(points)
    slopes = [*(slope(*pair) for pair in pairwise(corners)), arb(0)]
    changes = [after - before for before, after in pairwise(slopes)]
    atoms = [(loss, k * bend) for (k, _, loss), bend in zip(corners[1:], changes, strict=True)]
    return atoms, corners[-1][1]


def lower_corners(points: list[Corner]) -> list[Corner]:
    """The corners of a convex curve that is nowhere below divergences of at most δ at points.

    In k = e^ε divergences are convex, fall, and are 1 at 0: below chords between points. Points
    that do not certainly make the chords bend upwards are left out, and of points at one k all but
    the least.
    """
    corners: list[Corner] = [(arb(0), arb(1), None)]
    for corner in sorted(points, key=lambda point: (float(point[0]), float(point[1]))):
        beyond = corner[0] > corners[-1][0]
        while beyond and len(corners) > 1 and not slope(*corners[-2:]) < slope(corners[-1], corner):
            corners.pop()
        if beyond and slope(corners[-1], corner) < 0:
            corners.append(corner)
    return corners


def slope(left: Corner, right: Corner) -> Ball:
    """Of the chord between two corners."""
    return (right[1] - left[1]) / (right[0] - left[0])


def finite(relation: Relation, outcomes: Any) -> Law:
    """Two distributions; under add-remove the first is that with the record, in every round."""
    adjacency, reverse = relation
    pairs = table(outcomes, at_least(0), at_least(0))
    sums = [sum(exact(row[side]) for row in outcomes) for side in (0, 1)]
    need(that=sums == [1, 1] and adjacency in RELATIONS[:3], got="probabilities")
    if adjacency != "add-remove":
        return in_either_order([(exact(p), exact(q)) for p, q in outcomes])
    return distributions([(q, p) for p, q in pairs] if reverse else pairs)


def known_points(_: object, points: Any) -> Law:
    """(ε, δ) in both directions."""
    return profile(table(points, at_least(0), lambda x: in_range(x, 0, 1)))
