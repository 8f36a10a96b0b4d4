"""Enclosures, and where a computed bound crosses a level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

from dpcalc.errors import NumericalFailure
from dpcalc.numerics.root import Objective, Root, enclose_root, refine_root

_FARTHEST = 1e15
"""In units of the crossing's slope: farther away it is not looked for."""

_COARSE = 1e-3
"""Width of the enclosures, and tolerance, with which a search for a root begins."""

_STAYS_WIDE = 10.0
"""An enclosure this many times wider than asked for says less than its upper end."""

_ENOUGH = 1e-5
"""Width of a root where an upper end jumps, and where no wide search told how steep it is."""

_SUMMED = 1e-8
"""Relative width that only sums over the outcomes of a round reach, at next to no cost."""

_LAST_DIGITS = 1e-12
"""Relative width of a root beyond which the rounding of both sides decides."""

MANY = 256
"""Sums of more different laws are very many."""

_USUAL, _OF_MANY = 1e-6, 1e-5
"""Relative widths aimed at, the second for sums of very many laws."""

TOLERANCE = 1e-7
"""Of the noise that is found: a tenth of the usual width, as upper ends are smoother than that."""

_relative_width: ContextVar[float | None] = ContextVar("relative width", default=None)


@dataclass(slots=True, eq=False)
class Search:
    """A search for a root, in which not every enclosure has to be as good as it can be.

    Attributes:
        outdone: for each kind of sum, the method that another one was better than at the last place
            where both were tried.
        passes: for each kind of sum, the last pass over lattices.
    """

    outdone: dict[object, object] = field(default_factory=dict)
    passes: dict[object, object] = field(default_factory=dict)


_search: ContextVar[Search | None] = ContextVar("search", default=None)


def current_search() -> Search | None:
    """The search that goes on, if one does."""
    return _search.get()


@contextmanager
def searching() -> Iterator[Search]:
    """Within this block an enclosure may rest on the first method that gives a fair one."""
    search = Search()
    token = _search.set(search)
    try:
        yield search
    finally:
        _search.reset(token)


def relative_width(different: int = 1) -> float:
    """The width, relative to the answer, that enclosures aim at.

    Args:
        different: laws that are summed; each of many has to be cut by itself, so that of very many
            the enclosure is wider, unless a block says how wide.
    """
    told = _relative_width.get()
    if told is not None:
        return told
    return _USUAL if different <= MANY else _OF_MANY


@contextmanager
def with_relative_width(width: float) -> Iterator[None]:
    """Within this block enclosures aim at another relative width; a wide one costs little.

    Every enclosure is valid whatever its width, so a search may run wide first.
    """
    token = _relative_width.set(width)
    try:
        yield
    finally:
        _relative_width.reset(token)


def find_root(
    height: Objective,
    start: float,
    *,
    tolerance: float,
    least: float,
    most: float,
    widths: Sequence[float] = (_COARSE,),
    width_at: Callable[[float], float] = lambda _: relative_width(),
) -> Root:
    """`enclose_root` for a function of enclosures: wide ones find the place, the others the digits.

    All are valid. What is returned was tested with enclosures as they are outside a search. Those of
    one round are narrower than asked for at next to no cost, and so is the root; where an enclosure
    stays wide and its upper end jumps, as it may from one grid of cells to the next, five digits do.

    Args:
        height: the function.
        start: where to begin.
        tolerance: width aimed at, more where enclosures are asked for that are wider than usual.
        least: left end of the range.
        most: right end of the range.
        widths: of the enclosures, and tolerances, of the searches before the last, falling.
        width_at: relative width of the enclosure at a place; see `left_open`.
    """
    within = partial(enclose_root, height, least=least, most=most)
    slope, known = 1.0, False
    tolerance *= max(1.0, relative_width() / _USUAL)
    with searching():
        for width in (w for w in widths if w > tolerance):
            with with_relative_width(width):
                rough = within(start, tolerance=width, slope=slope, slope_known=known)
                if rough.low < rough.high < math.inf and rough.slope * width > 1:
                    # Here wide enclosures tell places apart that are nearer than their width.
                    nearer = max(1 / rough.slope, tolerance)
                    rough = within(rough.high, tolerance=nearer, slope=rough.slope)
            if rough.high == math.inf and width == widths[-1]:
                return rough
            start, slope = min(rough.likely, most), rough.slope
            known = rough.high < math.inf and rough.slope * width <= 1
        if not known:
            rough = within(start, tolerance=max(tolerance, _ENOUGH), slope=slope)
            start, slope = rough.likely, rough.slope
    width = width_at(start)
    worth, enough = 2 * width / slope, 0.0
    if width <= _SUMMED:
        tolerance = min(tolerance, max(worth, _LAST_DIGITS))
    elif width > _STAYS_WIDE * relative_width():
        enough = min(worth, _ENOUGH)
    return refine_root(
        height, start, tolerance=tolerance, slope=slope, enough=enough, least=least, most=most
    )


@dataclass(frozen=True, slots=True)
class Bracket:
    """An enclosure: the exact value lies in [lower, upper]; the upper end is the one to report."""

    lower: float
    upper: float
    method: str

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise NumericalFailure(
                f"expected an enclosure with 0 <= lower <= upper; got lower={self.lower!r}, "
                f"upper={self.upper!r} by {self.method}; please report the request that led here"
            )

    @property
    def relative_width(self) -> float:
        """(upper - lower)/upper, zero if they are equal, infinite if only the upper one is."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if self.upper < math.inf else math.inf

    def named(self, method: str) -> Bracket:
        """The same by another name."""
        return Bracket(self.lower, self.upper, method)

    def narrowed(self, lower: float, upper: float) -> Bracket:
        """What this enclosure has in common with another one."""
        return Bracket(max(self.lower, lower), min(self.upper, upper), self.method)


def intersection(found: Bracket | None, other: Bracket | None) -> Bracket | None:
    """What two enclosures have in common, named after the one with the lower upper end."""
    if found is None or other is None:
        return found or other
    method = (found if found.upper <= other.upper else other).method
    return found.narrowed(other.lower, other.upper).named(method)


@runtime_checkable
class Enclosing(Protocol):
    """Encloses its ε instead of knowing it."""

    def bracket(self, delta: float) -> Bracket:
        """An enclosure of ε(δ)."""


def left_open(guarantee: object, delta: float) -> float:
    """How wide the enclosure of ε(δ) is, relative to ε; as wide as asked for where none is known."""
    if isinstance(guarantee, Enclosing):
        return guarantee.bracket(delta).relative_width
    return relative_width()


def invert_bound(
    bound: Callable[[float], float], delta: float, guess: float, unit: float, tolerance: float
) -> tuple[float, float]:
    """(low, high) at most ``tolerance`` apart with ``bound`` above δ at low and at most δ at high.

    (0, 0) if it never is above, and an infinite end if it always is. ``unit`` is a typical
    |dε/d ln δ|.
    """
    if not unit > 0:
        raise NumericalFailure(f"expected a positive unit; got unit={unit!r}")
    target, start = math.log(delta), max(guess, 0.0)

    def height(epsilon: float) -> float:
        value = bound(epsilon)
        difference = _log(value) - target
        # The logarithms' rounding must not decide on which side of δ a bound is.
        return min(difference, 0.0) if value <= delta else max(difference, 1e-300)

    found = enclose_root(
        height,
        start,
        tolerance=tolerance,
        slope=1 / unit,
        least=0.0,
        most=start + _FARTHEST * unit,
    )
    return found.low, found.high


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
