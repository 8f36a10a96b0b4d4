"""How long operations take, and a limit on what is done with them, whatever parameters there are.

Times are microseconds of processor time, more or less those of a laptop. They come from measurements,
and decide only what is too much: no number depends on them. Depends on the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def plain(bits: int) -> float:
    """A sum, product or comparison."""
    return 0.3 + (bits / 600) ** 1.3 / 4


def function(bits: int) -> float:
    """An exponential, a logarithm, the normal tail."""
    return 1.5 + 18 * (bits / 1000) ** 1.43


def integrand(bits: int, functions: int = 3) -> float:
    """Of an integral, made of so many functions, at one point."""
    return 6 + 8 * plain(bits) + functions * function(bits)


class Exhausted(ArithmeticError):
    """More is done than was expected of such evidence."""


_LEFT: ContextVar[list[float]] = ContextVar("microseconds that may still be spent")


@contextmanager
def allowed(seconds: float) -> Iterator[None]:
    """Within this block no more is spent."""
    token = _LEFT.set([seconds * 1e6])
    try:
        yield
    finally:
        _LEFT.reset(token)


def left() -> float:
    """What may still be spent."""
    known = _LEFT.get([])
    return known[0] if known else float("inf")


def spend(time: float) -> None:
    """Take it from what is allowed.

    Raises:
        Exhausted: if it is more than what is left.
    """
    known = _LEFT.get([])
    if known:
        known[0] -= time
        if known[0] < 0:
            raise Exhausted(
                "the parameters make it take far longer to check than evidence of its size does"
            )
