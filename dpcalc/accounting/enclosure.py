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
from dpcalc.numerics.root import Objective, Root, enclose_root

_FARTHEST = 1e15
"""In units of the crossing's slope: farther away it is not looked for."""

_COARSE = 1e-3
"""Width of the enclosures, and tolerance, with which a search for a root begins."""

_STAYS_WIDE = 10.0
"""An enclosure this many times wider than asked for will be no narrower in the next search."""

_SUMMED = 1e-8
"""Relative width that only sums over the outcomes of a round reach, at next to no cost."""

_LAST_DIGITS = 1e-12
"""Relative width of a root beyond which the rounding of both sides decides."""

MANY = 256
"""Sums of more different laws are very many."""

_USUAL, _OF_MANY = 1e-6, 1e-5
"""Relative widths aimed at, the second for sums of very many laws."""

_relative_width: ContextVar[float | None] = ContextVar("relative width", default=None)


@dataclass(slots=True, eq=False)
class Search:
    """A search for a root, in which not every enclosure has to be as good as it can be.

    Attributes:
        hurried: whether some enclosure was left wider than one by all methods may be.
        outdone: for each kind of sum, the method that another one was better than at the last place
            where both were tried.
        passes: for each kind of sum, the last pass over lattices.
    """

    hurried: bool = False
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


@contextmanager
def _unhurried() -> Iterator[None]:
    """Within this block enclosures are as narrow as outside a search."""
    token = _search.set(None)
    try:
        yield
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
    last: float = 1.0,
    width_at: Callable[[float], float] = lambda _: 0.0,
) -> Root:
    """`enclose_root` for a function of enclosures: wide ones find the place, narrow ones the digits.

    All are valid, and what is returned was tested with the narrow ones. Where one method alone
    enclosed them, the answer is tested with all methods, and sought with them if they gain more
    than the tolerance.

    Args:
        height: the function.
        start: where to begin.
        tolerance: width aimed at.
        least: left end of the range.
        most: right end of the range.
        widths: of the enclosures, and tolerances, of the searches before the last, falling.
        last: width of the last enclosures over the tolerance; they cost the more the narrower.
        width_at: relative width of the enclosure at a place; where it stays far above what was asked
            for, digits that are a hundredth of what it leaves open are not sought.
    """
    within = partial(enclose_root, height, least=least, most=most)
    slope, known, narrow = 1.0, False, last * tolerance
    with searching() as search:
        for width in widths:
            if tolerance >= width:
                break
            with with_relative_width(width):
                rough = within(start, tolerance=width, slope=slope, slope_known=known)
                if rough.low < rough.high < math.inf and rough.slope * width > 1:
                    # Here wide enclosures tell places apart that are nearer than their width.
                    nearer = max(1 / rough.slope, tolerance)
                    rough = within(rough.high, tolerance=nearer, slope=rough.slope)
            if rough.low == rough.high or (rough.high == math.inf and width == widths[-1]):
                return rough
            start, slope = min(rough.likely, most), rough.slope
            known = rough.high < math.inf and rough.slope * width <= 1
            if rough.high < math.inf:
                with with_relative_width(width):
                    left_open = width_at(rough.high)
                    if left_open > _STAYS_WIDE * width:  # or was it the hurry?
                        with _unhurried():
                            left_open = width_at(rough.high)
                if left_open > _STAYS_WIDE * width:
                    tolerance = max(tolerance, min(left_open / (100 * slope), width))
        with with_relative_width(narrow):
            found = within(start, tolerance=tolerance, slope=slope, slope_known=known)
    if not search.hurried:
        return found
    with with_relative_width(narrow):
        if found.high < math.inf and height(found.high) >= -2 * tolerance * found.slope:
            return found
        return within(min(found.high, most), tolerance=tolerance, slope=found.slope)


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


def sharpened(
    height: Objective, found: Root, *, tolerance: float, at: Callable[[float], object], delta: float
) -> Root:
    """A root within a tolerance, closer where the enclosures are much narrower than that.

    Those of one round are, and cost next to nothing.

    Args:
        height: the function.
        found: the root, of which ``high`` was tested.
        tolerance: how wide it is.
        at: what encloses ε at a place; anything else leaves the root as it is.
        delta: where ε is enclosed.
    """
    if not found.low < found.high < math.inf:
        return found
    guarantee = at(found.high)
    if not isinstance(guarantee, Enclosing):
        return found
    width = guarantee.bracket(delta).relative_width
    nearer = max(2 * width / found.slope, _LAST_DIGITS)
    if width > _SUMMED or nearer > tolerance / 8:
        return found
    root = enclose_root(height, found.likely, tolerance=nearer, slope=found.slope, slope_known=True)
    return root if root.high <= found.high else found


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
