"""What sums of one law on neighbouring contours have in common, kept while a line is answered.

Statement
    The integrand of n rounds of a law is a power of its moment function, so other numbers of rounds
    need the logarithms of the same numbers, if they cut the losses and choose the contour alike.
    Within `sharing` whatever may be chosen freely falls on a coarse grid (`on_grid`), and what was
    computed for a choice is kept (`kept`). Every choice gives valid bounds, and what is kept has the
    bits that it would have if it were computed again: an answer depends on its question alone.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np

from dpcalc.accounting.losses import Complexes, LossDistribution, Reals, TiltedDistribution
from dpcalc.accounting.losses.fourier import FEW_USES

Result = TypeVar("Result")

GRID, TAILS = 1.2, 16.0
"""What is as near as this is taken for one: contours and places of losses, and masses left out."""

_MOST_KEPT, _MOST_TILTED = 1024, 8
"""Answers, most of them short, and tilted laws, which need some megabytes each."""

_LONGEST = 2**13
"""Nodes that a piece which is kept may have."""

Kept = OrderedDict[Hashable, object]


@dataclass(frozen=True, slots=True)
class _Store:
    """What was made last.

    Attributes:
        answers: whatever was asked.
        tilted: laws that may be asked more.
    """

    answers: Kept = field(default_factory=OrderedDict)
    tilted: Kept = field(default_factory=OrderedDict)


_store: ContextVar[_Store | None] = ContextVar("shared by contour sums", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Within this block questions that come one after the other share what they can."""
    token = _store.set(_Store())
    try:
        yield
    finally:
        _store.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """Within this block nothing is shared: for what is kept beyond a line, whoever asked first."""
    token = _store.set(None)
    try:
        yield
    finally:
        _store.reset(token)


def is_shared() -> bool:
    """Whether questions are answered that share what they can."""
    return _store.get() is not None


def on_grid(value: float, ratio: float = GRID, *, up: bool = False) -> float:
    """A positive number as it is; while sharing, the next power of the ratio below, or above it."""
    if _store.get() is None:
        return value
    place = math.log(value) / math.log(ratio)
    return float(ratio ** (math.ceil(place) if up else math.floor(place)))


def kept(key: Hashable, make: Callable[[], Result]) -> Result:
    """What is made; while sharing, what was made for the key before."""
    store = _store.get()
    return make() if store is None else _found(store.answers, _MOST_KEPT, key, make)


_line: ContextVar[dict[tuple[LossDistribution, float], _Asked] | None] = ContextVar(
    "asked on one line", default=None
)


@contextmanager
def on_one_line() -> Iterator[None]:
    """Within this block sums of the same laws on the same contour ask them once; nothing is rounded."""
    token = _line.set({})
    try:
        yield
    finally:
        _line.reset(token)


def tilted(law: LossDistribution, c: float) -> TiltedDistribution:
    """The law weighted by e^{cL}; while sharing, one that keeps what it was asked before."""
    store, line = _store.get(), _line.get()
    if store is not None:
        return kept((_Remembering, law, c), lambda: _Remembering(store, law, c))
    if line is None:
        return law.tilted(c)
    if (law, c) not in line:
        line[law, c] = _Asked(law.tilted(c))
    return line[law, c]


def cumulants(law: LossDistribution, orders: Reals) -> Reals:
    """`LossDistribution.cumulants`, likewise."""
    return kept((cumulants, law, orders.tobytes()), lambda: law.cumulants(orders))


def _found(store: Kept, most: int, key: Hashable, make: Callable[[], Result]) -> Result:
    if key not in store:
        store[key] = make()
        if len(store) > most:
            store.popitem(last=False)
    store.move_to_end(key)
    return cast(Result, store[key])


class _Remembering(TiltedDistribution):
    """A tilted law that keeps what it was asked before; its arrays are not to be written to."""

    def __init__(self, store: _Store, law: LossDistribution, c: float) -> None:
        self._store, self._law, self._c = store.tilted, law, c
        made = self._made()
        self.log_moment, self.mean, self.variance = made.log_moment, made.mean, made.variance
        self.spread, self.rounding = made.spread, made.rounding
        self.size, self.refinements = made.size, made.refinements

    def _made(self) -> TiltedDistribution:
        """The tilted law itself, made again if others were asked since."""
        key = (self._law, self._c)
        return _found(self._store, _MOST_TILTED, key, lambda: self._law.tilted(self._c))

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """That of the law, to which it matters only whether uses are few."""
        if stop - start > _LONGEST:
            return self._made().log_ratio(step, start, stop, uses)
        key = (self, step, start, stop, uses <= FEW_USES)
        return kept(key, lambda: self._made().log_ratio(step, start, stop, uses))

    def node_moduli(self, step: float, stop: int) -> Reals:
        """That of the law."""
        return self._made().node_moduli(step, stop)

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """That of the law."""
        key = (self, edges.tobytes(), level)
        return kept(key, lambda: self._made().log_modulus_bound(edges, level))


class _Asked(TiltedDistribution):
    """A tilted law with its answers; its arrays are not to be written to."""

    def __init__(self, made: TiltedDistribution) -> None:
        self._made = made
        self.log_moment, self.mean, self.variance = made.log_moment, made.mean, made.variance
        self.spread, self.rounding = made.spread, made.rounding
        self.size, self.refinements = made.size, made.refinements
        self._ratios: dict[tuple[float, int, int, bool], tuple[Complexes, Reals]] = {}
        self._moduli: dict[tuple[float, int], Reals] = {}
        self._bounds: dict[tuple[bytes, int], Reals] = {}

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """That of the law, to which it matters only whether uses are few."""
        key = (step, start, stop, uses <= FEW_USES)
        if key not in self._ratios:
            self._ratios[key] = self._made.log_ratio(step, start, stop, uses)
        return self._ratios[key]

    def node_moduli(self, step: float, stop: int) -> Reals:
        """That of the law."""
        if (step, stop) not in self._moduli:
            self._moduli[step, stop] = self._made.node_moduli(step, stop)
        return self._moduli[step, stop]

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """That of the law."""
        key = (edges.tobytes(), level)
        if key not in self._bounds:
            self._bounds[key] = self._made.log_modulus_bound(edges, level)
        return self._bounds[key]
