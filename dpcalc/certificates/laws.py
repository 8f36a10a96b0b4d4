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


def normal_mean(f: Callable[[Ball, bool], Ball], reach: Ball, outside: Ball) -> Ball:
    """E[f(X)] for X ~ N(0, 1); ``outside`` bounds the modulus of what |X| > reach adds."""
    small, ball = arb(2) ** (16 - ctx.prec), arb(0, 1) * outside.upper()
    inside = acb.integral(
        lambda x, analytic: f(x, analytic) * (-x * x / 2).exp(),
        *(-reach, reach),
        rel_tol=small,
        abs_tol=small,
        eval_limit=400 * ctx.prec,
    )
    return inside / (2 * arb.pi()).sqrt() + acb(ball, ball)


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

    return Law(moment, beyond, largest=bound)


def approximate(bound: Ball, failure: Ball) -> Law:
    """Everything is revealed with probability ``failure``, else randomised response."""
    likely = (1 - failure) / (1 + (-bound).exp())
    atoms = ((bound, likely), (-bound, 1 - failure - likely))

    def moment(z: Ball) -> Ball:
        return sum(((z * loss).exp() * mass for loss, mass in atoms), acb(0))

    return Law(moment, lambda c, *_: moment(c), failure, atoms, largest=bound)


def sampled(mu: Ball, q: Ball, above: int, below: int) -> Law:
    """P = (1-q)N(0) + qN(μ) if ``above`` else N(0); Q likewise with -μ if ``below``."""

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
        return normal_mean(lambda x, an: exponent(z, x, an)[0].exp(), *window(acb(z).real, arb(0)))

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift * mu <= arb.pi() / 2):
            return arb("inf")
        up, half = acb(0, 1) * shift, acb(0, 1) * y

        def modulus(x: Ball, an: bool) -> Ball:
            (f, rise), (g, fall) = exponent(c, x + up, an), exponent(c, x - up, an)
            return ((f + g + half * (rise - fall) + shift * shift) / 2).exp()

        return normal_mean(modulus, *window(c, shift)).real

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
    return Law(moment, beyond, profile=profile, largest=largest, strip=1.57 / float(mu))
