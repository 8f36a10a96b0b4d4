"""Moment function of the Gaussian on Poisson samples, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import acb, arb, ctx

from dpcalc.certificates.laws import Ball, Law, Table, ball, integral, tail


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


def sampled(mu: Ball, q: Ball, above: int, below: int) -> Law:
    """P = (1-q)N(0) + qN(μ) if ``above`` else N(0); Q likewise with -μ if ``below``."""
    strip = 1.57 / float(mu)

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
        shift = arb(min(0.7, 0.9 * strip) if z.imag > 0 else 0)
        if not shift * mu <= arb.pi() / 2:
            return acb("nan")
        up = acb(0, 1) * shift

        def moved(x: Ball, an: bool) -> Ball:
            return (exponent(z, x, an)[0] - x * x / 2).exp()

        reach, rest = window(z.real, shift)
        return between(moved, up - reach, up + reach) + ball(rest)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")
        up, half = acb(0, 1) * shift, acb(0, 1) * y

        def modulus(x: Ball, an: bool) -> Ball:
            (f, rise), (g, fall) = exponent(c, x + up, an), exponent(c, x - up, an)
            return ((f + g + half * (rise - fall) + shift * shift - x * x) / 2).exp()

        reach, rest = window(c, shift)
        return between(modulus, -reach, reach).real + rest

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        sides = (above, below), (below, above)
        first, second = ([single(mu, q, *s, step * j) for j in range(points)] for s in sides)
        return first, second

    largest = arb.pos_inf() if above else -(1 - q).log()
    return Law(
        moment,
        beyond,
        profile=lambda eps: single(mu, q, above, below, eps),
        largest=largest,
        bounds=bounds,
        strip=strip,
        cost=500,
    )
