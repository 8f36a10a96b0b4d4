"""A law's moments at all nodes of a line from one quadrature, in balls.

Depends on python-flint alone; docs/certificates.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from flint import acb, acb_mat, arb, ctx

from dpcalc.certificates.balls import Ball, ball, precision

BLOCK = 64_000
"""Bits of all points whose powers are held at once; a choice."""

PRODUCTS = 100
"""How many products of a large matrix take about as long as an exponential."""


class Quadrature(NamedTuple):
    """A moment at c + iy is within ``error`` of Σ we^{iyL}, for every y >= 0; no Im L is below 0."""

    points: int  # how many there are
    terms: Callable[[], Iterator[tuple[Ball, Ball]]]  # weights w and places L
    error: Callable[[], Ball]

    def effort(self, nodes: int) -> float:
        """About how many exponentials the sums at so many nodes take."""
        return self.points * (2 + math.isqrt(nodes) / 10 + nodes / PRODUCTS)

    def at_nodes(self, step: Ball, nodes: int) -> list[Ball]:
        """The moments at y = 0, step, 2·step, ...; weights next to 0 count as error."""
        inner = math.isqrt(nodes - 1) + 1
        outer = -(-nodes // inner)
        with precision(ctx.prec + 2 * nodes.bit_length()):  # powers lose some
            least = arb(2) ** (-ctx.prec - 10) / self.points
            total, left_out, terms = acb_mat(inner, outer), self.error(), self.terms()
            while block := list(islice(terms, 1 + BLOCK // ctx.prec)):
                kept = []
                for weight, place in block:
                    if abs(weight) > least:
                        kept.append((weight, place))
                    else:
                        left_out += abs(weight).upper()
                total += products(kept, acb(0, 1) * step, inner, outer)
            missing = ball(left_out)
            return [total[j % inner, j // inner] + missing for j in range(nodes)]


def products(terms: list[tuple[Ball, Ball]], turn: Ball, inner: int, outer: int) -> Ball:
    """Σ we^{turn·Lj} at all j = a + Kb < K·outer, K = ``inner``: a product of two matrices."""
    if not terms:
        return acb_mat(inner, outer)
    factors = [(turn * place).exp() for _, place in terms]
    weights = [weight for weight, _ in terms]
    near = [[w * x for w, x in zip(weights, row, strict=True)] for row in powers(factors, inner)]
    far = powers([factor**inner for factor in factors], outer)
    return acb_mat(near) * acb_mat(far).transpose()


def powers(factors: list[Ball], number: int) -> list[list[Ball]]:
    """A row for each power from 0 on, by few products in a row, as each widens a ball."""
    rows = [[acb(1)] * len(factors), factors]
    for k in range(2, number):
        rows.append([x * y for x, y in zip(rows[k // 2], rows[k - k // 2], strict=True)])
    return rows[:number]


def transformed(values: list[Ball], turn: Ball) -> Ball:
    """Σ e^{turn·j}·values[j] at all j = a + Kb < K·outer: a matrix between two lists of powers."""
    inner = math.isqrt(len(values) - 1) + 1
    outer = -(-len(values) // inner)
    padded = values + [acb(0)] * (inner * outer - len(values))
    with precision(ctx.prec + 2 * len(values).bit_length()):  # powers lose some
        near, far = powers([turn.exp()], inner), powers([(inner * turn).exp()], outer)
        row, column = acb_mat([[factor for (factor,) in far]]), acb_mat(near)
        return (row * (acb_mat(outer, inner, padded) * column))[0, 0]


def digits() -> float:
    """Logarithm of how small errors are made, with some to spare; a choice."""
    return 0.7 * ctx.prec + 12


def aliases(edges: Ball, height: Ball, step: Ball) -> Ball:
    """What sums over a line miss of an integral whose integrand is analytic on both sides of it.

    Args:
        edges: bounds the integrals of the modulus along both edges of a strip together.
        height: of the line above the lower edge, and below the upper one.
        step: between points of the sum.
    """
    return edges / ((2 * arb.pi() * height / step).exp() - 1)
