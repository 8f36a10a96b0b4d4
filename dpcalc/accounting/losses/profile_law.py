"""The discrete law that a profile implies, in doubles that err on the safe side.

Statement
    Let δ(ε_i) <= δ_i at 0 <= ε_0 < ... < ε_n with falling δ_i. The symmetric pair with mass m_i under P
    at ε_i, e^{-ε_i} m_i at -ε_i, δ_n at ∞ and the rest at 0 dominates every mechanism with this profile
    if its own δ is at least δ_i at every ε_i, and every mass but those at ±ε_0 and 0 may be larger.
Source
    docs/soundness.md, with the proof.
Rounding
    With u = 2^-53 differences of doubles are right to u of themselves, and rises and drops to 10 u and
    u times the gap, which is at most 711 where the exponential is finite; 1e-13 are 900 u.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF

Array = NDArray[np.float64]

ROOM = 1e-13

LEAST_EPSILON = 1e-25
"""From here on e^ε of different doubles differ in sixty digits."""

_LEAST_LEFT = 1e-5
"""Mass at the first corner, a difference of numbers near one, that is right to ten digits."""

_LEAST_MASS = 1e-290
"""Smaller ones on the left of zero are left at zero, where they do more."""


def law_in_doubles(epsilons: Array, deltas: Array) -> DiscreteLoss | None:
    """The law of a pair that dominates every mechanism with this profile; None where nothing is left.

    Args:
        epsilons: 0 or above, increasing.
        deltas: bounds of δ there, in [0, 1].
    """
    at, known = _convex(*_falling(epsilons, deltas))
    infinite = float(deltas.min())
    while len(at) > 1 or (len(at) == 1 and at[0] > 0):
        masses = bends(at, known)
        mirrored = masses * np.exp(-at)
        left = 1.0 - math.fsum([infinite, *masses[1:].tolist(), *mirrored[1:].tolist()])
        if left >= _LEAST_LEFT:
            return _law(at, masses, mirrored, left, infinite)
        at, known = at[1:], known[1:]
    return None


def _law(at: Array, masses: Array, mirrored: Array, left: float, infinite: float) -> DiscreteLoss:
    """With what is left at the first corner and its mirror image, or at zero if that is the corner."""
    masses[0] = left / (1 + math.exp(-at[0]))
    mirrored[0] = masses[0] * math.exp(-at[0])
    first = int(at[0] == 0)
    at, masses, mirrored = at[first:], masses[first:], mirrored[first:]
    full = mirrored > _LEAST_MASS
    return DiscreteLoss(
        np.append(at, -at[full]),
        np.append(masses, mirrored[full]),
        infinite_mass=infinite,
        mass_error=(16 + 8 / left) * UNIT_ROUNDOFF,
    )


def bends(at: Array, deltas: Array) -> Array:
    """Upper bounds of the P-masses of the corners."""
    rises, drops = _sides(at, deltas)
    return np.asarray(np.maximum(rises - drops + ROOM * (rises + drops), 0.0))


def _sides(at: Array, deltas: Array) -> tuple[Array, Array]:
    """Minus the slopes on the left and on the right of every corner, times e^ε."""
    falls, gaps = -np.diff(deltas), np.diff(at)
    first = (1 - deltas[0]) / (1 + math.exp(-at[0]))
    with np.errstate(over="ignore"):
        drops = falls / np.expm1(gaps)
    return np.append(first, falls / -np.expm1(-gaps)), np.append(drops, 0.0)


def _falling(epsilons: Array, deltas: Array) -> tuple[Array, Array]:
    """Those that say more than the ones before, none next to zero."""
    at = np.where(epsilons > 0, np.maximum(epsilons, LEAST_EPSILON), 0.0)
    least = np.minimum.accumulate(np.minimum(deltas, 1.0))
    last = np.append(np.diff(at) > 0, True)
    at, least = at[last], least[last]
    told = np.append(True, np.diff(least) < 0)
    return at[told], least[told]


def _convex(at: Array, deltas: Array) -> tuple[Array, Array]:
    """The corners of the greatest convex function below the points, to a rounding.

    Any of the points may be left out; what matters is that no mass is negative by more than that.
    """
    rises, drops = _sides(at, deltas)
    if (rises > drops).all():
        return at, deltas
    kept: list[int] = []
    rise: list[float] = []
    x, y = at.tolist(), deltas.tolist()
    for k in range(len(x)):
        while kept and _drop(x[k] - x[kept[-1]], y[kept[-1]] - y[k]) >= rise[-1]:
            kept.pop()
            rise.pop()
        if kept:
            rise.append((y[kept[-1]] - y[k]) / -math.expm1(x[kept[-1]] - x[k]))
        else:
            rise.append((1 - y[k]) / (1 + math.exp(-x[k])))
        kept.append(k)
    return at[kept], deltas[kept]


def _drop(gap: float, fall: float) -> float:
    return fall / math.expm1(gap) if gap < 700 else 0.0
