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
from dpcalc.accounting.losses import Complexes, Reals

_POINTS = 4096
"""Places in a period, at least as many as a coarse sum has nodes."""

_TURNS = 256
"""Losses at which a plan of cells looks at a bend in any case."""

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
    def turns(self) -> Reals:
        """Losses, near to one another where the bend is large."""
        if not self.measured:
            return np.empty(0)
        middle = (self.values[1:] + self.values[:-1]) / 2
        room = np.cumsum(np.cbrt(middle * np.diff(self.losses) ** 2))
        wanted = room[-1] * (np.arange(_TURNS) + 0.5) / _TURNS
        return np.asarray(np.interp(wanted, room, self.losses[1:]))

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


_MOST_POINTS = 2**16

_DIGITS, _FALL = 1e-13, 20.0
"""Of all nodes together: what sums of them may be off by; and over the number of nodes, how many as
large as the last those left out add up to where smoothing lets them fall."""


def densities(found: ContourSum, first: float) -> tuple[Reals, Reals] | None:
    """About the density of the sum at equally spaced places from ``first`` on, over a period.

    Zero where it is no more than rounding, or than nodes left out. None where nodes are too many, or
    numbers too large.
    """
    numbers = np.rint(found.nodes / found.step).astype(np.int64)
    points = max(_POINTS, 2 ** int(numbers[-1]).bit_length())
    if points > _MOST_POINTS:
        return None
    turned = np.zeros(points, dtype=np.complex128)
    turned[numbers] = _integrand(found) * np.exp(-1j * found.nodes * first)
    turned[0] /= 2
    period = 2 * math.pi / found.step
    places = first + period * (np.arange(points) / points)
    sums = 2 * np.fft.fft(turned).real
    size = np.abs(turned)
    left_out = size[numbers[-1]] * len(numbers) / _FALL
    sums[sums < _DIGITS * size.sum() + left_out] = 0.0
    return places, _untilted(found, places, sums)


def density_at(found: ContourSum, place: float) -> float:
    """The same at one place."""
    terms = (_integrand(found) * np.exp(-1j * found.nodes * place)).real
    value = np.array([2 * terms.sum() - terms[0]])
    return float(_untilted(found, np.array([place]), value)[0])


def _integrand(found: ContourSum) -> Complexes:
    """Of the density, over the value of δ's at y = 0."""
    z = found.c + 1j * found.nodes
    return np.asarray(found.values * z * (z + 1))


def _untilted(found: ContourSum, places: Reals, sums: Reals) -> Reals:
    """``step/2π·e^{scale - cs}`` times a sum over nodes, nothing where that is negative."""
    scale = found.log_scale + math.log(found.step / (2 * math.pi))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.asarray(np.exp(np.log(np.maximum(sums, 0.0)) + scale - found.c * places))


def widening(found: ContourSum, epsilon: float, smoothing: float) -> float:
    """About what smoothing by as much as has been done, or more, leaves open of δ at ε.

    The chord of the lower end, less what is smoothed, with the nodes at hand.
    """
    z = found.c + 1j * found.nodes
    gain = max(smoothing**2 - found.smoothing**2, 0.0) / 2
    width = 2 * max(smoothing, found.smoothing)
    chord = np.cosh(width * (z + 0.5)) / math.cosh(width / 2)
    terms = (
        found.values * (chord - 1) * np.exp(gain * z * (z + 1) - 1j * found.nodes * epsilon)
    ).real
    value = np.array([2 * terms.sum() - terms[0]])
    return float(_untilted(found, np.array([epsilon]), value)[0])
