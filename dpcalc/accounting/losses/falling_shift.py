"""What a record reveals whose derivative falls along its own direction, as that of a convex loss does.

*Setting.* Normal noise N(0, 1) along the record's direction, its other coordinates being equal. P has
the noise moved by ``μs(y)``, y where it ends up, Q has it in place; s falls from at most 1 to at
least 0, no faster than ``-ds/dy <= (κ/μ)s(1 - s)``: the curvature of a record is that of the rest
times κs(1 - s) at most. So P has the density ``p(y) = φ(y - μs)(1 - μ ds/dy)``, φ the normal one.

*Statement.* Let ``y*(s) = ln k/(μs) + μs/2``, where ``φ(y - μs) = kφ(y)``, and for k > 1

    γ(y, s) = [φ(y - μs)(1 + g) - kφ(y)]₊/g - φ(y* - μs),  g = κs(1 - s),  where y < y*(s),

and 0 where y >= y*(s). The hockey-stick divergence of P against Q is at most that of N(μ, 1) against
N(0, 1) plus μ times the supremum of ``∫γ(y(s), s)ds`` over all ``y(s)`` that rise as s falls, by
at least ``(μ/κ)(ln s/(1-s) - ln s'/(1-s'))`` from s to s'. It increases with μ and with κ.

*Noise of density ∝ e^{-|b|}* in d dimensions is normal noise whose variance has the law χ² with d + 1
degrees of freedom. The mean over it bounds the divergence, as if the variance were revealed.

*Cells.* In the frame that moves on with the least speed y never falls, so that the supremum over
cells of s and y is a running maximum. In every cell γ is bounded by the largest of its first term and
the smallest of the second. Between two k the divergence, which is convex in k, is below its chord.

*Rounding.* Each of γ's terms has a few units of relative error, the first one divided by g; both are
added. Proof: docs/theorems/objective-perturbation.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Reals

Profile = tuple[Reals, Reals]
"""Values of k from 1 up, and bounds of the divergences there."""

Atoms = tuple[Reals, Reals]
"""Losses, rising, and P-masses; or what else goes with them."""

Scales = tuple[tuple[float, float], ...]
"""Probabilities of standard deviations, each with μ, the largest shift over it."""

_LEAST_STIFFNESS, _LARGEST_SHIFT = 1.5, 2.0
"""Below this κ/μ nothing is gained; above this μ divergences are taken for 1."""

_LEVELS = (1e-13, 1e-7, 1e-4, 0.01, 0.06, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
"""Probabilities of a variance below the ends of the cells that it is rounded down in."""

_SHIFTS_PER_E, _CURVATURES_PER_E = 40, 16
_STEP, _LOG_ODDS, _LEAST_LOG_ODDS, _DRIFT = 0.08, 0.3, 0.05, 0.12
"""Cells of y and of ln s/(1 - s), the latter such that y moves on by little if it need not more."""

_BELOW, _BEYOND, _FARTHEST = 3.0, 1.5, 13.0
"""How far y reaches below 0 and beyond ln k/μ, and altogether; the last cell has no end."""

_ROOM = 1e-9
"""Relative, for what is rounded apart from γ."""


_UNDERFLOW = 1e-250
"""More than the masses that are lost below the least double."""


def exponential_scales(bound: float, dimension: int) -> Scales:
    """Shifts μ of normal noise, rounded up, with their probabilities; the rest is 1e-13.

    Args:
        bound: a, the rate of the exponential noise times the shift.
        dimension: 1 or above.
    """
    from scipy.special import gammaincinv

    # A millionth is beyond what a quantile is off by, at any number of degrees of freedom.
    variances = 2 * gammaincinv((dimension + 1) / 2, np.array(_LEVELS[:-1])) * (1 - 1e-6)
    shifts = [_rounded_up(float(mu), _SHIFTS_PER_E) for mu in bound / np.sqrt(variances)]
    return tuple(zip(np.diff(_LEVELS).tolist(), shifts, strict=True))


def mean_profile(scales: Scales, curvature: float) -> Profile | None:
    """The mean of the bounds over the scales of the noise; None where nothing is gained."""
    middle = scales[len(scales) // 2][1]
    if not (middle <= _LARGEST_SHIFT / 2 and curvature >= _LEAST_STIFFNESS * middle):
        return None
    kappa = _rounded_up(curvature, _CURVATURES_PER_E)
    small = [(weight, mu) for weight, mu in scales if mu <= _LARGEST_SHIFT]
    places = removal_profile(middle, kappa)[0]
    values = np.full(len(places), max(1 - sum(weight for weight, _ in small), 0.0))
    for weight, mu in small:
        stiff = max(kappa, _LEAST_STIFFNESS * mu)  # where less stiffness gains nothing
        values += weight * np.interp(places, *removal_profile(mu, stiff))
    return places, values * (1 + _ROOM)


@lru_cache(maxsize=4096)
def removal_profile(mu: float, curvature: float) -> Profile:
    """Of normal noise with a shift of at most ``mu``; beyond the last k the last value holds."""
    from scipy.special import ndtr

    ratios = np.exp(mu * _depths(mu, curvature))
    edge = np.log(ratios) / mu
    whole, over = ndtr(mu / 2 - edge), ratios * ndtr(-edge - mu / 2)
    moved = whole - over + 64 * UNIT_ROUNDOFF * whole
    values = np.minimum(moved + mu * _largest_gain(mu, curvature, ratios), 1.0)
    first = 2 * float(ndtr(mu / 2)) - 1 + UNIT_ROUNDOFF
    falling = np.minimum.accumulate(np.append(first, values))
    return np.append(1.0, ratios), falling * (1 + _ROOM)


def capped(law: Atoms, least: Atoms, profile: Profile) -> Atoms:
    """The law whose divergences are the convex curve below two bounds, of which one is a law's.

    Args:
        law: one that dominates.
        least: one with as large a divergence at k = 1, and no larger ones beyond it.
        profile: what dominates too; where it is below ``least``, that is taken.
    """
    own, floor = (_knots(*atoms) for atoms in (law, least))
    logs = np.log(profile[0])
    logs = np.unique(np.concatenate([own[0], logs[logs < own[0][-1]]]))
    places = np.exp(logs)
    lower = np.minimum(np.interp(places, np.exp(own[0]), own[1]), np.interp(places, *profile))
    lower = np.maximum(lower, np.interp(places, np.exp(floor[0]), floor[1], right=0.0))
    corners = _lower_hull(places, lower)
    losses, lower = logs[corners], lower[corners] * (1 + _ROOM)
    slopes = np.append(np.diff(lower) / _widths(losses), 0.0)
    masses = np.maximum(np.exp(losses) * np.append(0.0, np.diff(slopes)), 0.0)
    masses[-1] += _UNDERFLOW
    short = float(np.max(lower[:-1] / _divergences(losses, masses)[:-1], initial=1.0))
    return losses[1:], masses[1:] * short * (1 + _ROOM)


def _knots(losses: Reals, masses: Reals) -> Atoms:
    """Where the slope of a law's divergences changes, by ln k from 0 on, and their values there."""
    held = (masses > 0) & (losses > 0)
    losses, masses = np.append(0.0, losses[held]), np.append(0.0, masses[held])
    return losses, _divergences(losses, masses)


def _divergences(losses: Reals, masses: Reals) -> Reals:
    """At every k = e^loss, by sums of positive terms."""
    below = (masses * np.exp(-losses))[::-1].cumsum()[::-1]
    steps = _widths(losses) * below[1:]
    return np.append(steps[::-1].cumsum()[::-1], 0.0)


def _widths(losses: Reals) -> Reals:
    """Between every k and the next."""
    return np.asarray(np.exp(losses[:-1]) * np.expm1(np.diff(losses)))


def _lower_hull(x: Reals, y: Reals) -> list[int]:
    """Indices of the corners of the convex curve below points with rising x."""
    corners: list[int] = []
    xs, ys = x.tolist(), y.tolist()  # the same doubles, and a fifth of the time
    for i, (right, height) in enumerate(zip(xs, ys, strict=True)):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (ys[b] - ys[a]) * (right - xs[a]) < (height - ys[a]) * (xs[b] - xs[a]):
                break
            corners.pop()
        corners.append(i)
    return corners


def _depths(mu: float, curvature: float) -> Reals:
    """Ln k/μ: as far as a normal tail matters, or the curvature's own term."""
    far = max(6.0, min(curvature / (4 * mu), math.log1p(curvature / 4) / mu) + 4)
    fine, coarse = 3 * 1.13 ** np.arange(16), 3 * 1.13**15 * 1.3 ** np.arange(1, 100)
    steps = np.concatenate([np.arange(0.25, 3, 0.25), fine, coarse])
    return np.asarray(steps[: int(np.searchsorted(steps, far)) + 1])


def _largest_gain(mu: float, curvature: float, ratios: Reals) -> Reals:
    """The supremum of ∫γ ds for every k, and room for what is rounded."""
    stiffness, logs = curvature / mu, np.log(ratios)
    high = math.log(stiffness * logs[-1] / mu + 1) + 0.1
    low = math.log(4 * (8 + stiffness))
    width = max(_LEAST_LOG_ODDS, min(_LOG_ODDS, _DRIFT * stiffness))
    odds = high - width * np.arange(math.ceil((high + low) / width) + 1)
    s, step = 1 / (1 + np.exp(-odds)), width / stiffness
    bends = curvature / (2 + np.exp(odds) + np.exp(-odds))
    top = min(float(logs[-1]) / mu + _BEYOND, _FARTHEST)
    start = np.arange(-_BELOW - len(odds) * step, top, _STEP)
    end = np.append(start[:-1] + step + _STEP, math.inf)
    lost = _least_density((logs[:, None] / mu) / s - mu * s / 2)
    total = np.zeros((len(ratios), len(start)))
    for i in range(len(s) - 2, -1, -1):
        bend = curvature / 4 if s[i + 1] < 0.5 < s[i] else float(max(bends[i], bends[i + 1]))
        density = _largest_density(start + i * step, end + i * step)
        y = end + i * step
        loss = mu * y * np.where(y >= 0, s[i], s[i + 1]) - (mu * s[i + 1]) ** 2 / 2
        gain = _largest_gain_in_cells(
            ratios[:, None], np.exp(loss), density, bend, lost[:, i, None]
        )
        total += (s[i] - s[i + 1]) * gain
        np.maximum.accumulate(total[:, ::-1], axis=1, out=total[:, ::-1])
    rest = s[-1] * ratios * _normal(np.maximum(logs - curvature * s[-1], 0.0) / (mu * s[-1]))
    units = 64 + 2 * len(s)
    room = units * UNIT_ROUNDOFF * ratios * (1 + logs) * (1 + 1 / min(bends[0], bends[-1]))
    return np.asarray(np.maximum(total[:, 0], 0.0) + rest + room)


def _largest_gain_in_cells(
    ratios: Reals, moved: Reals, density: Reals, bend: float, lost: Reals
) -> Reals:
    """γ from the largest φ(y - μs)/φ(y), φ(y) and g and the least of what is lost."""
    # Beyond y*, where it is not below k, the first term is at least k.
    gain = density * np.minimum(moved - (ratios - moved) / bend, ratios)
    gain = np.maximum(gain, 0.0) - lost
    inside = moved < ratios
    return np.asarray(np.where(inside, gain, np.maximum(gain, 0.0)))


def _largest_density(low: Reals, high: Reals) -> Reals:
    nearest = np.where(low > 0, low, np.minimum(high, 0.0))
    nearest[0] = min(float(high[0]), 0.0)
    return _normal(nearest)


def _least_density(places: Reals) -> Reals:
    """The smaller of the densities at two neighbouring places; between them it is not less."""
    density = _normal(places)
    return np.minimum(density[:, 1:], density[:, :-1])


def _normal(x: Reals) -> Reals:
    return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


def _rounded_up(value: float, per_e: int) -> float:
    """To a power of e^{1/per_e}, so that neighbouring values share their profiles."""
    return math.exp(math.ceil(math.log(value) * per_e * (1 - 1e-15)) / per_e) * (1 + 1e-12)
