"""Moments of rare samples off vertical lines, how they change and how they fall there, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs. Losses above 0 are u = L - L' where
x = start + w/μ and L = ln(1 - q + re^w); L' is 0, or ln(1 - q + re^{-w}). They are integrated over a
path of w on which the angle of du is never below ``turn``, nor above a right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, ball, integral, tail
from dpcalc.certificates.laws import Sector
from dpcalc.certificates.rays import density, exactly

PIECES, WIDE = 128, 4
"""Into how many pieces parts of a path are divided to see angles, and how long the last one is."""


@dataclass(frozen=True, slots=True)
class Path:
    """From 0 to a corner, on to even odds at a height, and farther at an angle."""

    mu: Ball
    start: Ball
    others: Ball  # 1 - q
    rate: Ball  # r
    mirrored: bool  # whether L' is not 0
    vertex: Ball  # real parts of z are at most this and tan(turn) times the height
    turn: Ball
    along: Ball  # real part of the first corner
    side: Ball  # and its height
    height: Ball  # of the second one
    angle: Ball

    @property
    def even(self) -> Ball:
        """Re w where a sample with the record is as likely as one without."""
        return (self.others / self.rate).log()

    @property
    def corners(self) -> tuple[Ball, Ball, Ball]:
        """0, and where the path turns."""
        return acb(0), acb(self.along, self.side), acb(self.even, self.height)

    def holds(self) -> bool:
        """Whether losses turn as they should, and the path is below all zeros of e^L."""
        narrow = 0 < self.turn < self.angle < arb.pi() / 4
        low = 0 < self.side < self.height < arb("1.5") and 0 < self.along < self.even
        if not (narrow and low and self.even >= 1 and self.ends_turned()):
            return False
        return all(self.turned(*piece) for piece in self.pieces())

    def pieces(self) -> list[tuple[Ball, Ball]]:
        """Parts of the path, and its directions there."""
        ends = (*self.corners, self.corners[2] + WIDE * acb(0, self.angle).exp())
        parts = [(begin, (end - begin) / PIECES) for begin, end in pairwise(ends)]
        return [(at + part * arb(k + 0.5, 0.5), part) for at, part in parts for k in range(PIECES)]

    def turned(self, w: Ball, direction: Ball) -> bool:
        """Whether du turns as it should, and |du/dw| is below 2."""
        odds, up = self.rate / self.others, acb(0, w.imag).exp()
        rest = 1 + odds * w.exp()
        if self.mirrored:
            up += acb(-2 * w.real, -w.imag).exp() + 2 * odds * (-w.real).exp()
            rest *= 1 + odds * (-w).exp()
        ahead, size = up / rest * direction, abs(up / rest) * odds * w.real.exp()
        return bool(ahead.real >= 0 and ahead.imag >= self.turn.tan() * ahead.real and size < 2)

    def ends_turned(self) -> bool:
        """The same beyond the last piece, where du/dw is close to 1."""
        grown = WIDE * self.angle.cos()
        apart = 1 / (grown.exp() - 1)
        if self.mirrored:
            apart += 1 / ((2 * self.even + grown).exp() - 1)
        return bool(apart < 1 and arb.pi() / 2 * apart <= self.angle - self.turn)

    @property
    def narrow(self) -> Ball:
        """Of the normal density along the last part."""
        return (2 * self.angle).cos().sqrt()

    @property
    def tilt(self) -> Ball:
        """How fast all else grows there at most, times μ over ``narrow``."""
        ahead = acb(0, self.angle).exp()
        falls = ((self.start + self.corners[2] / self.mu) * ahead).real / self.mu
        return ((1 + self.vertex) * ahead.real - falls + 1) * self.mu / self.narrow

    @property
    def log_most(self) -> Ball:
        """Any of the integrals below is at most e to this times a normal tail, over the last part."""
        least = self.others - self.rate if self.mirrored else arb(1)
        begun = (self.log_density(self.corners[2])).real + (2 + self.vertex) * self.even + 3
        return begun - self.vertex * least.log() + self.tilt**2 / 2 + (4 / self.narrow).log()

    @property
    def end(self) -> Ball:
        """Of the last part, such that next to nothing is beyond it."""
        lost = 1.4 * ctx.prec + 2 * max(0.0, float(self.log_most))
        far = (math.sqrt(lost) + 1 + self.tilt) * self.mu / self.narrow
        return arb(max(1, math.ceil(float(far))))

    def rest(self) -> Ball:
        """Bounds what is beyond the end."""
        return self.log_most.exp() * tail(self.end * self.narrow / self.mu - self.tilt)

    def losses(self, w: Ball, far: bool, analytic: bool) -> tuple[Ball, Ball]:
        """L and L'."""
        p, r = self.others, self.rate
        if far:
            loss = w + (r + p * (-w).exp()).log(analytic=analytic)
        else:
            loss = (p + r * w.exp()).log(analytic=analytic)
        return loss, (p + r * (-w).exp()).log(analytic=analytic) if self.mirrored else acb(0)

    def log_density(self, w: Ball) -> Ball:
        """Of N(0) at w, but for the constant."""
        return -((self.start + w / self.mu) ** 2) / 2

    def over(self, f: Callable[[Ball, Ball, Ball, bool, bool], Ball]) -> Ball:
        """The integral of a function of a begin, a direction, a distance, and both of `losses`."""
        total, (zero, first, second) = acb(0), self.corners
        ends = (
            (zero, first),
            (first, second),
            (second, second + self.end * acb(0, self.angle).exp()),
        )
        for begin, end in ends:
            far, ahead = begin is second, (end - begin) / abs(end - begin)

            def along(
                x: Ball, analytic: bool, at: Ball = begin, ahead: Ball = ahead, far: bool = far
            ) -> Ball:
                return f(at, ahead, x, far, analytic)

            total += integral(along, acb(0), acb(abs(end - begin)))
        return total / (self.mu * (2 * arb.pi()).sqrt())

    def mean(self, f: Callable[[Ball, Ball], Ball], power: int) -> Ball:
        """The integral of e^{f(L, L')}u^power under N(0)."""

        def at(begin: Ball, ahead: Ball, x: Ball, far: bool, analytic: bool) -> Ball:
            w = begin + x * ahead
            loss, other = self.losses(w, far, analytic)
            return ahead * (self.log_density(w) + f(loss, other)).exp() * (loss - other) ** power

        return self.over(at) + ball(self.rest())

    def size(self, f: Callable[[Ball, Ball, Ball, Ball], Ball], power: int) -> Ball:
        """The same of moduli, with real parts of L, L' and u, and the imaginary one; |u|^2power."""

        def at(begin: Ball, ahead: Ball, x: Ball, far: bool, analytic: bool) -> Ball:
            w, v = begin + x * ahead, begin.conjugate() + x * ahead.conjugate()
            (loss, other), (a, b) = (self.losses(each, far, analytic) for each in (w, v))
            u, conjugate = loss - other, a - b
            real, imaginary = (u + conjugate) / 2, (u - conjugate) / acb(0, 2)
            grown = f((loss + a) / 2, (other + b) / 2, real, imaginary)
            normal = (self.log_density(w) + self.log_density(v)) / 2
            return (normal + grown).exp() * (u * conjugate) ** power

        return self.over(at).real + self.rest()


def above_zero(path: Path) -> Sector:
    """E[e^{L + zu}; x > start] under N(0)."""
    c, slope = path.vertex, path.turn.tan()

    def falling(height: Ball) -> Callable[[Ball, Ball, Ball, Ball], Ball]:
        return lambda loss, _, u, v: loss + c * u + height * (slope * u - v)

    return Sector(
        (),
        lambda z: path.mean(lambda loss, other: loss + z * (loss - other), 0),
        lambda z: path.mean(lambda loss, other: loss + z * (loss - other), 1),
        lambda _, height: path.size(falling(height), 1),
        lambda _, height: path.size(falling(height), 0),
    )


def below_zero(path: Path) -> Sector:
    """E[e^{L' - zu}; x > start] under N(0)."""

    def at(z: Ball) -> Callable[[Ball, Ball], Ball]:
        return lambda loss, other: other - z.conjugate() * (loss - other)

    def falling(real_part: Ball, height: Ball) -> Callable[[Ball, Ball, Ball, Ball], Ball]:
        return lambda _, other, u, v: other - real_part * u - height * v

    return Sector(
        (),
        lambda z: path.mean(at(z), 0).conjugate(),
        lambda z: -path.mean(at(z), 1).conjugate(),
        lambda *least: path.size(falling(*least), 1),
        lambda *least: path.size(falling(*least), 0),
    )


def on_the_line(mu: Ball, q: Ball) -> Sector:
    """E[e^{(1+z)L}; x < μ/2] under N(0), L = ln(1 - q + qe^w)."""
    end = mu * ((1.5 * ctx.prec) ** 0.5 + 2 + mu / 2)
    rest = tail(end / mu - mu / 2)

    def mean(k: Ball, power: int) -> Ball:
        def integrand(w: Ball, analytic: bool) -> Ball:
            loss = (1 - q + q * w.exp()).log(analytic=analytic)
            return density(mu, w, k * loss) * loss**power

        return integral(integrand, acb(-end), acb(0))

    return Sector(
        (),
        lambda z: mean(1 + z, 0) + ball(rest),
        lambda z: mean(1 + z, 1) + ball(rest),
        lambda *_: (1 - q).log() ** 2 * tail(-mu / 2),
        lambda real_part, _: mean(1 + real_part, 0).real + rest,
    )


def at_zero(still: Ball) -> Sector:
    """Of a loss of 0 that has a probability."""
    return Sector((), lambda _: acb(still), lambda _: acb(0), lambda *_: arb(0), lambda *_: still)


def together(known: tuple[Any, ...], path: Path, *parts: Callable[[], Sector]) -> Sector:
    """The sum of parts of a law, nothing where something might grow."""
    if not path.holds():
        return Sector(
            (),
            lambda _: acb("nan"),
            lambda _: acb("nan"),
            lambda *_: arb.nan(),
            lambda *_: arb.nan(),
        )
    found = [part() for part in parts]
    return Sector(
        known,
        lambda z: sum((part.moment(z) for part in found), acb(0)),
        lambda z: sum((part.slope(z) for part in found), acb(0)),
        lambda *least: sum((part.bend(*least) for part in found), arb(0)),
        lambda *least: sum((part.beyond(*least) for part in found), arb(0)),
    )


def removal_sector(mu: Ball, q: Ball, *chosen: Ball) -> Sector:
    """P = (1-q)N(0) + qN(μ), Q = N(0); chosen: as of a path."""
    path = Path(mu, mu / 2, 1 - q, q, False, *chosen)
    known = ("removal", *exactly(mu, q, *chosen))
    return together(known, path, lambda: above_zero(path), lambda: on_the_line(mu, q))


def replacement_sector(mu: Ball, q: Ball, *chosen: Ball) -> Sector:
    """P = (1-q)N(0) + qN(μ), Q = (1-q)N(0) + qN(-μ)."""
    path = Path(mu, arb(0), 1 - q, q * (-mu * mu / 2).exp(), True, *chosen)
    known = ("replacement", *exactly(mu, q, *chosen))
    return together(known, path, lambda: above_zero(path), lambda: below_zero(path))


def batches_sector(mu: Ball, q: Ball, still: Ball, *chosen: Ball) -> Sector:
    """Losses above 0 of P = (1-q)N(0) + qN(μ), Q = N(0), their mirror image, and 0 otherwise."""
    path = Path(mu, mu / 2, 1 - q, q, False, *chosen)
    known = ("batches", *exactly(mu, q, *chosen))
    return together(
        known, path, lambda: above_zero(path), lambda: below_zero(path), lambda: at_zero(still)
    )
