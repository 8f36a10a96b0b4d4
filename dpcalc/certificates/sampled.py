"""Moment functions of the Gaussian on random samples, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import acb, arb, ctx

from dpcalc.certificates.laws import Ball, Law, Table, ball, either_way, integral, tail


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


def outside_above(mu: Ball, k: Ball, shift: Ball, reach: Ball) -> Ball:
    """Bounds the integral of |n r^{k + iy}| over x + i·shift, x > reach >= μ/2."""
    if k > 0:
        grown, most = (k * (k - 1) * mu * mu / 2).exp(), tail(reach - k * mu)
    else:
        grown, most = arb(2) ** (-k / 2), tail(reach)
    return grown * (shift * shift / 2).exp() * most


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

    def profile(eps: Ball, above: int = above, below: int = below) -> Ball:
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

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        places = [step * j for j in range(points)]
        return [profile(e) for e in places], [profile(e, below, above) for e in places]

    largest = arb.pos_inf() if above else -(1 - q).log()
    return Law(moment, beyond, profile=profile, largest=largest, bounds=bounds, strip=strip)


def without_replacement(mu: Ball, q: Ball) -> Law:
    """The losses above 0 of (1-q)N(0) + qN(μ) against N(0), their mirror image, and 0 otherwise."""
    one_sided = sampled(mu, q, 1, 0)
    half, i = mu / 2, acb(0, 1)

    def u(x: Ball, analytic: bool) -> Ball:
        return (1 - q + q * (mu * (x - half)).exp()).log(analytic=analytic)

    def window(k: Ball, shift: Ball) -> tuple[Ball, Ball]:
        reach = far_enough(abs(k) * mu + half)
        return reach, outside_above(mu, k, shift, reach)

    def one_side(k: Ball, y: Ball) -> Ball:
        """E[e^{(k+iy)u}; x > μ/2] under N(0), over μ/2, μ/2 + iθ, ∞ + iθ."""
        shift = arb(min(0.7, 0.9 * one_sided.strip) if y > 0 else 0)
        if not shift * mu <= arb.pi() / 2:
            return acb("nan")
        reach, rest = window(k, shift)

        def f(x: Ball, an: bool) -> Ball:
            return ((k + i * y) * u(x, an) - x * x / 2).exp()

        corner = half + i * shift
        return between(f, half, corner) + between(f, corner, reach + i * shift) + ball(rest)

    def moment(z: Ball) -> Ball:
        mirrored = one_side(-z.real, z.imag)
        return still + one_side(1 + z.real, z.imag) + acb(mirrored.real, -mirrored.imag)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")

        def side(k: Ball) -> Ball:
            def modulus(x: Ball, conjugate: Ball, an: bool) -> Ball:
                a, b = u(x, an), u(conjugate, an)
                squares = (x * x + conjugate * conjugate) / 2
                return ((k * (a + b) + i * y * (a - b) - squares) / 2).exp()

            reach, rest = window(k, shift)
            up = between(lambda v, an: modulus(half + i * v, half - i * v, an), arb(0), shift)
            along = between(lambda x, an: modulus(x + i * shift, x - i * shift, an), half, reach)
            return up.real + along.real + rest

        return side(1 + c) + side(-c)

    still = 1 - (2 - q) * tail(half) - q * tail(-half)
    found = Law(moment, beyond, still, profile=one_sided.profile, strip=one_sided.strip)
    return either_way(found)
