"""δ of a Gaussian mechanism, by its formula in mpmath."""

from __future__ import annotations

from mpmath import mp, mpf


def gaussian_delta(mu: mpf, eps: mpf) -> mpf:
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)
