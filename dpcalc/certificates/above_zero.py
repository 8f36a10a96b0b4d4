"""Quadrature of the losses above 0, and of their mirror images, of batches of fixed size, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs. It is along x = μ/2 + s·ln(1 + e^t),
t = nh + iθ, which leaves μ/2 and goes to infinity a little above the real line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from flint import acb, arb

from dpcalc.certificates.balls import Ball, tail
from dpcalc.certificates.quadrature import Quadrature, aliases, digits
from dpcalc.certificates.sampled import far_enough

HEIGHT = 0.7
"""θ; a choice, below π/4."""

Share = tuple[Callable[[Ball], Ball], int]
"""A factor, analytic where its argument has a positive real part, and a bound of it."""

ALL: Share = (lambda _: arb(1)), 1


def above_zero(
    mu: Ball, q: Ball, c: Ball, still: Ball, whole: Callable[[Ball], Ball], share: Share
) -> Quadrature:
    """Moments of losses u > 0 times a share of them, of -u, and of 0.

    Args:
        mu: the shift.
        q: the rate.
        c: the real part of the line.
        still: the probability of 0.
        whole: the integral of n·r^k from μ/2 on.
        share: a function of the odds q·e^{μx - μ²/2}.
    """
    s, up = arb(min(1.0, 0.5 / (HEIGHT * float(mu)))), arb(HEIGHT)
    h = arb(2 * math.pi * HEIGHT / (digits() + 2))
    left = math.ceil(digits() / float(h))
    right = math.ceil(float(far_enough((1 + c) * mu) / (s * h)))
    factor, largest = share

    def terms() -> Iterator[tuple[Ball, Ball]]:
        unit = h / (2 * arb.pi()).sqrt()
        for n in range(-left, right + 1):
            grown = acb(h * n, up).exp()
            way = s * (1 + grown).log()
            x, odds = mu / 2 + way, q * (mu * way).exp()
            u = (1 - q + odds).log()
            weight = unit * s * grown / (1 + grown) * (-x * x / 2).exp()
            yield weight * ((1 + c) * u).exp() * factor(odds), u
            mirrored = weight * (-c * u).exp()
            yield mirrored.conjugate(), -u.conjugate()
        yield acb(still), acb(0)

    def error() -> Ball:
        return largest * side(1 + c) + side(-c)

    def side(k: Ball) -> Ball:
        """What the sum of one power misses."""
        most, reach, turned = k.max(arb(0)), mu / 2 + s * h * right, 2 * up * s
        if not (turned * mu < arb.pi() / 2 and 2 * up < arb.pi() / 2 and reach >= most * mu):
            return arb.pos_inf()
        grown = (turned**2 / 2).exp() * (turned * mu).cos() ** k.min(arb(0))
        edges = whole(k) * (1 + grown / (2 * up).cos())
        first = s * (-mu * mu / 8 - h * left).exp() * (1 - q + q * arb(2) ** (mu * s)) ** most
        last = (most * (most - 1) * mu * mu / 2).exp() * tail(reach - most * mu)
        return aliases(edges, up, h) + grown * (first + last)

    return Quadrature(2 * (left + right + 1) + 1, terms, error)
