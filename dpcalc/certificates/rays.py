"""Moments of batches of fixed size off vertical lines, by integrals over a ray, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. With w = μ(x - μ/2) losses are
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


def over_a_ray(mu: Ball, q: Ball, still: Ball, vertex: Ball, turn: Ball, ray: Ball) -> Turned:
    """Moments where real parts are at most ``vertex``, and more by tan(turn) times the height.

    Args:
        mu: the shift.
        q: the rate.
        still: the probability of a loss of 0.
        vertex: a real part.
        turn: an angle.
        ray: ψ.
    """
    odds = (1 - q) / q  # of the other batches
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
        """E[e^{power·u}; x > μ/2] under N(0)."""

        def density(w: Ball, u: Ball) -> Ball:
            return (power * u - (mu / 2 + w / mu) ** 2 / 2).exp()

        def near(w: Ball, analytic: bool) -> Ball:
            return density(w, (1 - q + q * w.exp()).log(analytic=analytic))

        def beyond(w: Ball, analytic: bool) -> Ball:
            return density(w, w + (q + (1 - q) * (-w).exp()).log(analytic=analytic))

        found = integral(near, acb(0), middle) + integral(beyond, middle, last)
        return found / (mu * (2 * arb.pi()).sqrt()) + left_out

    def moment(z: Ball) -> Ball:
        return still + side(1 + z) + side(-z.conjugate()).conjugate()

    return Turned(exactly(mu, q, vertex, turn, ray), moment, still + tail(mu / 2) + most)
