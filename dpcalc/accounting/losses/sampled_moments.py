"""Moments of the losses of Poisson-sampled Gaussian noise, at many orders at once.

Statement
    Upper bounds of ``ln E_Q[(P/Q)^α]`` for the pairs of `subsampled_gaussian`, in a fraction of a
    millisecond for a hundred orders. In units of the noise, with ``f(y) = 1 - q + q e^t``,
    ``t = y/σ - 1/(2σ²)``, the moment less 1 is ``∫ φ(y) (f(y)^α - 1) dy`` for a record that is
    removed, and ``∫ φ(y) (f(y)^α f(-y)^{1-α} - 1) dy`` for one that is replaced; that of a record
    that is added is no larger than that of one that is removed.
Source
    Added and removed: Mironov, Talwar and Zhang 2019, theorem 5. The sum ``h Σ_j g(jh)`` instead of
    the integral of g, analytic within |Im y| < a: off by at most ``2M/(e^{2πa/h} - 1)``, M a bound of
    the integral of |g| along lines there (Trefethen and Weideman 2014, theorem 5.1).

    f has no zero within |Im y| < πσ. There |f(y+ib)| <= f(y), |f(y+ib)| >= f(y) cos(b/2σ) and
    |φ(y+ib)| = φ(y) e^{b²/2}, so that M is at most ``e^G (moment + 1)``,
    ``G = a²/2 - (α-1) ln cos(a/2σ)``, and the error is relative to the moment.

    Terms left of the points are negative and left out. Right of the last point Y, f e^{-t} <= κ, what
    it is there, and f(-y) >= 1 - q, so that the rest is at most
    ``(1-q)^{1-α} κ^α e^{α(α-1)/2σ²} P(N(α/σ, 1) > Y)``.

    At large orders Minkowski's inequality: the norm of f in L^α is at most
    ``1 - q + q e^{(α-1)/2σ²}``.
Rounding
    Every exponent is enlarged by what it may be off, and every term counts with an error of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.subsampled_gaussian import PoissonPair, PoissonReplace, mixture_loss

_EXACT = 47.0
"""The sum instead of the integral adds at most some e^{-47} of the moment."""

_AWAY = 1e-19
"""2/(e^47 - 1) and more."""

_LEFT = -11.0
_REACH = 10.0
"""How far points go beyond the two peaks of the integrand, at 0 and α/σ."""

_BLOCKS = 15.0, 128.0
"""α/σ up to which orders are summed, at one set of points and at another; then closed forms serve."""

_MOST_POINTS = 4096

_LEAST = -700.0
"""Logarithms below are enlarged to it: smaller numbers have less precision, and take longer."""

_LARGE = math.log(1000)
"""ln(q e^{(α-1)/2σ²}) above which Minkowski's inequality loses little."""

_ROUNDING = 2.0**-49


def log_moments(pair: PoissonPair, orders: Reals) -> Reals:
    """Upper bounds of ln E_Q[(P/Q)^α] at orders α above 1, which increase; 0 or above."""
    both = isinstance(pair, PoissonReplace)
    with np.errstate(over="ignore"):
        found = np.minimum(_all_sampled(pair, orders), _minkowski(pair, orders, both))
    sigma, rate = pair.sigma, pair.rate
    largest = 1 + 2 * sigma * sigma * (_LARGE - math.log(rate))
    for part in blocks(orders, sigma, largest) if rate < 1 else ():
        found[part] = np.minimum(found[part], _summed(sigma, rate, orders[part], both))
    return np.maximum(found, 0.0)


def blocks(orders: Reals, sigma: float, largest: float) -> Iterator[slice]:
    """Orders that are summed at the same points, up to the largest; few points serve small ones.

    Args:
        orders: increasing.
        sigma: standard deviation over the distance of the two centres.
        largest: order from which on closed forms serve.
    """
    few, most = _BLOCKS
    reach = min(largest / sigma, most)
    start = 0
    for end in (reach,) if reach < 2 * few else (few, reach):
        stop = int(np.searchsorted(orders, end * sigma))
        if stop > start:
            yield slice(start, stop)
            start = stop


def _all_sampled(pair: PoissonPair, orders: Reals) -> Reals:
    """α(α-1)/2 times the square of what moves the mean where every record is sampled."""
    shift = pair.signal_to_noise
    return np.asarray(orders * shift * (orders - 1) * shift / 2 * (1 + 1e-14) + 1e-300)


def _minkowski(pair: PoissonPair, orders: Reals, both: bool) -> Reals:
    """α ln(1 - q + q e^{(α-1)/2σ²}), less (α-1) ln(1-q) where the record is replaced."""
    t = (orders - 1) / pair.sigma / (2 * pair.sigma) * (1 + _ROUNDING)
    loss = mixture_loss(t, pair.rate)
    found = orders * (
        loss + _ROUNDING * (np.abs(loss) + np.where(t > 30, t - math.log(pair.rate), 0))
    )
    if both:
        found -= (orders - 1) * math.log1p(-pair.rate) if pair.rate < 1 else -math.inf
    return np.asarray(found * (1 + _ROUNDING), dtype=np.float64)


def _summed(sigma: float, rate: float, orders: Reals, both: bool) -> Reals:
    """ln(1 + the sum), and what it may be off; infinite where it cannot be summed."""
    last, infinite = float(orders[-1]), np.full(len(orders), math.inf)
    step = _step(sigma, last, both)
    left = min(_LEFT, -0.5 / sigma) if both else _LEFT
    count = math.ceil((last / sigma + _REACH - left) / step) + 1
    if not 1 < count <= _MOST_POINTS:
        return infinite
    y = left + step * np.arange(count, dtype=np.float64)
    losses, off = _loss(np.concatenate([y, -y]) if both else y, sigma, rate)
    size = _ROUNDING * np.abs(losses)
    rise = (losses + (off + size))[:count]
    if both:  # a·rise - (a-1)·fall = a(rise - fall) + fall
        fall = (losses - (off + size))[count:]
        rise += size[:count] + size[count:] - fall
    exponents = np.multiply.outer(orders, rise)
    if both:
        exponents += fall
    squares = y * y / 2
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(-squares)
        terms = np.expm1(np.minimum(exponents, 1.0)) * weights
        large = exponents > 1
        exponents -= squares
        far = np.exp(np.maximum(exponents, _LEAST, out=exponents), out=exponents)
        np.copyto(terms, far - weights, where=large)
        slack = _ROUNDING * (4 + 2 * squares) + count * 2.0**-52
        total = (terms.sum(axis=1) + np.abs(terms) @ slack) * step / math.sqrt(2 * math.pi)
        total += _right(y[-1], losses[count - 1] + off[count - 1], sigma, rate, orders, both)
        total = (total + 2 * _AWAY) * (1 + 2 * _AWAY)
        total += 8 * 2.0**-52 * np.abs(total)
        found = np.log1p(np.maximum(total, 0.0)) * (1 + _ROUNDING)
    return np.where(np.isfinite(found), found, infinite)


def _step(sigma: float, last: float, both: bool) -> float:
    """The largest of some distances of points with ``2πa/h = G + 47`` at the largest order."""
    if not both:
        a = min(3.0 * sigma, math.sqrt(2 * _EXACT))
        return 2 * math.pi * a / (a * a / 2 + _EXACT)
    bent = 1 + (last - 1) / (4 * sigma * sigma)
    widest = math.sqrt(2 * _EXACT / bent)
    return max(_step_within(min(a * sigma, widest), sigma, last) for a in (1.5, 2.0, 2.5))


def _step_within(a: float, sigma: float, last: float) -> float:
    growth = a * a / 2 - (last - 1) * math.log(math.cos(a / (2 * sigma)))
    return 2 * math.pi * a / (growth + _EXACT)


def _loss(y: Reals, sigma: float, rate: float) -> tuple[Reals, Reals]:
    """The logarithm of f, and what it may be off."""
    t = y / sigma - 1 / sigma / (2 * sigma)
    loss = mixture_loss(t, rate)
    steep = rate * np.exp(np.minimum(t - loss, 700.0))
    off = steep * (np.abs(y) / sigma + 1 / sigma / sigma) + np.abs(loss)
    off += np.where(t > 30, np.abs(t) - math.log(rate), 0.0)
    if rate > 0.5:
        off += 1 + np.abs(t)
    return loss, _ROUNDING * off


def _right(end: float, loss: float, sigma: float, rate: float, orders: Reals, both: bool) -> Reals:
    """What lies right of the last point; P(N > r) <= e^{-r²/2}/2."""
    beyond = end - orders / sigma
    ratio = loss - (end / sigma - 1 / sigma / (2 * sigma))
    exponent = orders * ratio + orders * (orders - 1) / sigma / (2 * sigma) - beyond * beyond / 2
    if both:
        exponent -= (orders - 1) * math.log1p(-rate)
    slack = 1e-13 * (orders * (abs(loss) + end / sigma + 1 / sigma / sigma) + end * end)
    slack += 1e-13 * orders * orders / sigma / sigma
    return np.asarray(np.exp(exponent + slack), dtype=np.float64)
