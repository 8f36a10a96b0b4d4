"""The Gaussian on batches of fixed size, its small losses apart from its large ones, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs. Of losses u > 0 with odds
t = q·e^{μx - μ²/2} the share (1 - e^{-place/t})⁸ counts as small, and all others up to 0 do.
"""

from __future__ import annotations

from flint import acb, arb

from dpcalc.certificates.balls import Ball, ball
from dpcalc.certificates.batches import in_one, loss, up_to_zero, window, without_replacement
from dpcalc.certificates.laws import Law
from dpcalc.certificates.sampled import between

STEEPNESS = 8
"""How fast the share of small losses falls; a choice."""

FAR = 4
"""Where odds are so many times 1 and the place at least, the line may be moved farther."""


def rare(mu: Ball, q: Ball, place: Ball) -> Law:
    """The same law as without the small losses apart."""
    half, i = mu / 2, acb(0, 1)
    whole = without_replacement(mu, q)

    def odds(x: Ball) -> Ball:
        return q * (mu * (x - half)).exp()

    def share(odds: Ball) -> Ball:
        """Of the small ones among losses of such odds."""
        return (1 - (-place / odds).exp()) ** STEEPNESS

    def small(z: Ball) -> Ball:
        def f(x: Ball, an: bool) -> Ball:
            return share(odds(x)) * ((1 + z) * loss(mu, q, x, an) - x * x / 2).exp()

        reach, rest = window(mu, 1 + z.real, arb(0))
        return up_to_zero(mu, q, z) + between(f, half, reach) + ball(rest)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        """Over μ/2, μ/2 + iθ, ∞ + iθ; if θ > 1/μ over μ/2 + i/μ, far + i/μ, far + iθ, ∞ + iθ."""
        near, moved = bool(shift > 0 and shift * mu <= 1), bool(shift * mu > 1)
        if not (near or moved):
            return arb.pos_inf()
        low, far = shift if near else 1 / mu, half + (FAR * place.max(arb(1)) / q).log() / mu
        reach, rest = window(mu, 1 + c, shift)
        end = reach if near else far

        def modulus(x: Ball, conjugate: Ball, a: Ball, b: Ball) -> Ball:
            squares = (x * x + conjugate * conjugate) / 2
            return (((1 + c) * (a + b) + i * y * (a - b) - squares) / 2).exp()

        def first(x: Ball, v: Ball, an: bool) -> Ball:
            pair = x + i * v, x - i * v
            rest = (1 + (-place * (mu * v).cos() / odds(x)).exp()) ** STEEPNESS - 1
            return rest * modulus(*pair, *(loss(mu, q, each, an) for each in pair))

        def second(x: Ball, v: Ball, an: bool) -> Ball:
            pair = x + i * v, x - i * v
            return 2 * modulus(*pair, *(above(each, an) for each in pair))

        def above(x: Ball, an: bool) -> Ball:
            """The loss where odds are above 1, whatever their angle."""
            return q.log() + mu * (x - half) + (1 + (1 - q) / odds(x)).log(analytic=an)

        found = between(lambda v, an: first(half, v, an), arb(0), low)
        found += between(lambda x, an: first(x, low, an), half, end)
        if moved:
            found += between(lambda v, an: second(far, v, an), low, shift)
            found += between(lambda x, an: second(x, shift, an), far, reach.max(far))
        return found.real + 2**STEEPNESS * rest

    return whole._replace(
        small=small,
        small_along=lambda c: in_one(mu, q, c, (share, 2**STEEPNESS)),
        beyond=beyond,
        cost=3 * whole.cost,
    )
