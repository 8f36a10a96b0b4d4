"""Evaluate a formula with sixty digits, then round once, outward.

A closed form evaluated in double precision can land below the exact value in its last digit, and by
any number of digits where it cancels. Here the formula is evaluated in a private mpmath context of
`DIGITS` decimal digits and the result is rounded to the neighbouring double on the safe side. The
formulas used in dpcalc lose at most about 25 digits to cancellation over the documented ranges, so
the sixty-digit value is still right far beyond the sixteen digits of the double it is rounded to.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

from dpcalc.numerals import Written, plain

DIGITS = 60
"""Decimal digits carried by `context`."""

_SMALLEST_DIGITS = 330
"""Digits by which the smallest double is below one, and more."""

_FAR = 1e6
"""From here on the normal tail is taken from its asymptotic series, good to 1e11 digits there."""

Real = Any
"""An ``mpf`` of `context`; mpmath ships no types."""


_held = threading.local()
_CONSTANTS_BITS = 5000
"""Bits to which mpmath's constants are known from the start; no formula asks for more."""


def context() -> Any:
    """The calling thread's private sixty-digit context; the global ``mpmath.mp`` is never touched.

    Precision is a property of a context that formulas raise for a while, so threads that shared one
    would leave each other's precision behind. Numbers may wander between contexts.
    """
    private = getattr(_held, "context", None)
    if private is None:
        _held.context = private = _new_context()
    return private


def _new_context() -> Any:
    from mpmath import MPContext

    _know_constants()
    private = MPContext()
    private.dps = DIGITS
    return private


@cache
def _know_constants() -> None:
    """Fill mpmath's store of constants, which all contexts share and no lock guards.

    It keeps a value and its precision one after the other; read in between by another thread, they
    do not belong together. Known to more bits than are asked for, they are not written again.
    """
    from mpmath.libmp import e_fixed, libelefun, ln2_fixed, ln10_fixed, pi_fixed

    with _constants:
        for constant in (pi_fixed, libelefun.sqrtpi_fixed, ln2_fixed, ln10_fixed, e_fixed):
            constant(_CONSTANTS_BITS)


_constants = threading.Lock()


def mpf(value: Any) -> Real:
    """A number (or an exact decimal string) as a sixty-digit number, unchanged.

    A `numerals.Written` number gives what was written, not the double next to it; so does a
    fraction.
    """
    if isinstance(value, Written):
        return context().mpf(value.numerator) / value.denominator
    if isinstance(value, float | int | str) or hasattr(value, "_mpf_"):
        return context().mpf(value)
    return mpf(plain(value))


def round_up(value: Real) -> float:
    """The smallest double that is not below ``value``.

    Overflow gives infinity; a positive value below the smallest subnormal gives that subnormal, so
    a positive upper bound never becomes zero.
    """
    return _round(value, math.inf)


def round_down(value: Real) -> float:
    """The largest double that is not above ``value``; the mirror of `round_up`."""
    return _round(value, -math.inf)


def _round(value: Real, towards: float) -> float:
    if context().isnan(value):
        raise ArithmeticError("a sixty-digit evaluation gave nan")
    nearest = float(value)
    exact = mpf(nearest)
    wrong_side = exact < value if towards > 0 else exact > value
    return math.nextafter(nearest, towards) if wrong_side else nearest


def any_of(events: Iterable[tuple[Any, int]]) -> Real:
    """The probability that some of independent events happens, right to sixty digits however small.

    Args:
        events: the probability of each, with how many there are of it.
    """
    with context().workdps(DIGITS + _SMALLEST_DIGITS):
        none = mpf(1)
        for probability, count in events:
            none *= (1 - mpf(probability)) ** count
        return 1 - none


def normal_cdf(x: Real) -> Real:
    """The standard normal distribution function, with full relative accuracy in both tails."""
    ctx = context()
    if x < -_FAR:
        return ctx.exp(-x * x / 2) * scaled_tail(-x)
    if x > _FAR:
        return ctx.one  # but for e^{-5e11}
    return ctx.erfc(-x / ctx.sqrt(2)) / 2


def scaled_tail(x: Real) -> Real:
    """``e^{x²/2} Φ(-x)`` for x >= 0, without the overflow or underflow of its factors.

    Far out, the asymptotic series ``(1 - 1/x² + 3/x⁴ - ...)/(x √(2π))``: it alternates, so its error
    is below the first term left out, which is below the working precision there.
    """
    ctx = context()
    if x <= _FAR:
        return ctx.exp(x * x / 2) * ctx.erfc(x / ctx.sqrt(2)) / 2
    total = term = ctx.one
    order = 1
    while ctx.mag(term) > -ctx.prec:
        term *= -order / (x * x)
        total += term
        order += 2
    return total / (x * ctx.sqrt(2 * ctx.pi))


def normal_quantile(p: Real) -> Real:
    """The inverse of `normal_cdf` for 0 < p < 1, by Newton's method on the logarithm.

    ``log Φ`` is concave and increasing, so from a start on the left of the root Newton's iterates
    increase towards it; the upper tail is mirrored.
    """
    ctx = context()
    if p > 0.5:
        return -normal_quantile(1 - p)
    target = ctx.log(p)
    # Φ(x) <= exp(-x²/2)/2 for x <= 0, so this start has Φ(start) <= p.
    x = -ctx.sqrt(-2 * (target + ctx.log(2))) if p < 0.5 else mpf(0)
    for _ in range(200):
        tail = normal_cdf(x)
        step = (target - ctx.log(tail)) * tail / ctx.npdf(x)
        x += step
        if abs(step) <= ctx.ldexp(1, -150) * (1 + abs(x)):
            return x
    raise ArithmeticError(f"the normal quantile of {p} did not converge")
