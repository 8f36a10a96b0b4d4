"""Moment function of noise with density ∝ e^{-η|b|} in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. In prolate spheroidal coordinates
the loss is a·tanh x, and P has the density

    w(x) ∝ e^{(a/2) tanh x} cosh(x)^{1-d} (C + 1/cosh² x),
    C = (d-1) K_{d/2}(a/2) / [(a/2) K_{d/2-1}(a/2)].
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, ball, integral, precision
from dpcalc.certificates.laws import Bounds, Law, Table

LOST = 16
"""Bits that a moment may lack before it is taken with more; a choice."""


def from_cells(a: Ball, both: Callable[[Ball, bool], Ball], end: Ball, rest: Ball) -> Bounds:
    """Divergences from the masses of cells between the points, summed from the last one down.

    Args:
        a: the largest loss, which is a·tanh x.
        both: the density of P, plus i times that of Q.
        end: of the last cell.
        rest: bounds the mass beyond it.
    """

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        found = [(1 - (step * j - a).exp()).nonnegative_part() for j in range(points)]
        right, above, below = end, arb(0, 1) * rest, arb(0, 1) * rest
        for j in range(points - 1, -1, -1):
            if step * j < a:
                left = (step * j / a).atanh()
                cell = integral(both, left, right)
                above, below, right = above + cell.real, below + cell.imag, left
                found[j] = above - (step * j).exp() * below
        return found, found

    return bounds


def transformed(ratio: Ball, d: int, s: Ball) -> Ball:
    """The integral of e^{(s - a/2) tanh x} w(x), up to a constant, as w has Bessel functions."""

    def at(s: Ball, more: int) -> Ball:
        with precision(ctx.prec + more):
            first, second = (acb(s * s / 4).hypgeom_0f1(arb(d) / 2 + k) for k in (0, 1))
            return ratio * first + second * (d - 1) / d

    found, real = at(s, 0), abs(acb(s).real)
    if found.rad() <= abs(found) * arb(2) ** (LOST - ctx.prec):
        return found
    middle = acb(acb(s).real.mid(), acb(s).imag.mid())
    cancelled = (abs(s) - real).upper() / arb(2).log()  # bits of a power series
    more = LOST + math.ceil(float(cancelled.max(arb(0)).min(arb(2 * ctx.prec))))
    moved = abs(s - middle).upper() * abs(at(real.upper(), 0))  # bounds its change
    return at(middle, more) + ball(moved)


def exponential_norm(a: Ball, d: int) -> Law:
    """Noise ∝ e^{-η|b|} in dimension d >= 2, moved by a/η."""
    half = a / 2
    ratio = (d - 1) * half.bessel_k(arb(d) / 2) / (half * half.bessel_k(arb(d) / 2 - 1))

    def far(c: Ball) -> Ball:
        """Where nothing is left at the precision; a choice."""
        return arb(math.ceil((0.7 * (ctx.prec + d) + float(half + c * a)) / (d - 1)) + 1)

    def outside(c: Ball, reach: Ball) -> Ball:
        """Bounds the integral of |w e^{zL}| over x + i·shift, |x| > reach > 0, shifts up to π/4."""
        low, high = (-(d - 1) * reach).exp() / (d - 1), (-(d + 1) * reach).exp() / (d + 1)
        return ((half + c * a).exp() * arb(2) ** d * (ratio * low + 4 * high)).upper()

    end = far(arb(0))
    rest = outside(arb(0), end)

    def transform(s: Ball) -> Ball:
        return transformed(ratio, d, s)

    total = arb.pi().sqrt() * (arb(d - 1) / 2).gamma() / (arb(d) / 2).gamma() * transform(half).real

    def moment(z: Ball) -> Ball:
        return transform(a * z + half) / transform(half)

    def beyond(c: Ball, y: Ball, shift: Ball) -> Ball:
        if not (shift > 0 and shift <= arb.pi() / 4):
            return arb.pos_inf()
        wide, turn = (2 * shift).cos(), (2 * shift).sin()
        reach = far(arb(0)) + (1 + (c + y) * a).log().upper()

        def modulus(x: Ball, an: bool) -> Ball:
            """At x and -x, by what is small where x is large."""
            small = (-2 * x).exp()
            below = 1 + 2 * wide * small + small**2  # 2t·small
            exponent, less = half + c * a, 2 * small / below  # 1/t
            fall = less * (exponent * (wide + small) + y * a * turn)
            rise = 2 * exponent * (1 - small**2) / below
            common = exponent - fall - (d - 1) * (x + (below / 4).log(analytic=an) / 2)
            return (common.exp() + (common - rise).exp()) * (ratio + 2 * less)

        return (integral(modulus, arb(0), reach).real + outside(c, reach)) / total

    def both(x: Ball, _: bool) -> Ball:
        """The densities on the complex strip |Im x| < π/2."""
        up = x.exp()
        down = 1 / up
        inverse = 2 / (up + down)
        grown = (half * (up - down) * inverse / 2).exp()
        share = (ratio + inverse**2) * inverse ** (d - 1) / total
        return share * (grown + acb(0, 1) / grown)

    bounds = from_cells(a, both, end, rest / total)

    def profile(eps: Ball) -> Ball:
        return bounds(eps, 2)[0][1]

    return Law(moment, beyond, profile=profile, largest=a, strip=0.78, bounds=bounds, cost=50)
