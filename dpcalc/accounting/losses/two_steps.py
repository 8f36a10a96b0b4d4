"""Two steps from P to Q by way of a law in the middle, and the smaller of two such bounds.

*Two steps.* For every k₁k₂ = k, ``P - kQ = (P - k₁M) + k₁(M - k₂Q)``, so divergences are at most
``D_{k₁}(P, M) + k₁D_{k₂}(M, Q)``. The best k₁ makes the tests of both steps meet at their M-mass:
with the outcomes of each step sorted from the largest loss down, and v the M-mass so far, the loss
of the whole is the first step's at v plus the second's at v.

*The smaller.* A concave curve of P-mass over Q-mass is a bound of all tests, with the losses as the
logarithms of its slopes. Two bounds hold together: the lower of both curves, concave again.

Laws here are symmetric, so losses above 0 are all there is to know of them; the rest is the mirror
image. What is summed is positive and starts at the largest loss, where relative accuracy counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses.distribution import Reals

Steps = tuple[Reals, Reals]
"""Losses from the largest down, and the mass that each has under the distribution in the middle."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A bound of all tests, by its pieces from the largest loss down to 0.

    Attributes:
        losses: logarithms of the slopes, shape (n,).
        masses: Q-masses, shape (n,).
        blur: P-mass that a small relative error of masses moves, times how far; shape (n,).
        infinite: P-mass that has no Q-mass.
    """

    losses: Reals
    masses: Reals
    blur: Reals
    infinite: float = 0.0


def meet(first: Steps, second: Steps, infinite: float = 0.0) -> Curve:
    """Two steps whose composition is symmetric, by the larger half of its outcomes.

    ``infinite`` is the P-mass that the first step leaves without mass in the middle; where the loss
    of the second is infinite, the mass in the middle has none under Q.

    A relative error e of the masses moves the places where a step's loss changes by ev, and with
    them a P-mass of at most ``ev·e^{first loss}`` over the change.
    """
    reached = [np.cumsum(masses) for _, masses in (first, second)]
    inside = [places[places < 0.5] for places in reached]
    places = np.unique(np.concatenate([[0.0], *inside, [0.5]]))
    held = [
        losses[np.minimum(_piece(sums, places), len(losses) - 1)]
        for sums, (losses, _) in zip(reached, (first, second), strict=True)
    ]
    steps, endless = np.diff(places), np.isinf(held[1])
    infinite += float((steps[endless] * np.exp(held[0][endless])).sum())
    ends, held = places[1:][~endless], [losses[~endless] for losses in held]
    losses = np.maximum(held[0] + held[1], 0.0)
    masses = steps[~endless] * np.exp(-held[1])
    return Curve(losses, masses, _blur(losses, ends * np.exp(held[0])), infinite)


def lower_of(a: Curve, b: Curve) -> Curve:
    """The lower of two curves, where each goes on with slope 1 beyond its end."""
    knots, values = zip(*(_knots(curve) for curve in (a, b)), strict=True)
    last = max(x[-1] for x in knots)
    places = np.unique(np.concatenate([*knots, [last]]))
    losses = [
        np.append(c.losses, 0.0)[_piece(x[1:], places)] for c, x in zip((a, b), knots, strict=True)
    ]
    heights = [
        np.interp(places, x, y) + np.maximum(places - x[-1], 0.0)
        for x, y in zip(knots, values, strict=True)
    ]
    gap = heights[0] - heights[1]
    # Where one curve overtakes the other inside a piece, each is the lower on one side.
    crossed = gap[:-1] * gap[1:] < 0
    share = np.where(
        crossed, np.abs(gap[:-1]) / np.where(crossed, np.abs(gap[:-1]) + np.abs(gap[1:]), 1.0), 1.0
    )
    width = np.diff(places)
    lower = np.where(gap[:-1] + gap[1:] <= 0, losses[0], losses[1])
    before = np.where(crossed, np.where(gap[:-1] < 0, losses[0], losses[1]), lower)
    after = np.where(gap[1:] < 0, losses[0], losses[1])
    both = np.stack([before, after], axis=1).ravel()
    masses = np.stack([width * share, np.where(crossed, width * (1 - share), 0.0)], axis=1).ravel()
    held = masses > 0
    found, masses = both[held], masses[held]
    blur = _blur(found, np.cumsum(masses) * np.exp(found))
    return Curve(found, masses, blur, max(a.infinite, b.infinite))


def _knots(curve: Curve) -> tuple[Reals, Reals]:
    """Q-mass and P-mass where the slope changes."""
    risen = np.cumsum(curve.masses * np.exp(curve.losses))
    return np.append(0.0, np.cumsum(curve.masses)), np.append(0.0, risen)


def _piece(ends: Reals, places: Reals) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Which piece lies between each two neighbouring places."""
    middle = (places[1:] + places[:-1]) / 2
    return np.minimum(np.searchsorted(ends, middle), len(ends))


def _blur(losses: Reals, weights: Reals) -> Reals:
    """Weights times the change of the loss to the farther neighbour, and room for all else."""
    drops = np.abs(np.append(losses[:-1] - losses[1:], losses[-1]))
    return np.asarray(
        4 * weights * np.maximum(drops, np.append(drops[0], drops[:-1])) * (1 + losses)
    )
