"""Moment function of the Gaussian on Poisson samples, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, ball, integral, tail
from dpcalc.certificates.laws import Law, Table
from dpcalc.certificates.quadrature import Quadrature, aliases, digits
from dpcalc.certificates.rays import of_removal
from dpcalc.certificates.sectors import removal_sector, replacement_sector


def between(f: Callable[[Ball, bool], Ball], start: Ball, end: Ball) -> Ball:
    """The integral of f over √2π along a line."""
    return integral(f, start, end) / (2 * arb.pi()).sqrt()


def far_enough(beyond: Ball) -> Ball:
    """Where a normal density around ``beyond`` is about as small as the precision; a choice."""
    return arb(math.ceil(max(0.0, float(beyond)) + math.sqrt(1.5 * ctx.prec)) + 2)


def outside(mu: Ball, q: Ball, above: int, below: int, c: Ball, shift: Ball, reach: Ball) -> Ball:
    """Bounds the integral of |density of P times e^{zL}| over x + i·shift, |x| > reach > 0."""
    k = above * (c + 1)
    far = above * (k * (k - 1) * mu * mu / 2).exp() * tail(reach - k * mu)
    return (2 * tail(reach) + far) * (shift * shift / 2 - below * c * (1 - q).log()).exp()


def single(mu: Ball, q: Ball, above: int, below: int, eps: Ball) -> Ball:
    """δ(ε) of one round of such laws: losses increase in x, and x is where the loss is ε."""
    grown, k = eps.exp(), q * (-mu * mu / 2).exp()
    rest = (1 - q) * (grown - 1) / 2
    if above:
        odds = (rest + (rest**2 + grown * k * k).sqrt()) if below else grown - 1 + q
        x = (odds / k).log() / mu
    else:
        odds = 1 / grown - 1 + q
        if odds <= 0:
            return arb(0)
        x = (k / odds).log() / mu
    p = (1 - q) * tail(x) + q * tail(x - mu) if above else tail(x)
    return p - grown * ((1 - q) * tail(x) + q * tail(x + mu) if below else tail(x))


def over_a_line(
    mu: Ball,
    beyond: Ball,
    term: Callable[[Ball], tuple[Ball, Ball]],
    edge: Callable[[Ball], Ball],
    outside: Callable[[Ball, Ball], Ball],
) -> Quadrature:
    """Sums over x + iθ; the strip is twice as high.

    Args:
        mu: the shift.
        beyond: the farthest mean of a tilted density.
        term: logarithm of an integrand's modulus without the normal density, and L, at x.
        edge: bounds the integral of the modulus at a height.
        outside: bounds that over |x| > reach >= ``beyond`` at a height.
    """
    height = min(1.0, 0.5 / float(mu))
    up, h = arb(height), arb(2 * math.pi * height / (digits() + 2 * height**2))
    each_side = math.ceil(float(far_enough(beyond) / h))

    def terms() -> Iterator[tuple[Ball, Ball]]:
        unit = h / (2 * arb.pi()).sqrt()
        for n in range(-each_side, each_side + 1):
            x = acb(h * n, up)
            power, at = term(x)
            yield unit * (power - x * x / 2).exp(), acb(at)

    def error() -> Ball:
        reach = h * each_side
        if not (reach >= beyond and reach > 0):
            return arb.pos_inf()
        return aliases(edge(arb(0)) + edge(2 * up), up, h) + outside(up, reach)

    return Quadrature(2 * each_side + 1, terms, error)


def off_lines(mu: Ball, q: Ball, above: int, below: int) -> dict[str, Any]:
    """What a law has for hyperbolas."""
    if not above:
        return {}
    if below:
        return {"sector": partial(replacement_sector, mu, q)}
    return {"turned": partial(of_removal, mu, q), "sector": partial(removal_sector, mu, q)}


def sampled(mu: Ball, q: Ball, above: int, below: int) -> Law:
    """P = (1-q)N(0) + qN(μ) if ``above`` else N(0); Q likewise with -μ if ``below``."""

    def loss(x: Ball, sign: int, analytic: bool) -> Ball:
        return (1 - q + q * (sign * mu * x - mu * mu / 2).exp()).log(analytic=analytic)

    def exponent(z: Ball, x: Ball, an: bool) -> tuple[Ball, Ball]:
        """Logarithm of the density of P times e^{zL}, over that of N(0), and L."""
        p, q = above and loss(x, 1, an), below and loss(x, -1, an)
        return (z + 1) * p - z * q, p - q

    def window(c: Ball, shift: Ball) -> tuple[Ball, Ball]:
        reach = far_enough(above * (c + 1) * mu)
        return reach, outside(mu, q, above, below, c, shift, reach)

    def moment(z: Ball) -> Ball:
        reach, rest = window(z.real, arb(0))

        def f(x: Ball, an: bool) -> Ball:
            return (exponent(z, x, an)[0] - x * x / 2).exp()

        return between(f, -reach, reach) + ball(rest)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")
        up, half = acb(0, 1) * shift, acb(0, 1) * y

        def modulus(x: Ball, an: bool) -> Ball:
            (f, rise), (g, fall) = exponent(c, x + up, an), exponent(c, x - up, an)
            return ((f + g + half * (rise - fall) + shift * shift - x * x) / 2).exp()

        reach, rest = window(c, shift)
        return between(modulus, -reach, reach).real + rest

    def along(c: Ball) -> Quadrature:
        return over_a_line(
            mu,
            above * (c + 1) * mu,
            lambda x: exponent(c, x, False),
            lambda height: beyond(c, arb(0), height) if height > 0 else abs(moment(acb(c))),
            lambda height, reach: outside(mu, q, above, below, c, height, reach),
        )

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        sides = (above, below), (below, above)
        first, second = ([single(mu, q, *s, step * j) for j in range(points)] for s in sides)
        return first, second

    largest = arb.pos_inf() if above else -(1 - q).log()
    return Law(
        moment,
        beyond,
        along=along,
        profile=lambda eps: single(mu, q, above, below, eps),
        largest=largest,
        bounds=bounds,
        strip=1.57 / float(mu),
        cost=500,
        **off_lines(mu, q, above, below),
    )
