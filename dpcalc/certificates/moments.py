"""What a line needs of the summed loss: moments at its nodes, and a bound beyond them, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from flint import acb, arb

from dpcalc.certificates.laws import Ball, Rounds, ball, product


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

    moments: list[Ball]  # at the nodes
    beyond: Ball  # bounds the moduli at all further nodes
    chernoff: Ball  # the moment at ``order``


def heights(rounds: Rounds, line: Line) -> Heights:
    """Moments of independent rounds on a line, from a law's quiet node on by its bound.

    Less what stays at loss 0 in all rounds, which adds nothing to δ(ε) for ε >= 0, or is small.
    """
    c, step, nodes = line.real_part, 2 * arb.pi() / line.period, line.nodes
    bounds = [
        law.beyond(c, step * first, shift)
        for (law, _), first, shift in zip(rounds, line.quiet, line.shifts, strict=True)
    ]
    far = [law.still + ball(bound) for (law, _), bound in zip(rounds, bounds, strict=True)]

    def left_out(z: Ball) -> list[Ball]:
        return [law.small(z) if law.small else law.still for law, _ in rounds]

    def power(values: list[Ball]) -> Ball:
        return math.prod((v**n for v, (_, n) in zip(values, rounds, strict=True)), start=acb(1))

    most = [abs(value) for value in left_out(acb(c))]

    def moment(j: int) -> Ball:
        z = acb(c, step * j)
        values = [
            law.moment(z) if j < line.quiet[k] else far[k] for k, (law, _) in enumerate(rounds)
        ]
        return power(values) - power(left_out(z))

    beyond = power([part + abs(bound) for part, bound in zip(most, bounds, strict=True)]) - power(
        most
    )
    chernoff = product(abs(law.moment(acb(line.order))) ** n for law, n in rounds)
    return Heights([moment(j) for j in range(nodes + 1)], beyond.real, chernoff)
