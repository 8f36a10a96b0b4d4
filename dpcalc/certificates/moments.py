"""What a line needs of the summed loss: moments at its nodes, and a bound beyond them, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import acb, arb

from dpcalc.certificates.balls import Ball, ball, product
from dpcalc.certificates.laws import Law, Rounds


class Line(NamedTuple):
    """The trapezoidal rule on Re z = real_part with nodes 2π/period apart."""

    real_part: Ball
    period: Ball
    order: Ball  # where Chernoff's inequality bounds aliases
    smoothing: Ball  # μ of one more Gaussian round, or 0
    nodes: int
    shifts: list[Ball]  # one a law, for the bound beyond the node where it becomes quiet
    quiet: list[int]  # the first node, one a law, at which its moment is bounded, not evaluated


class Heights(NamedTuple):
    """What a line needs of the summed loss; the same for every ε."""

    terms: list[Ball]  # moments at the nodes over z(z + 1), half of it at the first
    beyond: Ball  # bounds the moduli at all further nodes
    chernoff: Ball  # the moment at ``order``


def heights(rounds: Rounds, line: Line) -> Heights:
    """Moments of independent rounds on a line, from a law's quiet node on by its bound.

    Less what stays at loss 0 in all rounds, which adds nothing to δ(ε) for ε >= 0, or is small.
    """
    c, step = line.real_part, 2 * arb.pi() / line.period
    moments, left_out = ([acb(1)] * (line.nodes + 1) for _ in range(2))
    all_with_bounds, all_left_out = arb(1), arb(1)
    for (law, n), first, shift in zip(rounds, line.quiet, line.shifts, strict=True):
        bound = law.beyond(c, step * first, shift)
        quiet = (law.still + ball(bound)) ** n
        loud = min(first, line.nodes + 1)
        known = at_nodes(law, c, step, loud)
        for j, moment in enumerate(moments):
            moments[j] = moment * (known[j] ** n if j < loud else quiet)
        part = small_at_nodes(law, known, c, step, line.nodes + 1)
        for j, moment in enumerate(left_out):
            left_out[j] = moment * part[j] ** n
        most = abs(law.small(acb(c)) if law.small else acb(law.still))
        all_with_bounds *= (most + abs(bound)) ** n
        all_left_out *= most**n
    chernoff = product(abs(law.moment(acb(line.order))) ** n for law, n in rounds)
    nodes = (acb(c, step * j) for j in range(line.nodes + 1))
    terms = [(m - p) / (z * (z + 1)) for m, p, z in zip(moments, left_out, nodes, strict=True)]
    return Heights(
        [terms[0] / 2, *terms[1:]],
        all_with_bounds - all_left_out,
        chernoff,
    )


def at_nodes(law: Law, c: Ball, step: Ball, nodes: int) -> list[Ball]:
    """Moments at c, c + i·step, ..."""
    if law.along:
        return law.along(c).at_nodes(step, nodes)
    return [law.moment(acb(c, step * j)) for j in range(nodes)]


def small_at_nodes(law: Law, known: list[Ball], c: Ball, step: Ball, nodes: int) -> list[Ball]:
    """The same of what is left out: small losses, or those that are 0."""
    if not law.small:
        return [acb(law.still)] * nodes
    if law.small is law.moment:
        return known
    if law.small_along:
        return law.small_along(c).at_nodes(step, nodes)
    return [law.small(acb(c, step * j)) for j in range(nodes)]


def effort(law: Law, c: Ball, nodes: int) -> float:
    """About how many exponentials the moments at so many nodes take."""
    if not law.along:
        return (nodes + 2) * law.cost
    parts = [each(c) for each in (law.along, law.small_along) if each]
    return sum((part.effort(nodes) for part in parts), 4.0 * law.cost)
