"""Moments of sampled Gaussians off vertical lines, by integrals over a ray, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. With w = μ(x - μ/2) it is about
u = ln(1 - q + qe^w), and the ray is w = ρe^{iψ}, ρ >= 0.
"""

from __future__ import annotations

import math
from typing import Any

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, ball, integral, tail
from dpcalc.certificates.laws import Turned


def exactly(*balls: Ball) -> tuple[Any, ...]:
    """What tells balls from all others."""
    parts = (part for each in balls for part in (each.mid(), each.rad()))
    return tuple(int(n) for part in parts for n in part.man_exp())


def over_a_ray(mu: Ball, q: Ball, vertex: Ball, turn: Ball, ray: Ball) -> Turned:
    """E[e^{ku}; x > μ/2] under N(0), k = 1 + z or the conjugate of -z.

    Where real parts of z are at most ``vertex``, and more by tan(turn) times the height; the bound is
    of k = 1 + z.

    Args:
        mu: the shift.
        q: the rate.
        vertex: a real part.
        turn: an angle.
        ray: ψ.
    """
    odds = (1 - q) / q  # of the other samples
    even = odds.max(arb(1)).log()  # real part of w where both are as likely
    apart = odds * (-arb.pi() / ray.tan()).exp()
    if not (
        0 < turn < ray < arb.pi() / 4 and even * ray.tan() <= 2 and apart <= (ray - turn).sin()
    ):
        return Turned((), lambda _: acb("nan"), arb.pos_inf())
    narrow, tilt = (2 * ray).cos(), (vertex + arb("0.5")) * ray.cos()
    most = ((tilt * mu) ** 2 / (2 * narrow) - mu**2 / 8).exp() / narrow.sqrt()
    far = mu * ((1.5 * ctx.prec) ** 0.5 + 2) / narrow.sqrt() + tilt * mu**2 / narrow
    end = arb(math.ceil(float(far.max((even + 3) / ray.cos()))))
    left_out = ball(most * tail(end * narrow.sqrt() / mu - tilt * mu / narrow.sqrt()))

    along = acb(0, ray).exp()
    middle, last = (even + arb("0.5")) / ray.cos() * along, end * along

    def side(power: Ball) -> Ball:
        def near(w: Ball, analytic: bool) -> Ball:
            return density(mu, w, power * (1 - q + q * w.exp()).log(analytic=analytic))

        def beyond(w: Ball, analytic: bool) -> Ball:
            u = w + (q + (1 - q) * (-w).exp()).log(analytic=analytic)
            return density(mu, w, power * u)

        return integral(near, acb(0), middle) + integral(beyond, middle, last) + left_out

    return Turned(exactly(mu, q, vertex, turn, ray), side, most)


def density(mu: Ball, w: Ball, power: Ball) -> Ball:
    """That of N(0) at w, times e^power."""
    return (power - (mu / 2 + w / mu) ** 2 / 2).exp() / (mu * (2 * arb.pi()).sqrt())


def of_batches(mu: Ball, q: Ball, still: Ball, *angles: Ball) -> Turned:
    """Moments of u, x > μ/2, of its mirror image, and of 0, which has the probability ``still``."""
    above = over_a_ray(mu, q, *angles)

    def moment(z: Ball) -> Ball:
        return still + above.moment(1 + z) + above.moment(-z.conjugate()).conjugate()

    return Turned(above.exactly, moment, still + tail(mu / 2) + above.largest)


def of_removal(mu: Ball, q: Ball, *angles: Ball) -> Turned:
    """Moments of u under (1-q)N(0) + qN(μ): over the real line below μ/2, and a ray above."""
    above, end = over_a_ray(mu, q, *angles), mu * ((1.5 * ctx.prec) ** 0.5 + 2 + mu / 2)
    left_out = ball(tail(end / mu - mu / 2))

    def moment(z: Ball) -> Ball:
        def below(w: Ball, analytic: bool) -> Ball:
            return density(mu, w, (1 + z) * (1 - q + q * w.exp()).log(analytic=analytic))

        return integral(below, acb(-end), acb(0)) + left_out + above.moment(1 + z)

    return Turned(("removal", *above.exactly), moment, tail(-mu / 2) + above.largest)
