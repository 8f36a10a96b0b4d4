"""The Gaussian on batches of fixed size, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from flint import acb, arb

from dpcalc.certificates.laws import Ball, Law, ball, either_way, tail
from dpcalc.certificates.sampled import between, far_enough, sampled


def outside_above(mu: Ball, k: Ball, shift: Ball, reach: Ball) -> Ball:
    """Bounds the integral of |n r^{k + iy}| over x + i·shift, x > reach >= μ/2."""
    if k > 0:
        grown, most = (k * (k - 1) * mu * mu / 2).exp(), tail(reach - k * mu)
    else:
        grown, most = arb(2) ** (-k / 2), tail(reach)
    return grown * (shift * shift / 2).exp() * most


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
    found = Law(moment, beyond, still, profile=one_sided.profile, strip=one_sided.strip, cost=1000)
    return either_way(found)
