"""The Gaussian on batches of fixed size, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from flint import acb, arb

from dpcalc.certificates.above_zero import ALL, Share, above_zero
from dpcalc.certificates.balls import Ball, ball, tail
from dpcalc.certificates.laws import Law, either_way
from dpcalc.certificates.quadrature import Quadrature
from dpcalc.certificates.rays import of_batches
from dpcalc.certificates.sampled import between, far_enough, sampled
from dpcalc.certificates.sectors import batches_sector


def outside_above(mu: Ball, k: Ball, shift: Ball, reach: Ball) -> Ball:
    """Bounds the integral of |n r^{k + iy}| over x + i·shift, x > reach >= μ/2."""
    if k > 0:
        grown, most = (k * (k - 1) * mu * mu / 2).exp(), tail(reach - k * mu)
    else:
        grown, most = arb(2) ** (-k / 2), tail(reach)
    return grown * (shift * shift / 2).exp() * most


def loss(mu: Ball, q: Ball, x: Ball, analytic: bool) -> Ball:
    """ln(1 - q + q·e^{μx - μ²/2})."""
    return (1 - q + q * (mu * (x - mu / 2)).exp()).log(analytic=analytic)


def window(mu: Ball, k: Ball, shift: Ball) -> tuple[Ball, Ball]:
    """How far an integral of n r^{k+iy} goes, and what is beyond it."""
    reach = far_enough(abs(k) * mu + mu / 2)
    return reach, outside_above(mu, k, shift, reach)


def one_side(mu: Ball, q: Ball, k: Ball, y: Ball) -> Ball:
    """E[e^{(k+iy)u}; x > μ/2] under N(0)."""
    reach, rest = window(mu, k, arb(0))
    power = acb(k, y)

    def f(x: Ball, an: bool) -> Ball:
        return (power * loss(mu, q, x, an) - x * x / 2).exp()

    return between(f, mu / 2, reach) + ball(rest)


def idle(mu: Ball, q: Ball) -> Ball:
    """The probability of a loss of 0."""
    return 1 - (2 - q) * tail(mu / 2) - q * tail(-mu / 2)


def up_to_zero(mu: Ball, q: Ball, z: Ball) -> Ball:
    """The moment of the losses that are 0 or mirrored."""
    return idle(mu, q) + one_side(mu, q, -z.real, z.imag).conjugate()


def in_one(mu: Ball, q: Ball, c: Ball, share: Share) -> Quadrature:
    """Moments on a line of all losses, with a share of those above 0."""

    def whole(k: Ball) -> Ball:
        return abs(one_side(mu, q, k, arb(0)))

    return above_zero(mu, q, c, idle(mu, q), whole, share)


def without_replacement(mu: Ball, q: Ball) -> Law:
    """The losses above 0 of (1-q)N(0) + qN(μ) against N(0), their mirror image, and 0 otherwise."""
    one_sided = sampled(mu, q, 1, 0)
    half, i = mu / 2, acb(0, 1)

    def moment(z: Ball) -> Ball:
        return up_to_zero(mu, q, z) + one_side(mu, q, 1 + z.real, z.imag)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")

        def side(k: Ball) -> Ball:
            def modulus(x: Ball, conjugate: Ball, an: bool) -> Ball:
                a, b = loss(mu, q, x, an), loss(mu, q, conjugate, an)
                squares = (x * x + conjugate * conjugate) / 2
                return ((k * (a + b) + i * y * (a - b) - squares) / 2).exp()

            reach, rest = window(mu, k, shift)
            up = between(lambda v, an: modulus(half + i * v, half - i * v, an), arb(0), shift)
            along = between(lambda x, an: modulus(x + i * shift, x - i * shift, an), half, reach)
            return up.real + along.real + rest

        return side(1 + c) + side(-c)

    return either_way(
        Law(
            moment,
            beyond,
            idle(mu, q),
            profile=one_sided.profile,
            strip=one_sided.strip,
            along=lambda c: in_one(mu, q, c, ALL),
            turned=lambda *angles: of_batches(mu, q, idle(mu, q), *angles),
            sector=lambda *angles: batches_sector(mu, q, idle(mu, q), *angles),
            chi_square=q * q * (mu * mu).expm1(),
            cost=1000,
        )
    )
