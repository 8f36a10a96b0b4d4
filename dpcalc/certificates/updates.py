"""What one objective-perturbed update reveals, in ball arithmetic.

Depends on python-flint alone; docs/theorems/objective-perturbation.md proves theorems a, b and c. A
is the loss of the noise moved by the largest gradient of one record; P has the record, P₀ does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from flint import arb

from dpcalc.certificates.balls import Ball, precision
from dpcalc.certificates.falling import (
    BITS,
    EFFORT,
    LEVELS,
    exponential_scales,
    mean_divergences,
)
from dpcalc.certificates.grammar import RELATIONS, ROWS, Relation, need, positive, whole
from dpcalc.certificates.laws import Law, Table, gaussian, laplace
from dpcalc.certificates.norm import exponential_norm
from dpcalc.certificates.tables import bends, lower_corners

DIMENSIONS = 10_000
"""The most there may be."""


def linked(a: Ball, curvature: Ball, tied: bool) -> Ball:
    """G(A) for A >= 0: the maximum over s of As + ln(1 + κs(1-s)), or A + ln(1 + κ) if not tied."""
    if not tied:
        return a + (1 + curvature).log()
    if a >= curvature:
        return a
    linear = (2 - a) * curvature
    s = 2 * (a + curvature) / (linear + (linear**2 + 4 * a * curvature * (a + curvature)).sqrt())
    return a * s + (1 + curvature * s * (1 - s)).log()


Known = list[tuple[Ball, Ball]]
"""Losses, rising, with bounds of the divergences there."""


def one_record(
    moved: Table, step: Ball, curvature: Ball, tied: bool, known: Known
) -> tuple[Table, Table]:
    """Divergences of P against P₀, and of P₀ against P, from those of the moved noise.

    Also from others that are ``known`` of P against P₀, if a record's curvature is tied.
    """
    grown = [(step * j).exp() for j in range(len(moved))]
    points = [(k, delta, j) for j, (k, delta) in enumerate(zip(grown, moved, strict=True))]
    points += [(1 / k, 1 - (1 - delta) / k, -j) for k, delta, j in points]
    atoms, infinite = bends(points)
    shares = []
    for j, mass in atoms:
        if j > 0:
            ratio = (-linked(step * j, curvature, tied)).exp()
            shares.append((mass * (1 - 1 / grown[j]) / (1 - ratio), ratio))
    removed = [infinite + over_shares for over_shares in positive_parts(shares, grown)]
    if tied:
        return below_chords(removed, grown, known) if known else removed, moved
    both = [arb(1).min(2 * delta) for delta in removed]
    return both, both


def below_chords(found: Table, places: Table, known: Known) -> Table:
    """Divergences at rising k, bounded by these and by those that are known at other k."""
    points = [(k, delta, None) for k, delta in zip(places, found, strict=True)]
    points += [(loss.exp(), delta, None) for loss, delta in known]
    corners, lower, at = lower_corners(points), list(found), 1
    for j, k in enumerate(places):
        while at < len(corners) and not k <= corners[at][0]:
            at += 1
        if at < len(corners) and k >= corners[at - 1][0]:
            (left, high, _), (right, low, _) = corners[at - 1], corners[at]
            lower[j] = lower[j].min(high + (low - high) * (k - left) / (right - left))
    return lower


def positive_parts(shares: list[tuple[Ball, Ball]], places: Table) -> Table:
    """Sums of mass·(1 - k·ratio)₊ at rising k, of ratios that fall."""
    sums = [(arb(0), arb(0))]
    for mass, ratio in reversed(shares):
        sums.append((sums[-1][0] + mass, sums[-1][1] + mass * ratio))
    found, first = [], 0
    for k in places:
        while first < len(shares) and k * shares[first][1] >= 1:
            first += 1
        last, total = first, arb(0)
        while last < len(shares) and not k * shares[last][1] < 1:  # which side is not known
            total += shares[last][0] * (1 - k * shares[last][1]).nonnegative_part()
            last += 1
        masses, ratios = sums[len(shares) - last]
        found.append(total + masses - k * ratios)
    return found


def in_two_steps(first: Table, second: Table, step: Ball) -> Table:
    """Divergences of P against Q by P₀: at k₁k₂ those to P₀ at k₁ and k₁ times those from it at k₂.

    ``first`` is of P against P₀, ``second`` of P₀ against P, hence against Q too: records are alike.
    """
    size, found = len(first), []
    grown = [(step * j).exp() for j in range(1 - size, size)]

    def at(table: Table, mirrored: Table, j: int) -> Ball:
        return table[j] if j >= 0 else 1 - grown[j + size - 1] * (1 - mirrored[-j])

    def bound(i: int, j: int) -> Ball:
        return at(first, second, i) + grown[i + size - 1] * at(second, first, j - i)

    i = 1 - size
    for j in range(2 * size - 1):
        i = max(i, j - size + 1)
        best = bound(i, j)
        while i + 1 < size and (further := bound(i + 1, j)) < best:
            i, best = i + 1, further
        found.append(best)
    return found


@lru_cache(maxsize=ROWS)
def by_theorem_c(noise: str, curvature: str) -> Known:
    """What theorem c adds, by exact parameters as JSON: lattices and directions have it in common.

    Args:
        noise: bound and dimension of noise ∝ e^{-η|b|}, or μ of normal noise.
        curvature: κ.
    """
    with precision(BITS):
        a, *d = json.loads(noise)
        scales = exponential_scales(positive(a), *d) if d else [(positive(a), arb(1))]
        return mean_divergences(scales, positive(json.loads(curvature)))


def update(
    noise: Law, known: Callable[[], Known], curvature: Ball, tied: bool, relation: Relation
) -> Law:
    """One update whose noise, moved by one record's largest gradient, has the law ``noise``."""
    adjacency, reverse = relation

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        own = points if adjacency == "add-remove" else (points + 1) // 2
        to, back = one_record(noise.bounds(step, own)[0], step, curvature, tied, known())
        if adjacency == "add-remove":
            return (back, to) if reverse else (to, back)
        found = [
            x.min(y)
            for x, y in zip(in_two_steps(to, back, step), in_two_steps(back, to, step), strict=True)
        ]
        return found, found

    return Law(lambda _: arb.nan(), lambda *_: arb.pos_inf(), bounds=bounds, cost=noise.cost)


def perturbed(relation: Relation, noise: Law, given: list[Any], curvature: Any, tied: Any) -> Law:
    """An objective-perturbed update; ``tied`` if a record's derivative s has s(1-s) for its own.

    Args:
        relation: the neighbouring relation and direction.
        noise: the law of the noise moved by one record's largest gradient.
        given: its parameters, as they stand.
        curvature: κ.
        tied: whether theorem c holds.
    """
    need(that=relation[0] in RELATIONS[:2], got=relation[0])
    need(that=isinstance(tied, bool), got=tied)

    def known() -> Known:
        return by_theorem_c(json.dumps(given), json.dumps(curvature)) if tied else []

    found = update(noise, known, positive(curvature), tied, relation)
    scales = len(LEVELS) if len(given) > 1 else 1
    return found._replace(setup=EFFORT * scales) if tied else found


def exponential_noise(relation: Relation, bound: Any, dimension: Any, *rest: Any) -> Law:
    """An update with noise ∝ e^{-η|b|} moved by a/η."""
    a, d = positive(bound), whole(dimension, 1, DIMENSIONS)
    noise = laplace(a) if d == 1 else exponential_norm(a, d)
    return perturbed(relation, noise, [bound, d], *rest)


def normal_noise(relation: Relation, mu: Any, *rest: Any) -> Law:
    """An update with normal noise moved by μ standard deviations."""
    return perturbed(relation, gaussian(positive(mu)), [mu], *rest)
