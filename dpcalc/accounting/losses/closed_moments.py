"""Moments of bounded losses, at many orders at once, by formulas and finite sums.

Statement
    Upper bounds of ``ln E_Q[(P/Q)^α]``, α = s + 1. For randomised response with odds e^ε the moment
    less 1 is ``(e^{sε} - 1)(1 - e^{-αε})/(1 + e^{-ε})``; for Laplace noise whose scale is 1/ε of the
    sensitivity it is ``(α g(sε) + s g(-αε))/(2α - 1)``, ``g(y) = e^y - 1 - y``: all terms are
    positive, nothing cancels. From sε = 1 on the logarithms are

        sε + ln(1 + e^{-(2α-1)ε}) - ln(1 + e^{-ε})
        sε + ln(1 + (s/α) e^{-(2α-1)ε}) - ln(1 + s/α).

    A `DiscreteLoss` has a sum over its atoms, with the errors of `dpcalc.accounting.renyi`.
Rounding
    In doubles. α - 1 is exact; products, quotients and elementary functions are right to 2^-49 of
    themselves, g to 2^-45: from .5 on in size its terms are at most nine times the difference. Below
    sε = 1 the logarithm and its argument are right to some 2^-44 of themselves; from there on every
    term is right to 2^-47 of ``sε + 2``. Either is enlarged by 1e-12, many times that, and by more
    than what is lost where numbers are too small for a full mantissa.
"""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import ELEMENTARY_ERROR, UNIT_ROUNDOFF, Reals

_ROOM = 1e-12

_TINY = 1e-300
"""More than what all numbers that underflow are off by."""

_SAFE = 600.0
"""Exponents up to which sums over atoms are taken as they are."""

_LEAST = 1e-3
"""Moments of finite losses are at least 1; what rounding leaves below this is no better."""

_TERMS = 16
"""Of the series of g for |y| < 1/2; what follows is below 1e-20 of it."""


def response_moments(epsilon: float, orders: Reals) -> Reals:
    """Those of randomised response at orders above 1.

    Args:
        epsilon: logarithm of the odds, above 0 and finite.
        orders: shape (n,), above 1 and below 2^53.
    """
    s = orders - 1
    with np.errstate(over="ignore", under="ignore"):
        x, other = s * epsilon, orders * epsilon
        small = np.expm1(np.minimum(x, 1.0)) * -np.expm1(-other) / (1 + np.exp(-epsilon))
        large = x + np.log1p(np.exp(-(x + other))) - np.log1p(np.exp(-epsilon))
        return _rounded(x, small, large)


def laplace_moments(epsilon: float, orders: Reals) -> Reals:
    """Those of Laplace noise at orders above 1.

    Args:
        epsilon: sensitivity over scale, above 0 and finite.
        orders: shape (n,), above 1 and below 2^53.
    """
    s = orders - 1
    with np.errstate(over="ignore", under="ignore"):
        x, other = s * epsilon, orders * epsilon
        small = orders * _beyond_linear(np.minimum(x, 1.0)) + s * _beyond_linear(-other)
        large = x + np.log1p(s / orders * np.exp(-(x + other))) - np.log1p(s / orders)
        return _rounded(x, small / (orders + s), large)


def _rounded(x: Reals, small: Reals, large: Reals) -> Reals:
    """The logarithm from the moment less 1 up to x = 1 and from its large form beyond, enlarged."""
    found = np.where(x <= 1, np.log1p(small) * (1 + _ROOM), large + _ROOM * (x + 2))
    return np.asarray(found + _TINY, dtype=np.float64)


def _beyond_linear(y: Reals) -> Reals:
    """e^y - 1 - y."""
    near = np.clip(y, -0.5, 0.5)
    series = np.ones_like(near)
    for k in range(_TERMS, 2, -1):
        series = 1 + near / k * series
    return np.where(np.abs(y) < 0.5, near * near / 2 * series, np.expm1(y) - y)


def atoms_moments(law: DiscreteLoss, orders: Reals) -> Reals:
    """Those of a law without infinite losses at orders above 1, infinite where they are no doubles.

    Sums are off by one rounding for every term and a few more, of the sizes added up.
    """
    s = orders - 1
    with np.errstate(over="ignore", invalid="ignore"):
        found = _near_atoms(law, s)
        far = s * law.supremum > _SAFE
        if far.any():
            found[far] = _far_atoms(law, s[far])
        found = np.maximum(found, 0.0) * (1 + _ROOM)
    return np.where(np.isnan(found), math.inf, found)


def _near_atoms(law: DiscreteLoss, s: Reals) -> Reals:
    growth = np.expm1(np.minimum(np.multiply.outer(s, law.losses), _SAFE))
    excess, size = growth @ law.masses - law.missing, np.abs(growth) @ law.masses
    total = np.maximum(1 + excess, _LEAST)
    carried = law.masses * np.abs(law.losses) + law.blur
    exposure = 1.25 * (np.maximum(growth + 1, 1.0) @ carried) / total
    error = s * exposure * (law.mass_error + 64 * UNIT_ROUNDOFF)
    error += 2 * ELEMENTARY_ERROR * np.minimum(1.0, np.abs(excess)) / np.minimum(1.0, total)
    error += (law.losses.size + 8) * UNIT_ROUNDOFF * (size + abs(law.missing)) / total
    found = np.log(total) + error
    small = np.abs(excess) < 0.5
    found[small] = np.log1p(excess[small]) + error[small]
    return found


def _far_atoms(law: DiscreteLoss, s: Reals) -> Reals:
    """ln(1 + Σ p e^{sl}) where the largest term is astronomic; not a number where it is no double."""
    held = law.masses > 0
    exponents = np.log(law.masses[held]) + np.multiply.outer(s, law.losses[held])
    top = exponents.max(axis=1)
    slack = (law.mass_error + 1e-14) * (2 + 4 * s * float(np.abs(law.losses).max()))
    size = np.exp(exponents - top[:, None]).sum(axis=1) + np.exp(-np.maximum(top, 0.0))
    return np.asarray(np.maximum(top + np.log(size), 0.0) + slack)
