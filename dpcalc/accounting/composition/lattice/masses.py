"""Probabilities on nested lattices of losses, and their sums by plain convolution.

The coarsest lattice covers every loss; each finer one, of half the step, only the losses within a
number of its own steps from zero. So a sum of many small losses is known to a share of its size,
and a large one to a share of the largest. When losses from two lattices meet, the finer is split
between the neighbours of the coarser.

Sums of products of positive numbers cancel nothing, and every mass is rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.rows import (
    EMPTY,
    Row,
    added,
    beyond,
    convolved,
    halved,
    trimmed,
)
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.numerics.products import product

EXPONENTIAL = 1300
"""Unit roundoffs by which e^x may be off for |x| up to 600."""

SLOPES = np.geomspace(1.0, 3000.0, 24)
"""Orders, per floor, at which Chernoff's inequality bounds how far sums fall."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Which bound the sums are for.

    Attributes:
        rounding: 1 if masses are rounded up, -1 if down.
        lifted: whether sums below the floor are moved up to it, or else left out.
        splitting: how splits are weighed, if they are.
    """

    rounding: float
    lifted: bool
    splitting: Splitting | None = None

    def weight(self, step: float) -> float:
        """The factor of a mass that is split half way."""
        return 1.0 if self.splitting is None else self.splitting.half(step)

    def outward(self, terms: float) -> float:
        """The factor that makes up for the rounding of a sum of this many terms."""
        return 1 + self.rounding * 1.01 * (terms + 8) * UNIT_ROUNDOFF


@dataclass(frozen=True, slots=True)
class Masses:
    """Probabilities on nested lattices and beyond.

    Attributes:
        rows: one for every lattice, the coarsest first.
        above: P-mass above the top, and its Q-mass; what is infinite has none.
        raised: of masses that are weighed, those of sums that the floor moved up; where they are
            on the coarsest lattice, and how much of them is above the top.
        falls: at each of `SLOPES`, the logarithm of the mean e^{slope·fall}, summed over all sums
            that were added on the way to this one.
    """

    rows: tuple[Row, ...]
    above: tuple[float, float]
    raised: tuple[Row, float]
    falls: Reals

    @property
    def total(self) -> float:
        """The mass on the lattices."""
        return _held((*self.rows, self.raised[0]))


def summed(laws: Sequence[tuple[Masses, int]], frame: Frame, mode: Mode) -> Masses:
    """All rounds together."""
    powers = [_power(masses, count, frame, mode) for masses, count in laws]
    return reduce(lambda a, b: _sum(a, b, frame, mode), powers)


def _power(masses: Masses, count: int, frame: Frame, mode: Mode) -> Masses:
    result: Masses | None = None
    while True:
        if count & 1:
            result = masses if result is None else _sum(result, masses, frame, mode)
        count >>= 1
        if not count:
            break
        masses = _sum(masses, masses, frame, mode)
    assert result is not None  # noqa: S101 # counts are positive
    return result


def _sum(a: Masses, b: Masses, frame: Frame, mode: Mode) -> Masses:
    rows: list[Row] = []
    finer = (EMPTY, EMPTY)
    carried = EMPTY
    beyond = (0.0, 0.0)
    for level in range(frame.finest, -1, -1):
        own = (a.rows[level], b.rows[level])
        pairs = _pairs(a is b, own, finer)
        most = 2 * frame.half if level else frame.top
        row = trimmed(
            added(*(convolved(*pair, most, mode.rounding) for pair in pairs), carried),
            frame.negligible,
        )
        if level:
            step = frame.step_of(level - 1)
            weight = mode.weight(step)
            outside = added(row.below(-frame.half), row.over(frame.half))
            row = row.between(-frame.half, frame.half)
            carried = halved(outside, step, weight, mode.rounding)
            finer = _coarser(a is b, own, finer, (step, weight, mode.rounding), frame)
        else:
            beyond = _all_beyond(pairs, frame, mode)
        rows.append(row)
    whole = (added(a.rows[0], finer[0]), added(b.rows[0], finer[1]))
    return _bounded(a, b, whole, (rows[::-1], beyond), frame, mode)


def _pairs(same: bool, own: tuple[Row, Row], finer: tuple[Row, Row]) -> list[tuple[Row, Row]]:
    """Whose sums are those of two losses, at least one on a lattice and neither on a coarser one."""
    if same:
        return [(own[0], added(own[0], finer[0], finer[0]))]
    return [(own[0], added(own[1], finer[1])), (finer[0], own[1])]


def _all_beyond(pairs: Sequence[tuple[Row, Row]], frame: Frame, mode: Mode) -> tuple[float, float]:
    """P- and Q-mass of the sums above the top of the coarsest lattice, rounded the mode's way."""
    p = q = 0.0
    for one, other in pairs:
        terms = len(one.values) + len(other.values)
        p += beyond(one, other, frame.top) * mode.outward(terms)
        if mode.splitting is None:
            seen = [
                Row(row.first, row.values * np.exp(-frame.step * row.points))
                for row in (one, other)
            ]
            q += beyond(seen[0], seen[1], frame.top) / mode.outward(terms + 2 * EXPONENTIAL)
    return p, q


def _coarser(
    same: bool,
    own: tuple[Row, Row],
    finer: tuple[Row, Row],
    how: tuple[float, float, float],
    frame: Frame,
) -> tuple[Row, Row]:
    """All that is on a lattice or a finer one, on the next coarser one."""
    first = trimmed(halved(added(own[0], finer[0]), *how), frame.negligible)
    if same:
        return first, first
    return first, trimmed(halved(added(own[1], finer[1]), *how), frame.negligible)


def _bounded(
    a: Masses,
    b: Masses,
    whole: tuple[Row, Row],
    found: tuple[list[Row], tuple[float, float]],
    frame: Frame,
    mode: Mode,
) -> Masses:
    """The sum with what leaves the coarsest lattice accounted for."""
    rows, gone = found
    coarse = rows[0]
    over, under = coarse.over(frame.top), coarse.below(-frame.floor)
    rows[0] = coarse.between(-frame.floor, frame.top)
    raised = _raised(a, b, whole, frame, mode)
    if len(under.values) and mode.lifted:
        low = float(under.values.sum()) * mode.outward(len(under.values))
        lowest = Row(-frame.floor, np.array([low]))
        if mode.splitting is None:
            rows[0] = added(rows[0], lowest)
        else:
            raised = (added(raised[0], lowest), raised[1])
    falls = np.maximum(a.falls + _falling(b, frame, mode), b.falls + _falling(a, frame, mode))
    above = _above(a, b, (over, gone), frame, mode)
    return Masses(settled(rows, frame), above, raised, falls)


def _above(
    a: Masses, b: Masses, left: tuple[Row, tuple[float, float]], frame: Frame, mode: Mode
) -> tuple[float, float]:
    """P-mass above the top, and Q-mass, rounded the other way."""
    over, gone = left
    terms = sum(len(row.values) for m in (a, b) for row in m.rows) + len(over.values)
    # What the floor has raised is counted with the raised, wherever it goes.
    p = [_held(m.rows) for m in (a, b)]
    above_p = (
        gone[0] + float(over.values.sum()) + a.above[0] * (p[1] + b.above[0]) + p[0] * b.above[0]
    )
    above_q = 0.0
    if mode.splitting is None:
        q = [_q_mass(m.rows, frame) for m in (a, b)]
        above_q = gone[1] + float(product(over.values, np.exp(-frame.step * over.points)))
        above_q += a.above[1] * (q[1] + b.above[1]) + q[0] * b.above[1]
    return above_p * mode.outward(terms), above_q / mode.outward(terms + EXPONENTIAL)


def _held(rows: Sequence[Row]) -> float:
    return math.fsum(float(row.values.sum()) for row in rows)


def _q_mass(rows: Sequence[Row], frame: Frame) -> float:
    return math.fsum(
        float(product(row.values, np.exp(-frame.step_of(level) * row.points)))
        for level, row in enumerate(rows)
    )


def _raised(
    a: Masses, b: Masses, whole: tuple[Row, Row], frame: Frame, mode: Mode
) -> tuple[Row, float]:
    """Weights of sums that the floor has moved up."""
    (one, one_above), (other, other_above) = a.raised, b.raised
    if not len(one.values) and not len(other.values) and one_above == other_above == 0:
        return EMPTY, 0.0
    pairs = [(one, added(whole[1], other)), (whole[0], other)]
    row = added(*(convolved(*pair, frame.top, mode.rounding) for pair in pairs))
    low = float(row.below(-frame.floor).values.sum())
    kept = added(row.between(-frame.floor, frame.top), Row(-frame.floor, np.array([low])))
    all_a, all_b = a.total + a.above[0] + one_above, b.total + b.above[0] + other_above
    above = sum(beyond(*pair, frame.top) for pair in pairs)
    above += one_above * all_b + other_above * all_a
    above += float(one.values.sum()) * b.above[0] + float(other.values.sum()) * a.above[0]
    terms = sum(len(each.values) for pair in pairs for each in pair)
    return trimmed(kept, frame.negligible), above * mode.outward(terms)


def _falling(masses: Masses, frame: Frame, mode: Mode) -> Reals:
    """At least ln E e^{(1+θ)·fall} at each slope θ, or as weighed ln E e^{θ·fall}."""
    weighed = mode.splitting is not None
    order = SLOPES / (frame.step * frame.floor) + (0.0 if weighed else 1.0)
    whole = masses.total + masses.above[0] + masses.raised[1]
    total = np.full(len(SLOPES), max(whole, 1.0) * (1 + 1e-9))
    for level, row in enumerate((*masses.rows, masses.raised[0])):
        step = frame.step_of(level) if level <= frame.finest else frame.step
        below = row.below(0)
        held = below.values > 0
        fall = -step * below.points[held]
        with np.errstate(over="ignore"):
            total += product(np.expm1(np.multiply.outer(order, fall)), below.values[held])
    return np.asarray(np.log(total) + 1e-12)


def settled(rows: Sequence[Row], frame: Frame) -> tuple[Row, ...]:
    """Every mass on the finest lattice that reaches it: its points are among the finer one's."""
    found, near = [], frame.half // 2
    carried = EMPTY
    for level, own in enumerate(rows):
        row = added(own, carried)
        if level < frame.finest:
            inner = row.between(-near, near)
            spread = np.zeros(max(2 * len(inner.values) - 1, 0))
            spread[::2] = inner.values
            carried = trimmed(Row(2 * inner.first, spread), frame.negligible)
            row = trimmed(added(row.below(-near), row.over(near)), frame.negligible)
        found.append(row)
    return tuple(found)
