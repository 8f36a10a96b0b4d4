"""A run of one-dimensional quadratics that reveals much: curvatures of their own in every iteration.

Statement
    In one dimension, with users' f = h_t x²/2 and a g whose curvature differs from place to place,
    iteration t multiplies by ``moved_t = 1 - ηh_t`` and keeps ``kept_t`` of ℓ - x; the law of (x, λ)
    stays Gaussian, as in `scalar`. Where these factors are searched, any that are found are a lower
    bound. Longer runs than `LONGEST` repeat the first of a run's factors.
Source
    docs/theorems/amplification-by-iteration.md, what an instance attains: why g may have a curvature
    of its own in every iteration.
Rounding
    Searched in doubles, evaluated in sixty digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.iteration.multipliers import good_multipliers, in_doubles, worst_replies
from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
from dpcalc.accounting.iteration.sectors import Sectors
from dpcalc.numerics.precise import mpf

Reals = NDArray[np.float64]
Factors = tuple[list[float], list[float]]

LONGEST = 48
_EDGE = 1e-7
_STEPS = 60
_KEPT = (1e-7, 0.02, 0.1, 0.3, 0.5, 0.8, 1 - 1e-7)


def worst_law(sectors: Sectors, iterations: int, step_sensitivity: Any, noise: Any) -> Stretch:
    """The exact law after this many iterations, the first the user's own, of the worst run found.

    Args:
        sectors: which factors are allowed, for one singular value; what A's kernel does is left out.
        iterations: 2 or more.
        step_sensitivity: how far the user's iteration moves x.
        noise: standard deviation of the noise that reaches x.
    """
    rough, count = in_doubles(sectors), min(iterations, LONGEST) - 1
    moved, kept = _worst_factors(rough, count)
    repeats = iterations - 1 - count
    least, most, low = sectors.least, sectors.most, max(sectors.kept, mpf(_EDGE))

    def step(m: float, r: float) -> Stretch:
        allowed = min(max(mpf(m), least), most), min(max(mpf(r), low), 1 - mpf(_EDGE))
        return ScalarADMM(sectors.pull, allowed[1], step_sensitivity, noise).iteration(allowed[0])

    own = ScalarADMM(sectors.pull, low, step_sensitivity, noise).iteration(most, own=True)
    law = own.then(step(moved[0], kept[0]).repeated(repeats))
    for m, r in zip(moved, kept, strict=True):
        law = law.then(step(m, r))
    return law


@lru_cache(maxsize=1024)
def _worst_factors(sectors: Sectors, count: int) -> Factors:
    """The best of several local searches: from the certificate's worst replies, and from constants."""
    starts = [([sectors.most] * count, [r] * count) for r in _KEPT]
    found = good_multipliers(sectors, count + 1)
    if found is not None:
        starts.append(worst_replies(sectors, *found))
    bounds = [(sectors.least, sectors.most)] * count
    bounds += [(max(sectors.kept, _EDGE), 1 - _EDGE)] * count
    tried = [np.clip(np.array(m + r), *np.array(bounds).T) for m, r in starts]
    tried.sort(key=lambda z: -_revealed(sectors, z)[0])
    best = max(
        (_climb(sectors, z, bounds) for z in tried[:2]), key=lambda z: _revealed(sectors, z)[0]
    )
    return best[:count].tolist(), best[count:].tolist()


def _climb(sectors: Sectors, start: Reals, bounds: Sequence[tuple[float, float]]) -> Reals:
    from scipy.optimize import minimize

    tried = [(_revealed(sectors, start)[0], start)]

    def down(z: Reals) -> tuple[float, Reals]:
        value, slopes = _revealed(sectors, z)
        if value > tried[-1][0]:
            tried.append((value, z.copy()))
        return -value, -slopes

    with np.errstate(all="ignore"):
        minimize(
            down, start, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": _STEPS, "maxfun": 2 * _STEPS},
        )  # fmt: skip
    return tried[-1][1]


def _revealed(sectors: Sectors, factors: Reals) -> tuple[float, Reals]:
    """The logarithm of ``dᵀC⁻¹d``, jump and noise 1, and its derivatives.

    With p = C⁻¹d at the end, a change of an iteration's matrix A changes dᵀC⁻¹d by
    ``⟨λdᵀ + 2ΛAC, change⟩``, d and C those before it, λ = 2p and Λ = -ppᵀ carried back.
    """
    count, e = len(factors) // 2, sectors.pull
    matrices = [_matrix(m, r, e) for m, r in factors.reshape(2, count).T.tolist()]
    d, c = (1.0, 0.0), (1.0, 0.0, 0.0)
    states = [(d, c)]
    for m in matrices:
        d = m[0] * d[0] + m[1] * d[1], m[2] * d[0] + m[3] * d[1]
        c = _moved(m, c)
        c = c[0] + 1.0, c[1], c[2]
        states.append((d, c))
    det = c[0] * c[2] - c[1] * c[1]
    if not det > 0:
        return -1e3, np.zeros(2 * count)
    p = (c[2] * d[0] - c[1] * d[1]) / det, (c[0] * d[1] - c[1] * d[0]) / det
    value = p[0] * d[0] + p[1] * d[1]
    if not value > 0:
        return -1e3, np.zeros(2 * count)
    lam, big = (2 * p[0], 2 * p[1]), (-p[0] * p[0], -p[0] * p[1], -p[1] * p[1])
    slopes = np.zeros((2, count))
    for t in range(count - 1, -1, -1):
        m, (d, c) = matrices[t], states[t]
        ac = (
            m[0] * c[0] + m[1] * c[1], m[0] * c[1] + m[1] * c[2],
            m[2] * c[0] + m[3] * c[1], m[2] * c[1] + m[3] * c[2],
        )  # fmt: skip
        g00 = lam[0] * d[0] + 2 * (big[0] * ac[0] + big[1] * ac[2])
        g01 = lam[0] * d[1] + 2 * (big[0] * ac[1] + big[1] * ac[3])
        g10 = lam[1] * d[0] + 2 * (big[1] * ac[0] + big[2] * ac[2])
        g11 = lam[1] * d[1] + 2 * (big[1] * ac[1] + big[2] * ac[3])
        slopes[:, t] = g00 / (1 + e), (g01 - g00) * 2 * e / (1 + e) - g10 + g11
        lam = m[0] * lam[0] + m[2] * lam[1], m[1] * lam[0] + m[3] * lam[1]
        big = _moved((m[0], m[2], m[1], m[3]), big)
    return float(np.log(value)), slopes.ravel() / value


def _matrix(moved: float, kept: float, e: float) -> tuple[float, float, float, float]:
    swing = e * (2 * kept - 1)
    return (moved - swing) / (1 + e), swing / (1 + e), -kept, kept


def _moved(m: Any, c: Any) -> tuple[float, float, float]:
    """M C Mᵀ by (11, 12, 22)."""
    top = m[0] * c[0] + m[1] * c[1], m[0] * c[1] + m[1] * c[2]
    low = m[2] * c[0] + m[3] * c[1], m[2] * c[1] + m[3] * c[2]
    return (
        top[0] * m[0] + top[1] * m[1], top[0] * m[2] + top[1] * m[3],
        low[0] * m[2] + low[1] * m[3],
    )  # fmt: skip
