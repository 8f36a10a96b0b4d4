"""Probabilities on a lattice of losses, and their sums by plain convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dpcalc.accounting.laws import AtomicLaw, Reals
from dpcalc.numerics.products import convolution, product

NOTHING = 1e-154
"""Masses below are left out: products of larger ones are numbers of full precision, and fast."""

SNAP = 1e-9
"""Losses nearer than this to a lattice point, in steps, are taken to be on it."""


@dataclass(frozen=True, slots=True)
class Masses:
    """Probabilities of the points ``h·(first + k)`` and of what lies above the lattice.

    Attributes:
        first: the lowest point's number.
        values: P-masses, shape (n,).
        above: P-mass above, and its Q-mass; what is infinite has none.
    """

    first: int
    values: Reals
    above: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """Which lattice points sums are kept on.

    Attributes:
        step: h, the distance of two points.
        top: number of the highest point.
        floor: minus the number of the lowest.
        lifted: whether sums below the floor are moved up to it, or else left out.
    """

    step: float
    top: int
    floor: int
    lifted: bool = True


def at_zero(law: AtomicLaw) -> float:
    """The mass of a law that is not listed, at loss zero."""
    rest = 1.0 - math.fsum(law.masses.tolist()) - law.infinite_mass - law.missing
    return max(rest, 0.0)


def placed(
    law: AtomicLaw, zero: float, frame: Frame, bottom: int, weights: Reals | float = 1.0
) -> Masses:
    """One round on the lattice; losses below the bottom are moved up to it.

    Args:
        law: the round's losses.
        zero: what sits at zero besides.
        frame: the lattice.
        bottom: number of the lowest point that a single round may have.
        weights: a factor of at least 1 for every loss of ``law``.
    """
    step, top = frame.step, frame.top
    losses, masses = np.append(law.losses, 0.0), np.append(law.masses * weights, zero)
    position = np.clip(losses / step, bottom - 2, top + 2)
    nearest = np.rint(position)
    position = np.where(np.abs(position - nearest) < SNAP, nearest, position)
    left = np.floor(position)
    right = masses * np.expm1((left - position) * step) / math.expm1(-step)
    staying = np.maximum(masses - right, 0.0)
    number = left.astype(np.int64)
    inside = number < top
    values = np.zeros(top - bottom + 1)
    np.add.at(values, np.maximum(number, bottom)[inside] - bottom, staying[inside])
    np.add.at(values, np.maximum(number + 1, bottom)[inside] - bottom, right[inside])
    values[values < NOTHING] = 0.0
    over = masses[~inside]
    above = (law.infinite_mass + float(over.sum()), float(product(over, np.exp(-losses[~inside]))))
    return Masses(bottom, values, above)


def summed(laws: Sequence[tuple[Masses, int]], frame: Frame) -> Masses:
    """All rounds together, on the lattice."""
    powers = [_power(masses, count, frame) for masses, count in laws]
    return reduce(lambda a, b: _sum(a, b, frame), powers)


def _power(masses: Masses, count: int, frame: Frame) -> Masses:
    result: Masses | None = None
    while True:
        if count & 1:
            result = masses if result is None else _sum(result, masses, frame)
        count >>= 1
        if not count:
            break
        masses = _sum(masses, masses, frame)
    assert result is not None  # noqa: S101 # counts are positive
    return result


def _sum(a: Masses, b: Masses, frame: Frame) -> Masses:
    step, first = frame.step, a.first + b.first
    values = convolution(a.values, b.values)
    size = frame.top - first + 1
    over = values[size:]
    q = [
        float(product(m.values, np.exp(-step * (m.first + np.arange(len(m.values))))))
        for m in (a, b)
    ]
    p = [float(m.values.sum()) for m in (a, b)]
    above_p = float(over.sum()) + a.above[0] * (p[1] + b.above[0]) + p[0] * b.above[0]
    above_q = float(product(over, np.exp(-step * (first + size + np.arange(len(over))))))
    above_q += a.above[1] * (q[1] + b.above[1]) + q[0] * b.above[1]
    values = values[:size]
    below = max(-frame.floor - first, 0)
    if below:
        low = float(values[:below].sum())
        first, values = first + below, values[below:]
        values[0] += low if frame.lifted else 0.0
    values[values < NOTHING] = 0.0
    return Masses(first, values, (above_p, above_q))
