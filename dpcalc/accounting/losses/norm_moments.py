"""Log-moments of exponential-norm noise at many orders at once, bounded by ratios of Bessel functions.

Statement
    `norm_moments` is never below ln E_P[e^{(α-1)L}] of `ExponentialNorm`.
Proof
    With ν = tanh x the density of that module is p ∝ e^{kν} (1-ν²)^{(d-3)/2} (C + 1 - ν²), k = a/2 and
    L = aν. So E_P[e^{(α-1)L}] = M(c)/M(k), c = a(α - 1/2), M the integral with c in the place of k:

        M(t) ∝ C Φ_m(t) + (d-1)/d Φ_{m+1}(t),  m = d/2 - 1,  Φ_m(t) = Γ(m+1) (2/t)^m I_m(t).

    Let R_m = I_{m+1}/I_m, r_m(t) = R_m(t)/t. Since (ln Φ_m)' = R_m and Φ_{m+1} = 2(m+1) r_m Φ_m,

        ln M(c)/M(k) = ∫_k^c R_{m+N} dt + Σ_{j<N} ln r_{m+j}(k)/r_{m+j}(c)
                       + ln [C + (d-1) r_m(c)]/[C + (d-1) r_m(k)],

    and as Φ_{m+1} grows no faster than Φ_m, also at most ∫_k^c R_m dt, which alone is precise where all
    is tiny. Every part is bounded by Amos's inequalities (1974), for orders m >= 0,

        1/(m + 1/2 + √(t² + (m+3/2)²)) <= r_m(t) <= 1/(m + √(t² + (m+2)²)),
                                          r_m(t) <= 1/(m + 1/2 + √(t² + (m+1/2)²)),

    of the order m + N, where they are sharp, by r_m = 1/(2(m+1) + t² r_{m+1}), which turns an upper
    bound of r_{m+1} into a lower one of r_m and the other way round, and by the integral
    ∫ t/(A + y) dt = y - A ln(A + y), y = √(t² + B²). The last part grows with C, which is
    (d-1) K_{m+1}(k)/[k K_m(k)] <= (d-1) [h + √(h² + k²)]/k², h = (d-1)/2 (Segura 2011).
Rounding
    In doubles: sums and products of positive terms lose a few units in the last place, a logarithm of a
    ratio as much absolutely, and the difference in an integral is at least half of its first term.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.exponential_norm import ExponentialNorm

Array = NDArray[np.float64]

_STEPS = 24
"""N: orders between the one that is asked for and the one at which the inequalities are used."""

_RELATIVE, _ABSOLUTE = 1e-13, 1e-13
"""More than what rounding loses: some 20 units of a part, and some 8 of each ratio."""


def norm_moments(loss: ExponentialNorm, orders: Array) -> Array:
    """Upper bounds of ln E_P[e^{(α-1)L}].

    Args:
        loss: a, at least 1e-100 and at most 1e8, and the dimension.
        orders: α, above 1.
    """
    a, m = loss.bound, loss.dimension / 2 - 1
    k, c, squares = a / 2, a * (orders - 0.5), a * a * orders * (orders - 1)
    low, high = _ends(k, c, m + _STEPS)
    t = np.append(k, c) ** 2
    ratios = np.ones(len(orders))  # each is below 2α
    for step in range(_STEPS, 0, -1):
        # Entry 0 belongs to k, the others to c; the ends change places.
        twice = 2 * (m + step)
        low, high = 1 / (twice + t * high), 1 / (twice + t * low)
        ratios *= high[0] / low[1:]
    half = (loss.dimension - 1) / 2
    constant = (half + math.hypot(half, k)) / k / k  # C/(d-1)
    logarithms = np.log(ratios * ((constant + high[1:]) / (constant + low[0])))
    far = _integral(k, c, squares, m + _STEPS) * (1 + _RELATIVE) + logarithms + _ABSOLUTE
    return np.minimum(far, _integral(k, c, squares, m) * (1 + _RELATIVE))


def _ends(k: float, c: Array, order: float) -> tuple[Array, Array]:
    """Below and above r at k and at all c, by the inequalities."""
    t = np.append(k, c)
    low = 1 / (order + 0.5 + np.hypot(t, order + 1.5))
    first, second = order + np.hypot(t, order + 2), order + 0.5 + np.hypot(t, order + 0.5)
    return low * (1 - 1e-15), (1 + 1e-15) / np.maximum(first, second)


def _integral(k: float, c: Array, squares: Array, order: float) -> Array:
    """Above ∫_k^c R dt, by the smaller upper bound; ``squares`` is c² - k².

    They are equal where √(t² + (m+1/2)²) = 3m + 7/2; the first is the smaller below.
    """
    equal = math.sqrt((3 * order + 3.5) ** 2 - (order + 0.5) ** 2)
    rest = (c - equal) * (c + equal)
    if k >= equal:
        return _part(k, c, squares, order + 0.5, order + 0.5)
    near = _part(k, np.minimum(c, equal), np.where(c > equal, (equal - k) * (equal + k), squares),
                 order, order + 2)  # fmt: skip
    return near + np.where(
        c > equal,
        _part(equal, np.maximum(c, equal), np.maximum(rest, 0), order + 0.5, order + 0.5),
        0,
    )


def _part(start: float, end: Array, squares: Array, A: float, B: float) -> Array:
    """∫ t/(A + √(t² + B²)) dt; ``squares`` is the difference of the ends' squares."""
    before = math.hypot(start, B)
    growth = squares / (np.hypot(end, B) + before)
    return growth - A * np.log1p(growth / (A + before))
