"""Moment functions of privacy losses in ball arithmetic: the mechanisms a certificate may name.

Depends on python-flint alone. Every value is an enclosure of the exact one; docs/certificates.md has
the proofs. z is complex with a positive real part c; loss means ln(dP/dQ) of one round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

from flint import acb, arb, arb_poly

from dpcalc.certificates.balls import Ball, tail
from dpcalc.certificates.quadrature import Quadrature

Polynomial = Any  # arb_poly
Table = list[Ball]
"""Bounds of divergences at k = 1, e^step, e^{2 step}, ...; of P and Q, and of Q and P, in a law."""

Bounds = Callable[[Ball, int], tuple[Table, Table]]
"""Of a step, and how many points there are."""

Terms = tuple[tuple[Ball, Polynomial], ...]
"""With t = z + 1/2 the sum of e^{tx}·p(1/t) over pairs of a place x and a polynomial p."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A moment where heights are not below 0 and real parts positive, and do not grow too fast."""

    exactly: tuple[Any, ...]  # tells it from others
    moment: Callable[[Ball], Ball] = field(compare=False)
    largest: Ball = field(compare=False)  # bounds all moduli


@dataclass(frozen=True, slots=True)
class Sector:
    """A moment where heights are not below 0 and real parts positive, and do not grow too fast."""

    exactly: tuple[Any, ...]  # tells it from others
    moment: Callable[[Ball], Ball] = field(compare=False)
    slope: Callable[[Ball], Ball] = field(compare=False)  # its derivative
    bend: Callable[[Ball, Ball], Ball] = field(compare=False)  # bounds its second derivative
    beyond: Callable[[Ball, Ball], Ball] = field(
        compare=False
    )  # and it, where Re z, Im z are larger


class Law(NamedTuple):
    """One round's loss L under P."""

    moment: Callable[[Ball], Ball]  # E[e^{zL}; L < ∞]; a bound of it at real z, or nan
    beyond: Callable[[Ball, Ball, Ball], Ball]  # bounds |moment(c + iy) - still| for y from Y on
    still: Ball = 0  # P(L = 0), or 0
    infinite: Ball = 0  # P(L = ∞)
    terms: Terms = ()  # of the moment, if they are few
    profile: Callable[[Ball], Ball] = lambda _: arb.nan()  # δ(ε) of one round, if it is known
    largest: Ball = arb.pos_inf()  # no finite loss is above it
    bounds: Bounds = lambda *_: ([], [])  # on a lattice; empty if there are none
    squared: Ball = 0  # μ² if it is a Gaussian mechanism
    chi_square: Ball = arb.nan()  # bounds ∫(P - Q)²/Q of what it stands for, in either order
    strip: float = 0.0  # about how far the integral may be moved; 0 if there is none
    small: Callable[[Ball], Ball] | None = None  # a part of it; ``beyond`` is of the rest then
    parted: Callable[[Ball], Law] | None = None  # with a ``small`` part, of losses up to a place
    along: Callable[[Ball], Quadrature] | None = None  # the moments on a line, of all at once
    small_along: Callable[[Ball], Quadrature] | None = None  # and of the ``small`` part
    turned: Callable[[Ball, Ball, Ball], Turned] | None = None  # by vertex, turn and ray
    sector: Callable[..., Sector] | None = None  # of rare samples, by what sectors.py says of paths
    cost: int = 1  # about how many exponentials a moment takes
    setup: int = 0  # and how many its bounds take once


Rounds = list[tuple[Law, int]]
"""Laws with their numbers of rounds."""


def either_way(law: Law) -> Law:
    """A law whose profile is that of both directions."""

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        found = [law.profile(step * j) for j in range(points)]
        return found, found

    return law._replace(bounds=bounds)


def in_parts(law: Law, place: Ball) -> Law:
    """With the moment of a part of small losses; of most laws, all are small."""
    if law.parted:
        return law.parted(place)
    return law._replace(small=law.moment, small_along=law.along, beyond=lambda *_: arb(0))


def gaussian(mu: Ball) -> Law:
    """N(μ, 1) against N(0, 1)."""

    def moment(z: Ball) -> Ball:
        return (mu * mu * z * (z + 1) / 2).exp()

    return either_way(
        Law(
            moment,
            lambda c, y, _: moment(c) * (-mu * mu * y * y / 2).exp(),
            profile=lambda e: tail(e / mu - mu / 2) - e.exp() * tail(e / mu + mu / 2),
            squared=mu * mu,
        )
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

    half = (-bound / 2).exp() / 2
    terms = (bound, arb_poly([half, half / 2])), (-bound, arb_poly([half, -half / 2]))
    return either_way(Law(moment, beyond, terms=terms, profile=profile, largest=bound))


def approximate(bound: Ball, failure: Ball) -> Law:
    """Everything is revealed with probability ``failure``, else randomised response."""
    likely = (1 - failure) / (1 + (-bound).exp())
    atoms = ((bound, likely), (-bound, 1 - failure - likely))
    return values(atoms, failure)._replace(largest=bound)


def values(atoms: Iterable[tuple[Ball, Ball]], infinite: Ball) -> Law:
    """Finitely many losses with their masses."""
    known = tuple(atoms)

    def moment(z: Ball) -> Ball:
        return sum(((z * loss).exp() * mass for loss, mass in known), acb(0))

    def lost(eps: Ball, sign: int) -> Ball:
        """At e^ε, of P against Q or, with -1, of Q against P."""
        held = ((sign * loss, mass if sign > 0 else mass * (-loss).exp()) for loss, mass in known)
        return 1 - sum(
            (mass * (1 - (1 - (eps - loss).exp()).nonnegative_part()) for loss, mass in held),
            arb(0),
        )

    def bounds(step: Ball, points: int) -> tuple[Table, Table]:
        above, below = ([lost(step * j, sign) for j in range(points)] for sign in (1, -1))
        return above, below

    def along(c: Ball) -> Quadrature:
        """No integral, and nothing is missed."""

        def terms() -> Iterator[tuple[Ball, Ball]]:
            return (((c * loss).exp() * mass, loss) for loss, mass in known)

        return Quadrature(len(known), terms, lambda: arb(0))

    largest = reduce(arb.max, (loss for loss, _ in known), arb.neg_inf())
    terms = tuple((loss, arb_poly([mass * (-loss / 2).exp()])) for loss, mass in known)
    return Law(
        moment,
        lambda c, *_: abs(moment(c)),
        infinite=infinite,
        terms=terms,
        largest=largest,
        bounds=bounds,
        along=along if known else None,
        cost=len(known),
    )
