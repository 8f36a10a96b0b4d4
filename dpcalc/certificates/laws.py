"""Moment functions of privacy losses in ball arithmetic: the mechanisms a certificate may name.

Depends on python-flint alone. Every value is an enclosure of the exact one; docs/certificates.md has
the proofs. z is complex with a positive real part c; loss means ln(dP/dQ) of one round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from flint import acb, arb, ctx

Ball = Any  # arb or acb: a number with a bound on its error


class Law(NamedTuple):
    """One round's loss L under P."""

    moment: Callable[[Ball], Ball]  # E[e^{zL}; L < ∞]
    beyond: Callable[[Ball, Ball, Ball], Ball]  # bounds |moment(c + iy)| for all y from Y on
    infinite: Ball = 0  # P(L = ∞)
    atoms: tuple[tuple[Ball, Ball], ...] = ()  # all finite losses with their masses, if few
    profile: Callable[[Ball], Ball] = lambda _: arb.nan()  # δ(ε) of one round, if it is known
    largest: Ball = arb.pos_inf()  # no finite loss is above it
    strip: float = 0.0  # about how far the integral may be moved; 0 if it need not be


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Within this block ball arithmetic has so many bits."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def tail(x: Ball) -> Ball:
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def ball(radius: Ball) -> Ball:
    """All complex numbers of at most this modulus, and a little more."""
    return acb(1, 1) * arb(0, 1) * radius.upper()


def between(f: Callable[[Ball, bool], Ball], start: Ball, end: Ball) -> Ball:
    """The integral of f over √2π along a line."""
    small = arb(2) ** (16 - ctx.prec)
    found = acb.integral(f, start, end, rel_tol=small, abs_tol=small, eval_limit=400 * ctx.prec)
    return found / (2 * arb.pi()).sqrt()


def gaussian(mu: Ball) -> Law:
    """N(μ, 1) against N(0, 1)."""

    def moment(z: Ball) -> Ball:
        return (mu * mu * z * (z + 1) / 2).exp()

    return Law(
        moment,
        lambda c, y, _: moment(c) * (-mu * mu * y * y / 2).exp(),
        profile=lambda e: tail(e / mu - mu / 2) - e.exp() * tail(e / mu + mu / 2),
    )


def laplace(bound: Ball) -> Law:
    """Noise of density ∝ e^{-|x|} against the same moved by ``bound``."""

    def moment(z: Ball) -> Ball:
        rising, falling = (z * bound).exp(), (-(z + 1) * bound).exp()
        return ((z + 1) * rising + z * falling) / (2 * z + 1)

    def beyond(c: Ball, y: Ball, _: Ball) -> Ball:
        z = acb(c, y)
        return (c * bound).exp() * abs((z + 1) / (2 * z + 1)) + (-(c + 1) * bound).exp() / 2

    def profile(eps: Ball) -> Ball:
        return (1 - ((eps - bound) / 2).exp()).nonnegative_part()

    return Law(moment, beyond, profile=profile, largest=bound)


def approximate(bound: Ball, failure: Ball) -> Law:
    """Everything is revealed with probability ``failure``, else randomised response."""
    likely = (1 - failure) / (1 + (-bound).exp())
    atoms = ((bound, likely), (-bound, 1 - failure - likely))

    def moment(z: Ball) -> Ball:
        return sum(((z * loss).exp() * mass for loss, mass in atoms), acb(0))

    return Law(moment, lambda c, *_: moment(c), failure, atoms, largest=bound)


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
        k = above * (c + 1)
        reach = arb(math.ceil(float(k * mu) + math.sqrt(1.5 * ctx.prec)) + 2)
        far = above * (k * (k - 1) * mu * mu / 2).exp() * tail(reach - k * mu)
        grown = (shift * shift / 2 - below * c * (1 - q).log()).exp()
        return reach, (2 * tail(reach) + far) * grown

    def moment(z: Ball) -> Ball:
        shift = arb(min(0.7, 0.9 * strip) if z.imag > 0 else 0)
        up = acb(0, 1) * shift

        def moved(x: Ball, an: bool) -> Ball:
            return (exponent(z, x, an)[0] - x * x / 2).exp()

        reach, outside = window(z.real, shift)
        return between(moved, up - reach, up + reach) + ball(outside)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")
        up, half = acb(0, 1) * shift, acb(0, 1) * y

        def modulus(x: Ball, an: bool) -> Ball:
            (f, rise), (g, fall) = exponent(c, x + up, an), exponent(c, x - up, an)
            return ((f + g + half * (rise - fall) + shift * shift - x * x) / 2).exp()

        reach, outside = window(c, shift)
        return between(modulus, -reach, reach).real + outside

    def profile(eps: Ball) -> Ball:
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

    largest = arb.pos_inf() if above else -(1 - q).log()
    return Law(moment, beyond, profile=profile, largest=largest, strip=strip)


def without_replacement(mu: Ball, q: Ball) -> Law:
    """The losses above 0 of (1-q)N(0) + qN(μ) against N(0), their mirror image, and 0 otherwise."""
    one_sided = sampled(mu, q, 1, 0)
    half, i = mu / 2, acb(0, 1)

    def u(x: Ball, analytic: bool) -> Ball:
        return (1 - q + q * (mu * (x - half)).exp()).log(analytic=analytic)

    def window(k: Ball, shift: Ball) -> tuple[Ball, Ball]:
        reach = arb(math.ceil(float(abs(k) * mu + half) + math.sqrt(1.5 * ctx.prec)) + 2)
        grown = (k * (k - 1) * mu * mu / 2).exp() if k > 0 else arb(2) ** (-k / 2)
        return reach, grown * (shift * shift / 2).exp() * tail(reach - (k * mu if k > 0 else 0))

    def one_side(k: Ball, y: Ball) -> Ball:
        """E[e^{(k+iy)u}; x > μ/2] under N(0), over μ/2, μ/2 + iθ, ∞ + iθ."""
        shift = arb(min(0.7, 0.9 * one_sided.strip) if y > 0 else 0)
        reach, outside = window(k, shift)

        def f(x: Ball, an: bool) -> Ball:
            return ((k + i * y) * u(x, an) - x * x / 2).exp()

        corner = half + i * shift
        return between(f, half, corner) + between(f, corner, reach + i * shift) + ball(outside)

    def moment(z: Ball) -> Ball:
        unmoved = 1 - (2 - q) * tail(half) - q * tail(-half)
        mirrored = one_side(-z.real, z.imag)
        return unmoved + one_side(1 + z.real, z.imag) + acb(mirrored.real, -mirrored.imag)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")

        def side(k: Ball) -> Ball:
            def modulus(x: Ball, conjugate: Ball, an: bool) -> Ball:
                a, b = u(x, an), u(conjugate, an)
                squares = (x * x + conjugate * conjugate) / 2
                return ((k * (a + b) + i * y * (a - b) - squares) / 2).exp()

            reach, outside = window(k, shift)
            up = between(lambda v, an: modulus(half + i * v, half - i * v, an), arb(0), shift)
            along = between(lambda x, an: modulus(x + i * shift, x - i * shift, an), half, reach)
            return up.real + along.real + outside

        return 1 - (2 - q) * tail(half) - q * tail(-half) + side(1 + c) + side(-c)

    return Law(moment, beyond, profile=one_sided.profile, strip=one_sided.strip)
