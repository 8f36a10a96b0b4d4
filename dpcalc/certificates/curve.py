"""δ(ε) by an integral on a hyperbola, which bends away from where losses crowd, in ball arithmetic.

Depends on python-flint alone; docs/certificates.md has the proofs. The curve is z = a·cosh(w + iβ) with
a cos β at most ``vertex``, and β a little less than a right angle; nothing on it grows with |z|.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from flint import acb, arb, ctx

from dpcalc.certificates.balls import Ball, product
from dpcalc.certificates.grammar import NODES, need, positive, whole
from dpcalc.certificates.laws import Rounds, Sector, Turned
from dpcalc.certificates.rays import exactly

FIELDS = "vertex", "turn", "ray", "step", "nodes"

NEAR = 8
"""One edge of a strip turns away from the vertical by ``turn``, the other by so many times less."""


@dataclass(frozen=True, slots=True)
class Bend:
    """A hyperbola with the step of the rule on it."""

    exactly: tuple[Any, ...]  # tells it from others
    vertex: Ball = field(compare=False)
    turn: Ball = field(compare=False)
    step: Ball = field(compare=False)


Weights = list[tuple[Ball, Ball]]
"""z and the weight of e^{-zε}; the real part counts."""


class Curve(NamedTuple):
    """What the sum along a hyperbola needs; the same for every ε."""

    terms: Weights
    error: Ball  # of the sum over all nodes
    cut: Ball  # bounds what further nodes add for ε = 0
    real_part: Ball  # of the last node


def on_a_curve(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """δ(ε) without infinite losses.

    Args:
        rounds: laws that are known off vertical lines.
        eps: ε.
        chosen: the largest real part at height 0, the angle by which real parts may grow with heights,
            that of the line over which moments are integrated, the step of the rule, its last node.
    """
    need(that=all(law.turned for law, _ in rounds), got="laws known on vertical lines alone")
    *angles, step, most = chosen
    vertex, turn, ray, h = map(positive, (*angles, step))
    known = tuple((law.turned(vertex, turn, ray), n) for law, n in rounds if law.turned)
    bend = Bend(exactly(vertex, turn, h), vertex, turn, h)
    return along(curve(known, bend, whole(most, 1, NODES), ctx.prec), eps)


def places(bend: Bend) -> tuple[Ball, Ball, Ball]:
    """Of a strip: a, the β in its middle, and half its width."""
    most = bend.turn
    middle, half = most * (NEAR + 1) / (2 * NEAR), most * (NEAR - 1) / (2 * NEAR)
    return bend.vertex / most.sin(), arb.pi() / 2 - middle, half


def nodes(known: Iterable[tuple[Turned | Sector, int]], bend: Bend, last: int) -> Weights:
    """Nodes of the rule, the first one with half its weight, with powers of moments."""
    (scale, beta, _), terms, known = places(bend), [], list(known)
    for j in range(last + 1):
        w = acb(bend.step * j, beta)
        z = scale * w.cosh()
        weight = scale * w.sinh() / (acb(0, 1) * z * (z + 1)) * bend.step / arb.pi()
        moment = product(each.moment(z) ** n for each, n in known)
        terms.append((z, weight * moment / (2 if j == 0 else 1)))
    return terms


@lru_cache(maxsize=2)
def curve(known: tuple[tuple[Turned, int], ...], bend: Bend, last: int, _bits: int) -> Curve:
    """Nodes of the trapezoidal rule on a hyperbola, and what it misses; kept for other ε."""
    most, h = bend.turn, bend.step
    size = product(each.largest**n for each, n in known)
    scale, beta, half = places(bend)
    terms = nodes(known, bend, last)
    edges = size / (2 * scale) * (1 / most.sin() + 1 / (most / NEAR).sin())
    return Curve(
        terms,
        edges / ((2 * arb.pi() * half / h).exp() - 1),
        size / (arb.pi() * scale * (h * last).sinh()),
        scale * beta.cos() * (h * last).cosh(),
    )


def along(found: Curve, eps: Ball) -> Ball:
    """The sum for an ε above 0."""
    if not eps > 0:
        return arb.nan()
    total = sum(((weight * (-z * eps).exp()).real for z, weight in found.terms), arb(0))
    missed = found.error + found.cut * (-found.real_part * eps).exp()
    return total + arb(0, 1) * missed.upper()
