"""What every law needs of ball arithmetic.

Depends on python-flint alone. Every value is an enclosure of the exact one.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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


class _Stopped(ValueError):
    """Ends an integral: python-flint hands on a ValueError, and loses most other errors."""


@contextmanager
def _interrupts_kept() -> Iterator[list[Any]]:
    """Within this block Ctrl-C is kept in the list, and acted on at the end.

    Raised within an integrand it would be lost, and the value that was under way count as 0.
    """
    kept: list[Any] = []
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield kept
        return
    signal.signal(signal.SIGINT, lambda *received: kept.append(received))
    try:
        yield kept
    finally:
        signal.signal(signal.SIGINT, usual)
        for received in kept[:1]:
            usual(*received)


def integral(f: Callable[[Ball, bool], Ball], start: Ball, end: Ball) -> Ball:
    """The integral of f along a line."""
    small, times = arb(2) ** (16 - ctx.prec), count(1)
    most = int(min(400 * ctx.prec, left() / integrand(ctx.prec)))

    failed: list[BaseException] = []

    with suppress(_Stopped), _interrupts_kept() as kept:

        def counted(x: Ball, analytic: bool) -> Ball:
            if kept or failed:
                raise _Stopped
            next(times)
            try:
                return f(x, analytic)
            except BaseException as error:
                failed.append(error)
                raise _Stopped from error

        found = acb.integral(counted, start, end, rel_tol=small, abs_tol=small, eval_limit=most + 1)
        spend((next(times) - 1) * integrand(ctx.prec))
        return found
    for error in failed:
        raise error
    return integral(f, start, end)  # whoever was told of the interrupt goes on
