"""Moments of the losses of Gaussian noise on a batch without replacement, at many orders at once.

Statement
    Upper bounds of ``ln M``, M the moment ``E_Q[(P/Q)^α]`` of the pair `WithoutReplacement`, for a
    hundred orders in a fraction of a millisecond. Let ``f(x) = 1 - γ + γ e^{μx}``, x the distance
    from where the loss is zero, φ the normal density, s = α - 1. The positive losses ln f have the
    densities φ(μ/2 + x) f and φ(μ/2 + x) for x > 0, their mirror image the same exchanged, and what
    is left over lies at loss zero: M less 1 is

        ∫ φ(μ/2 + x) (f^s - 1)(f - f^{-s}) dx over x > 0.

Source
    The pair: Balle, Barthe and Gaboardi 2018, theorem 11. Each of k equal intervals [c - w, c + w]
    is summed by Gauss's rule of n points, which has positive weights of sum 2w and is exact for
    polynomials of degree 2n-1. A function analytic and at most B in the ellipse with half axes
    ``A, b = w(r ± 1/r)/2``, r > 1, is within ``2B r^{1-2n}/(r-1)`` of such a polynomial (Trefethen
    2019, theorem 8.2), so that the sum is off by at most ``8wB r^{1-2n}/(r-1)``.

    f has no zero where |Im x| < π/μ. There |f(x + iy)| <= f(x), and |φ(x + iy)| = φ(x) e^{y²/2}.
    φ f^α, where it is largest, has a logarithm that is above the parabola of φ's through the same
    tangent, since ln f is convex; so ``√(2π) φ f^α <= E_{N(0,1)}[f^α]`` everywhere, which is at most M,
    since the pair dominates the one without mirror image. With v = γ e^{μx},
    ``|f(x+iy)|² = (1-γ)² + 2(1-γ)v cos μy + v²`` falls as y grows, and is a parabola in v: where the
    least of it in the ellipse is e^{-2L}, ``f^α - f - 1 + f^{-s}`` times φ is there at most
    ``B = e^{b²/2} (M + 2 + e^{sL⁺})/√(2π)``, and φ may be counted with e^{sL}.

    Right of the last interval, at X, f e^{-μx} <= κ, what it is there, so that the rest is at most
    ``κ^α e^{α(α-1)μ²/2} P(N > X + μ/2 - αμ)``.

    At all orders M exceeds ``E[f^α]``, which is at most ``(1 - γ + γ e^{sμ²/2})^α`` by Minkowski's
    inequality, by no more than what f^α lacks of 1 where f < 1, hence by min(1, αγ).
Rounding
    Points are right to 1e-15 of an interval, weights to 2e-12 of themselves, exponents to 1e-14 of
    ``αμx + y²``; together they are counted five times and more. All terms are positive: the
    integrand is ``f^s d (d + f - 1)``, d = 1 - f^{-s}.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.sampled_moments import blocks
from dpcalc.accounting.losses.subsampled_gaussian import WithoutReplacement, mixture_loss

_POINTS, _RATIO = 64, 1.55
"""n and r."""

_HIGHEST, _TURN = 3.3, 2.2
"""Ellipses reach up to this, and to this over μ: φ grows by a factor of e^5, and f has no zero."""

_REACH = 9.5
"""How far intervals go beyond the integrand's last peak, at αμ."""

_LEAST = -700.0
"""Logarithms below are enlarged to it: smaller numbers have less precision, and take longer."""

_LARGEST_MU = 15.0
"""Above it closed forms alone serve."""

_LARGE = math.log(1000)
"""ln(γ e^{sμ²/2}) above which Minkowski's inequality loses little."""

_ROOM, _EXPONENTS = 1e-11, 1e-13

_ALONG, _BESIDE = (_RATIO + 1 / _RATIO) / 2, (_RATIO - 1 / _RATIO) / 2
"""Half axes of the ellipses over half the intervals."""


def batch_moments(pair: WithoutReplacement, orders: Reals) -> Reals:
    """Upper bounds of ln M at orders above 1, which increase.

    Args:
        pair: with a rate below 1.
        orders: shape (n,).
    """
    mu, rate = pair.mu, pair.rate
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = np.minimum(_all_sampled(mu, orders), _closed(mu, rate, orders))
        if mu > _LARGEST_MU or not rate < 1:
            return found
        last = 1 + (_LARGE - math.log(rate)) * 2 / mu / mu
        for part in blocks(orders, 1 / mu, last):
            found[part] = np.minimum(found[part], _summed(mu, rate, orders[part]))
    return found


def _all_sampled(mu: float, orders: Reals) -> Reals:
    return np.asarray(orders * mu * (orders - 1) * mu / 2 * (1 + _ROOM) + 1e-300)


def _closed(mu: float, rate: float, orders: Reals) -> Reals:
    """Minkowski's inequality, and what the mirror image adds."""
    t = (orders - 1) * mu * mu / 2
    loss = orders * mixture_loss(t, rate)
    # what cancels in the loss where t is large
    loss += _EXPONENTS * (loss + orders * np.where(t > 30, t - math.log(rate), 0.0))
    added = np.minimum(1.0, orders * rate) * np.exp(-loss)
    return np.asarray((loss + np.log1p(added)) * (1 + _ROOM))


def _summed(mu: float, rate: float, orders: Reals) -> Reals:
    """ln(1 + the sum), and what it may be off."""
    end = max(float(orders[-1]) * mu - mu / 2, 0.0) + _REACH
    count = math.ceil(end / 2 / (min(_HIGHEST, _TURN / mu) / _BESIDE))
    half = end / 2 / count
    places, weights = _rule(count)
    x = half * places
    rise = rate * np.expm1(mu * x)
    falls = np.multiply.outer(1 - orders, np.log1p(rise))
    terms = np.exp(np.maximum(-((x + mu / 2) ** 2) / 2 - falls, _LEAST))
    np.expm1(falls, out=falls)  # -d
    terms *= falls
    falls -= rise
    terms *= falls
    size = orders * mu * end + (end + mu) ** 2
    total = (terms @ weights) * (half / math.sqrt(2 * math.pi)) * (1 + _ROOM + _EXPONENTS * size)
    total += _right(mu, rate, end, orders)
    each, linked = _off(mu, rate, half, count, float(orders[-1]) - 1)
    found = np.log1p((total + count * each * linked) / (1 - 2 * count * each)) * (1 + _ROOM)
    return np.where(np.isfinite(found), found, math.inf)


def _off(mu: float, rate: float, half: float, count: int, s: float) -> tuple[float, float]:
    """What an interval's sum is off for B = 1/√(2π); 3 + e^{sL}, the largest, φ counted with it."""
    along, beside = half * _ALONG, half * _BESIDE
    each = 8 * half * _RATIO ** (1 - 2 * _POINTS) / (_RATIO - 1) * math.exp(beside * beside / 2)
    each *= (1 + _ROOM) / math.sqrt(2 * math.pi)
    left = half * (2 * np.arange(count) + 1) - along
    stay, turn = 1 - rate, math.cos(mu * beside)
    v = rate * np.exp(mu * left)
    v = np.minimum(np.maximum(v, -stay * turn), v * math.exp(2 * mu * along))
    least = np.log(stay * stay + 2 * stay * v * turn + v * v) / 2
    exponents = s * (_ROOM - least) - np.maximum(left + mu / 2, 0.0) ** 2 / 2
    return each, 3 + float(np.exp(np.maximum(exponents.max(), 0.0)))


def _right(mu: float, rate: float, end: float, orders: Reals) -> Reals:
    """What lies right of the last interval; P(N > r) <= e^{-r²/2}/2."""
    ratio = float(mixture_loss(np.asarray(mu * end), rate)) - mu * end
    beyond = end + mu / 2 - orders * mu
    size = orders * mu * (orders - 1) * mu / 2
    slack = _EXPONENTS * (orders * mu * end + size + beyond * beyond)
    return np.asarray(np.exp(orders * ratio + size - beyond * beyond / 2 + slack) * 0.51)


@lru_cache(maxsize=256)
def _rule(count: int) -> tuple[Reals, Reals]:
    """Points and weights of Gauss's rule on as many intervals of length 2, from 0 on."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    places = 2 * np.arange(count)[:, None] + (1 + nodes)
    return places.ravel(), np.tile(weights, count)
