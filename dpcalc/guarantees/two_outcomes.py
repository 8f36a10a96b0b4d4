"""The trade-off curve of Rényi divergences: that of the worst mechanism with two outcomes.

Statement
    A test with a share x of false alarms and y of misses makes two outcomes of a release, of which the
    one has probability 1 - y under one neighbour and x under the other. Divergences do not grow by
    that, and a mechanism with two outcomes whose divergences are as small is covered. So the curve of
    a guarantee that bounds divergences by β(α), in both directions, is the least y for which

        d_α(1 - y, x) <= β(α) and d_α(x, 1 - y) <= β(α) at all of its orders,
        d_α(p, q) = ln(p^α q^{1-α} + (1-p)^α (1-q)^{1-α})/(α - 1).

    e^{(α-1)d_α} is convex in p, and in q, and least where they are equal: d_α falls as y grows to
    1 - x. One order and direction at which it is above β at y say that no test misses so little; y is
    covered if it is nowhere above. For ρ-zCDP, (α-1)d_α is convex in α, hence below chords, which are
    compared with ρα(α-1); beyond the last order d_α is at most d_∞, the largest loss.
Source
    Balle, Barthe, Gaboardi, Hsu and Sato 2020, for divergences and tests.
Rounding
    Places are searched in doubles and compared with sixty digits, each logarithm weighted by its
    order, with more room than that may be off by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpcalc.numerics.precise import Real, context, mpf
from dpcalc.numerics.search import minimise

Curve = Callable[[float], float]
"""Order -> upper bound of the divergence."""

Logs = tuple[Real, Real, Real, Real]

_ROOM = "1e-45"
_HALVINGS = 60
_LEAST = 1e-300
_STEPS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
"""How far from the place found one that is certain is looked for, relatively."""

_ROUNDED = 1e-15
"""About what sums of doubles near one are off by."""

_FIRST_EXCESS, _GROWTH = 1e-5, 1.05
"""Of α-1 at which chords meet."""


def least_missed(divergence: Curve, orders: Sequence[float], rate: float) -> float:
    """A lower bound of what a test misses, from the divergences at some orders.

    Args:
        divergence: at most infinite.
        orders: above 1.
        rate: of false alarms, in (0, 1).
    """
    found, order = max((_least_y(order, divergence(order), rate), order) for order in orders)
    for step in _STEPS:
        missed = found * (1 - step)
        if missed <= 0:
            break
        if any(_surely_above(order, divergence(order), logs) for logs in _both(missed, rate)):
            return missed
    return 0.0


def searched_order(divergence: Curve, low: float, high: float, rate: float) -> float:
    """The order at which a curve says about the most of a rate, ln(α-1) between two ends."""

    def negative(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        return -_least_y(order, divergence(order), rate)

    return 1 + math.exp(minimise(negative, low, high)[0])


def covered_from(covers: Callable[[float], bool], missed: float, rate: float) -> float:
    """A y from which on a mechanism with two outcomes is covered; 1 - x if none is found.

    Args:
        covers: whether it surely is at some y.
        missed: about the least y.
        rate: x.
    """
    start, chance = max(missed, _LEAST), 1 - rate
    further = (start * (1 + step) for step in (*_STEPS, 1.0, 9.0, 1e3, 1e9, 1e100, 1e200))
    return next((y for y in further if y < chance and covers(y)), math.nextafter(chance, 2.0))


def covered_at(points: Sequence[tuple[float, float]], missed: float, rate: float) -> bool:
    """Whether two outcomes surely have at most the divergences at some orders."""
    return all(
        _surely_below(order, bound, logs)
        for logs in _both(missed, rate)
        for order, bound in points
        if math.isfinite(bound)
    )


def about_concentrated(rho: float, missed: float, rate: float) -> float:
    """About the least y, as doubles tell, from which on `concentrated` holds; not a bound."""
    excess = _excesses(1e9)
    low, high = math.log(max(missed, _LEAST)), math.log1p(-rate)
    for _ in range(_HALVINGS if low < high else 0):
        middle = (low + high) / 2
        if _chords_below(rho, excess, middle, rate):
            high = middle
        else:
            low = middle
    return math.exp(high)


def _excesses(last: float) -> list[float]:
    """α-1 between which chords are drawn, from 0 to beyond a last one."""
    found = [0.0]
    while found[-1] < last:
        found.append(found[-1] * _GROWTH + _FIRST_EXCESS)
    return found


def _chords_below(rho: float, excess: list[float], log_missed: float, rate: float) -> bool:
    u = np.array(excess)
    caught, alarms, rest = math.log(-math.expm1(log_missed)), math.log(rate), math.log1p(-rate)
    for a, b, c, d in ((caught, alarms, log_missed, rest), (alarms, caught, rest, log_missed)):
        heights = np.logaddexp((1 + u) * a - u * b, (1 + u) * c - u * d)
        slopes = np.diff(heights) / np.diff(u)
        lowest = np.clip((slopes - rho) / (2 * rho), u[:-1], u[1:])
        above = heights[:-1] + slopes * (lowest - u[:-1]) - rho * lowest * (lowest + 1)
        if np.any(above > _ROUNDED * (1 + lowest)):
            return False
    return True


def concentrated(rho: float, missed: float, rate: float) -> bool:
    """Whether two outcomes surely are ρ-zCDP."""
    return all(_concentrated(mpf(rho), logs) for logs in _both(missed, rate))


def _concentrated(rho: Real, logs: Logs) -> bool:
    p, q, no_p, no_q = logs
    last = max(p - q, no_p - no_q) / rho * (1 + mpf("1e-30"))
    u, height = mpf(0), mpf(0)
    while u + 1 < last:
        further = u * _GROWTH + _FIRST_EXCESS
        value, room = _weighted(1 + further, logs)
        slope = (value + room - height) / (further - u)
        lowest = min(max((slope - rho) / (2 * rho), u), further)
        if height + slope * (lowest - u) > rho * lowest * (lowest + 1) * (1 - mpf(_ROOM)):
            return False
        u, height = further, value + room
    return True


def _both(missed: float, rate: float) -> tuple[Logs, Logs]:
    """Ln p, ln q, ln(1-p) and ln(1-q) in either direction."""
    ctx, y, x = context(), mpf(missed), mpf(rate)
    caught, alarms, lost, rest = ctx.log1p(-y), ctx.log(x), ctx.log(y), ctx.log1p(-x)
    return (caught, alarms, lost, rest), (alarms, caught, rest, lost)


def _weighted(order: Real, logs: Logs) -> tuple[Real, Real]:
    """(α-1)d_α, and more than it may be off by."""
    ctx, a = context(), mpf(order)
    p, q, no_p, no_q = logs
    low, top = sorted((a * p + (1 - a) * q, a * no_p + (1 - a) * no_q))
    room = (1 + a * sum(abs(value) for value in logs)) * mpf(_ROOM)
    return top + ctx.log1p(ctx.exp(low - top)), room


def _surely_above(order: float, bound: float, logs: Logs) -> bool:
    value, room = _weighted(order, logs)
    return bool(value - room > (mpf(order) - 1) * mpf(bound))


def _surely_below(order: float, bound: float, logs: Logs) -> bool:
    value, room = _weighted(order, logs)
    return bool(value + room < (mpf(order) - 1) * mpf(bound))


def _least_y(order: float, bound: float, rate: float) -> float:
    """About the least y that an order allows, 0 where doubles do not tell."""
    if not math.isfinite(bound):
        return 0.0
    most = min((order - 1) * bound, 1e300)
    low, high = math.log(_LEAST), math.log1p(-rate)
    if not _above(order, low, rate, most):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _above(order, middle, rate, most) else (low, middle)
    return math.exp(low)


def _above(order: float, log_missed: float, rate: float, most: float) -> bool:
    """Whether one of the directions is above, in doubles."""
    caught, alarms = math.log(-math.expm1(log_missed)), math.log(rate)
    rest = math.log1p(-rate)
    return any(
        _log_sum(order * a + (1 - order) * b, order * c + (1 - order) * d) > most
        for a, b, c, d in ((caught, alarms, log_missed, rest), (alarms, caught, rest, log_missed))
    )


def _log_sum(a: float, b: float) -> float:
    top = max(a, b)
    return top + math.log1p(math.exp(min(a, b) - top)) if math.isfinite(top) else math.inf
