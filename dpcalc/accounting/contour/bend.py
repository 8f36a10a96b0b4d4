"""How far ε moves where a loss is blurred, to plan cells and smoothing by; never part of a bound.

Let p be the density of the sum S of all losses. If a loss l of one round becomes a random one whose
e^{-l} has the same mean, of variance v, δ(ε) grows by about v/2 times the density that the other
rounds' sum has at ε - l, since (1 - e^{ε-s})₊ bends at ε alone. So ε moves by about v/2 times
``p(ε - l)/|δ'(ε)|`` for each unit of P-mass. With one large loss among small ones p is no exponential,
and the tilt by the order of the saddle point is off by a factor that cells have to make up for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.contour.contour_sum import ContourSum
from dpcalc.accounting.losses import Reals

_POINTS = 4096
"""Places in a period, at least as many as a coarse sum has nodes."""

_LOST = 0.01
"""Of δ: where errors are more, a sum tells nothing about its density."""

_LEAST = 0.25
"""Over the order of the saddle point plus one, which p(ε)/|δ'(ε)| is of Gaussian sums."""


@dataclass(frozen=True, slots=True)
class Bend:
    """The quotient p(ε - l)/|δ'(ε)| as a function of the loss l.

    Attributes:
        slope: the order of the saddle point.
        losses: increasing, over a period around zero; empty where nothing but the slope is known.
        values: what is known there.
    """

    slope: float
    losses: Reals
    values: Reals

    @classmethod
    def along(cls, slope: float) -> Bend:
        """Where nothing but the slope is known."""
        return cls(slope, np.empty(0), np.empty(0))

    @property
    def measured(self) -> bool:
        """Whether more is known than the slope."""
        return len(self.losses) > 0

    def at(self, losses: Reals) -> Reals:
        """Interpolated; nothing where it is beyond the period."""
        return np.asarray(np.interp(losses, self.losses, self.values, left=0.0, right=0.0))

    @property
    def at_zero(self) -> float:
        """For what smoothing adds to every loss."""
        if not self.measured:
            return self.slope + 1
        return max(float(self.at(np.zeros(1))[0]), _LEAST * (self.slope + 1))


def bend_of(found: ContourSum, epsilon: float, slope: float) -> Bend:
    """What a coarse sum tells; the slope alone if that is nothing.

    The nodes give ``e^{cs}p(s)`` repeated with the period, of which the part around ε is taken.
    """
    numbers = np.rint(found.nodes / found.step).astype(np.int64)
    z = found.c + 1j * found.nodes
    values = found.values * z
    falling = (values * np.exp(-1j * found.nodes * epsilon)).real
    fall = float(2 * falling.sum() - falling[0])
    if numbers[-1] >= _POINTS or not fall > 0 or found.error_share(epsilon) > _LOST:
        return Bend.along(slope)
    period = 2 * math.pi / found.step
    first = epsilon - period / 2
    turned = np.zeros(_POINTS, dtype=np.complex128)
    turned[numbers] = values * (z + 1) * np.exp(-1j * found.nodes * first)
    turned[0] /= 2
    losses = period * (0.5 - np.arange(_POINTS) / _POINTS)
    tilted = np.maximum(2 * np.fft.fft(turned).real / fall, 0.0)
    # From ε to the left the tilted density falls; where it rises again it is the next period's.
    tilted[: int(np.argmin(tilted[: _POINTS // 2]))] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        bend = tilted * np.exp(found.c * losses)
    if not np.isfinite(bend).all():
        return Bend.along(slope)
    return Bend(slope, losses[::-1], bend[::-1])
