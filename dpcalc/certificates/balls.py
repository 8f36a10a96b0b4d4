"""What every law needs of ball arithmetic.

Depends on python-flint alone. Every value is an enclosure of the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from flint import acb, arb, ctx

from dpcalc.certificates.meter import integrand, left, spend

Ball = Any  # arb or acb: a number with a bound on its error


def product(values: Iterable[Ball]) -> Ball:
    """The product, 1 of none."""
    return math.prod(values, start=arb(1))


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Within this block ball arithmetic has this many bits."""
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


def integral(f: Callable[[Ball, bool], Ball], start: Ball, end: Ball) -> Ball:
    """The integral of f along a line."""
    small, times = arb(2) ** (16 - ctx.prec), count(1)
    most = int(min(400 * ctx.prec, left() / integrand(ctx.prec)))

    def counted(x: Ball, analytic: bool) -> Ball:
        next(times)
        return f(x, analytic)

    found = acb.integral(counted, start, end, rel_tol=small, abs_tol=small, eval_limit=most + 1)
    spend((next(times) - 1) * integrand(ctx.prec))
    return found
