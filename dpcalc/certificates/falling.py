"""What a record reveals whose derivative falls along its own direction, in ball arithmetic.

Depends on python-flint alone; docs/theorems/objective-perturbation.md proves theorem c, and
docs/certificates.md what is computed of it. s is the record's derivative, y*(s) where the density of
the noise moved by μs is k times that of the noise in place.
"""

from __future__ import annotations

import math
from itertools import pairwise

from flint import arb

from dpcalc.certificates.balls import Ball, precision, tail

Scales = list[tuple[Ball, Ball]]
"""Shifts μ in units of the standard deviation of normal noise, with their probabilities."""

LEVELS = -7.4, -5.2, -3.7, -2.3, -1.55, -0.85, -0.25, 0.25, 0.85, 1.65
"""About the normal quantiles of the variances at which a mixture is cut; a choice."""

DEPTHS = *(k / 4 for k in range(1, 13)), 3.4, 3.8, 4.3, 4.9, 5.5, 6.2
"""Losses in units of a typical μ for which divergences are bounded; a choice."""

CELLS, BEYOND, BITS = 24, 4, 64
"""Intervals of s; deviations beyond y*(1) after which s is bounded at once; bits. Choices."""

EFFORT = CELLS * len(DEPTHS)
"""About how many exponentials of a few more bits one scale takes."""


def worth_it(mu: float, curvature: float) -> bool:
    """Whether something may be gained, by numbers that doubles have; a choice."""
    return 1e-9 <= mu <= 1 and 1.5 * mu <= curvature <= 1000


def normal(x: Ball) -> Ball:
    """The standard normal density."""
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def unmoved(mu: Ball, loss: Ball) -> Ball:
    """The divergence of N(μ, 1) against N(0, 1)."""
    return tail(loss / mu - mu / 2) - loss.exp() * tail(loss / mu + mu / 2)


def largest_ratio(place: Ball, m: Ball, g: Ball) -> Ball:
    """Bounds e^{yt - t²/2}[(1 + g)e^{-mt} - 1]/g for all t, y = ``place``.

    Where it is positive its logarithm f has f'' <= -1, hence is at most f(t) + f'(t)²/2 for any t.
    """
    best = at_about(float(place), float(m), float(g))
    moved = (1 + g) * (-m * best).exp()
    if not moved > 1:
        return arb.pos_inf()
    slope = place - best - m * moved / (moved - 1)
    return (place * best - best * best / 2 + slope**2 / 2).exp() * (moved - 1) / g


def at_about(y: float, m: float, g: float) -> Ball:
    """The t of the largest ratio, by (w + λ)(1 - e^{-w}) = m² for w = ln(1 + g) - mt; a choice."""
    missing = m * y - math.log1p(g)
    root = math.hypot(missing / 2, m)
    w = root - missing / 2 if missing < 0 else m * m / (root + missing / 2)
    for _ in range(3):
        left, slope = -math.expm1(-w), math.exp(-w)
        w = max(w / 2, w - ((w + missing) * left - m * m) / (left + (w + missing) * slope))
    return arb((math.log1p(g) - w) / m)


def divergence(mu: Ball, curvature: Ball, loss: Ball) -> Ball:
    """Bounds D_k(P, P₀) at k = e^loss by the largest γ for every s, in cells of s."""
    first = (loss / (curvature + loss + BEYOND * mu)).mid()
    last = (curvature * loss / (curvature * loss + mu * mu)).upper()
    depth = ((loss - curvature * first) / (mu * first)).max(arb(0))
    total = unmoved(mu, loss) + mu * first * loss.exp() * normal(depth)
    if not first < last:
        return total
    ends = [first + (last - first) * j / CELLS for j in range(CELLS + 1)]
    stars = [loss / (mu * s) + mu * s / 2 for s in ends]
    highest = mu * (ends[1] - ends[0]) * normal(arb(0))

    def flat(j: int) -> Ball:
        density, ratio = highest_on(mu, curvature, (ends[j], ends[j + 1]), stars[j + 1])
        return mu * (ends[j + 1] - ends[j]) * density * ratio

    def gained(j: int) -> Ball:
        cell = ends[j], ends[j + 1]
        ratio = ratio_on(mu, curvature, cell, (stars[j], stars[j + 1]))
        return lost_on(mu, loss, cell) * (ratio - 1).max(arb(0))

    turn = first_steep(*map(float, (mu, curvature, loss, first, last)))
    found = [flat(j) for j in range(turn)] + [gained(j) for j in range(turn, CELLS)]
    total += sum((x.min(highest) if x.is_finite() else highest for x in found), arb(0))
    return total - (unmoved(mu * ends[turn], loss) - unmoved(mu * first, loss))


Cell = tuple[Ball, Ball]
"""The ends of an interval of s."""


def bend(curvature: Ball, cell: Cell) -> Ball:
    """The largest κs(1 - s)."""
    a, b = cell
    return curvature * (arb(1) / 4 if a < 0.5 and b > 0.5 else (a - a * a).max(b - b * b))


def lost_on(mu: Ball, loss: Ball, cell: Cell) -> Ball:
    """Bounds μ∫φ(y* - m)ds, whose integrand is log-concave: below its tangent at the middle."""
    a, b = cell
    s, half = (a + b) / 2, (b - a) / 2
    place = loss / (mu * s) - mu * s / 2
    rise = place * (loss / (mu * s * s) + mu / 2)
    return mu * normal(place) * 2 * (rise * half).sinh() / rise


def highest_on(mu: Ball, curvature: Ball, cell: Cell, near: Ball) -> tuple[Ball, Ball]:
    """Bounds φ(y* - m)ϱ by factors at the cell's end, as it increases with m; y* is ``near`` there."""
    m = mu * cell[1]
    return normal(near - m), largest_ratio(near, m, bend(curvature, cell))


def ratio_on(mu: Ball, curvature: Ball, cell: Cell, ends: Cell) -> Ball:
    """Bounds ϱ, which increases with y* and falls with m; ``ends`` are y* at both ends."""
    return largest_ratio(ends[0].max(ends[1]), mu * cell[0], bend(curvature, cell))


def first_steep(mu: float, curvature: float, loss: float, first: float, last: float) -> int:
    """The cell from which on the product of bounds at both ends falls short of the flat bound.

    A choice. On small cells they differ by what y* and m = μs change the largest ratio, and by half a
    change of φ.
    """
    for j in range(CELLS - 1, -1, -1):
        s = first + (last - first) * (j + 0.5) / CELLS
        m, fall = mu * s, loss / (mu * s * s)
        star = loss / m + m / 2
        t = float(at_about(star, m, curvature * s * (1 - s)))
        if t * (fall - mu / 2 + (star - t) / s) >= (star - m) * (fall + mu / 2) / 2:
            return j + 1
    return 0


def exponential_scales(a: Ball, d: int) -> Scales:
    """Of noise ∝ e^{-η|b|} moved by a/η: its variance has a χ² law with d + 1 degrees of freedom."""
    spread = 2 / (9 * (d + 1))
    cuts = [(d + 1) * max(0.0, 1 - spread + z * math.sqrt(spread)) ** 3 for z in LEVELS]
    cuts = [cut for cut in cuts if cut > 0]
    half = arb(d + 1) / 2
    below = [(arb(cut) / 2).gamma_lower(half, regularized=1) for cut in cuts] + [arb(1)]
    weights = [after - before for before, after in pairwise(below)]
    return [(a / arb(cut).sqrt(), weight) for cut, weight in zip(cuts, weights, strict=True)]


def mean_divergences(scales: Scales, curvature: Ball) -> list[tuple[Ball, Ball]]:
    """Losses, rising, and bounds of the mean of divergences there; none where nothing is gained."""
    middle = float(scales[len(scales) // 2][0])
    if not worth_it(middle, float(curvature)):
        return []
    known = []
    with precision(BITS):
        for depth in DEPTHS:
            loss = arb(middle * depth)
            found = [(weight, divergence(mu, curvature, loss)) for mu, weight in scales if mu < 2]
            rest = 1 - sum((weight for weight, _ in found), arb(0))
            bound = rest + sum((weight * value for weight, value in found), arb(0))
            if bound.is_finite():
                known.append((loss, bound.upper()))
    return known
