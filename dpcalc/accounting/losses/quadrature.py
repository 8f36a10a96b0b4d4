"""What rounding and quadrature do to the mass of a cell.

Let u = 2^-53. The nodes of a cell [a, b] are computed as ``(a + h) + h t``, h half the width and t
one of six abscissas: off by at most 3u|x|. With log-densities and losses that are right to 8u of
themselves, the logarithm of the integrand at a node, ``(ln q - peak) + climb + (peak + loss)``, is off
by at most

    3u|x| |(ln p)'|  +  8u(|ln q| + |loss|)

and what is left, two exponentials, one expm1 (8u each), weights, products and sums of six terms,
costs less than 64u. In a cell of the width that quadrature allows, the slope of ln p changes by less
than one over |x|, so that its mean over the cell serves; the 64u have room for that.

Quadrature itself is off by at most 1e-14 in cells of a normal density whose width is
0.6σ/(1 + z), z standard deviations from its centre: the remainder of the six-point rule is
``w¹² (6!)⁴/(13 (12!)³) f⁽¹²⁾ <= 1.9e-16 (0.6/(1 + z))¹² He₁₂``, at most 4e-15 of the density.
"""

from __future__ import annotations

import numpy as np

from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Reals

MASS_ERROR = 1e-13
"""Relative error of a cell's mass of e^-50 and more, quadrature included; see `mass_errors`."""

_QUADRATURE = 1e-14
_ARITHMETIC = 64
_SMALLEST = 1e-300
"""Masses below are not counted: they may be subnormal, and are left to the tails' allowance."""


def mass_errors(x: Reals, log_q: Reals, losses: Reals, masses: Reals) -> Reals:
    """Bounds of the relative errors of cells' masses, as far as they are normal numbers.

    Args:
        x: nodes of the cells, shape (n, 6), increasing.
        log_q: the logarithm of q's density there.
        losses: ln(p/q) there.
        masses: P-masses of the cells, shape (n,).
    """
    log_p = log_q + losses
    width, far = x[:, -1] - x[:, 0], np.abs(x).max(axis=1)
    size = np.abs(log_q).max(axis=1) + np.abs(losses).max(axis=1)
    # In a cell without a double inside there is no slope to see; a normal density's, times |x|, is
    # at most twice the logarithm.
    rise = far * np.abs(log_p[:, -1] - log_p[:, 0]) / np.where(width > 0, width, 1.0)
    each = _ARITHMETIC + 3 * np.where(width > 0, rise, 2 * size) + 8 * size
    counted = np.where(masses > _SMALLEST, each, _ARITHMETIC)
    return np.asarray(_QUADRATURE + UNIT_ROUNDOFF * counted)
