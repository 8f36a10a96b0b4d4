"""Where to integrate a moment function: the cheapest vertical line that serves an ε or a δ.

The saddle point of the integrand estimates ε and δ; the line is moved away from it where that makes
the trapezoidal rule's period shorter. All of it is a choice: any line gives valid bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.contour.shared import cumulants, is_shared, on_grid
from dpcalc.accounting.losses import LossDistribution, Reals
from dpcalc.errors import NumericalFailure

Rounds = Sequence[tuple[LossDistribution, int]]
"""Laws with the number of rounds each is used."""

_ORDERS = 100
_REACH = 1e-3, 1e5
"""Orders of the grid, and its ends in units of 1/(standard deviation)."""

_GROWTH = 8.0
"""The logarithm of how much larger than the answer the integrand may be."""

_ROOM = 1.0
"""Over the least of such a logarithm: how much more is allowed in any case."""

ALIAS = 1e-9
"""Aliases are kept below this share of δ."""


@dataclass(frozen=True, slots=True)
class Contour:
    """Where to integrate.

    Attributes:
        c: real part of the line.
        period: R; the nodes are 2π/R apart.
        order: the order above c at which Chernoff's inequality best bounds the aliases.
        epsilon: where the contour serves, and a little to the left of it.
        log_delta: about ln δ(ε) there.
        slope: about |d ln δ/dε| there, the order of the saddle point. The line may stand away from it;
            how much an error of the losses moves δ is a matter of the saddle point.
    """

    c: float
    period: float
    order: float
    epsilon: float
    log_delta: float
    slope: float


def summed_cumulants(rounds: Rounds, orders: Reals) -> Reals:
    """Cumulants: ln M of the sum and its derivatives at each order."""
    total = np.zeros((3, len(orders)))
    for law, count in rounds:
        total += count * cumulants(law, orders)
    return total


class SaddlePoints:
    """Saddle points over a geometric grid of c, to choose contours by; any contour is valid.

    Attributes:
        orders: the grid, increasing.
        values: Σ ln M at the grid.
        epsilons: the ε whose integrand ``M(z)e^{-zε}/(z(z+1))`` has its saddle point at c.
        log_deltas: ln δ(ε) by the saddle-point formula.

    Args:
        rounds: the laws and how often each is used.
        about: laws that are about the same, and take less time to ask.
    """

    def __init__(self, rounds: Rounds, about: Rounds | None = None) -> None:
        probe = np.array([1e-6])
        # A nearly constant S has no spread to go by; a hundredth of its mean serves.
        with np.errstate(over="ignore", invalid="ignore"):
            _, mean, variance = summed_cumulants(rounds, probe)[:, 0]
            unit = 1.0 / math.sqrt(max(variance + (mean / 100) ** 2, 1e-280))
        c = orders_around(unit)
        self._infinite = infinite_mass(rounds)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, means, variances = summed_cumulants(about or rounds, c)
            self.orders, self.values = c, value
            self.epsilons = means - 1 / c - 1 / (c + 1)
            curvature = np.maximum(variances + 1 / c**2 + 1 / (c + 1) ** 2, 1e-300)
            log_deltas = value - c * self.epsilons - np.log(c * (c + 1))
            self.log_deltas = log_deltas - 0.5 * np.log(2 * np.pi * curvature)

    def contour_for_delta(self, delta: float) -> Contour:
        """A contour that serves the ε at which δ(ε) = ``delta``, as the saddle point estimates it."""
        log_delta = math.log(max(delta - self._infinite, 1e-3 * delta))
        epsilon = self._where(-self.log_deltas, -log_delta, self.epsilons)
        return self.fewest_nodes(max(epsilon, 0.0), log_delta)

    def contour_for_epsilon(
        self,
        epsilon: float,
        log_delta: float | None = None,
        growth: float = _GROWTH,
        lost: float = math.inf,
    ) -> Contour:
        """A contour that serves ``epsilon``, where ln δ(ε) is known or else estimated."""
        if log_delta is None:
            log_delta = min(self._where(self.epsilons, epsilon, self.log_deltas), 0.0)
        return self.fewest_nodes(epsilon, log_delta, growth, lost)

    def log_chernoff(self, epsilon: float) -> float:
        """About Chernoff's bound of ln δ(ε): the least over the grid, not rounded."""
        bounds = self.values - self.orders * epsilon
        return float(bounds[np.isfinite(bounds)].min(initial=math.inf))

    def log_integrand(self, contour: Contour) -> float:
        """About the logarithm of the integrand at y = 0 on a contour through the grid."""
        c = contour.c
        value = float(np.interp(c, self.orders, self.values))
        return value - c * contour.epsilon - math.log(c * (c + 1))

    def _where(self, rising: Reals, level: float, value: Reals) -> float:
        """``value`` where ``rising`` first exceeds a level, interpolated; the last one if never."""
        usable = np.flatnonzero(np.isfinite(self.log_deltas) & np.isfinite(self.epsilons))
        if len(usable) == 0:
            raise NumericalFailure(
                "no order was found at which the losses' moments can be computed; try a larger delta"
            )
        rising, value = rising[usable], value[usable]
        above = np.flatnonzero(rising > level)
        k = int(above[0]) if len(above) else len(usable) - 1
        if k == 0 or len(above) == 0:
            return float(value[k])
        share = (level - rising[k - 1]) / (rising[k] - rising[k - 1])
        return float(value[k - 1] + share * (value[k] - value[k - 1]))

    def fewest_nodes(
        self, epsilon: float, log_delta: float, most: float = _GROWTH, lost: float = math.inf
    ) -> Contour:
        """The contour with the shortest period, which the fewest nodes cover.

        Next to the saddle point aliases from the right may decay slowly; away from it the integrand
        outgrows the answer, which costs digits: at most e to the power of ``most`` is allowed.

        Args:
            epsilon: where it serves.
            log_delta: about ln δ there.
            most: the logarithm of how much larger than the answer the integrand may be.
            lost: the same of the integrand times c, about what its nodes add up to by size.
        """
        need = -log_delta - math.log(ALIAS)
        with np.errstate(invalid="ignore"):
            lead = self.values - self.orders * epsilon
            growth = lead - np.log(self.orders * (self.orders + 1)) - log_delta
        if not np.isfinite(growth).any():
            raise NumericalFailure(
                f"no order at which the losses' moments can be computed was found at "
                f"epsilon={epsilon!r}; try a larger delta or fewer rounds"
            )
        allowed = max(most, float(np.nanmin(growth)) + 2.0)
        usable = growth <= allowed
        if lost < math.inf:
            peak = growth + np.log(self.orders)
            usable &= peak <= max(lost, float(np.nanmin(peak[usable])) + _ROOM)
        candidates = np.flatnonzero(usable[:-1])
        slope = self._where(self.epsilons, epsilon, self.orders)
        best: Contour | None = None
        for j in candidates[:: max(1, len(candidates) // 40)]:
            c, above = float(self.orders[j]), self.orders[j + 1 :]
            # The margin 2/c lets the contour serve somewhat smaller ε than asked for.
            right = (lead[j + 1 :] + above * (2 / c) + need) / (above - c)
            if not np.isfinite(right).any():
                continue
            winner = int(np.nanargmin(right))
            period = on_grid(max(need / c, float(right[winner])), up=True)
            if best is None or period < best.period:
                best = Contour(c, period, float(above[winner]), epsilon, log_delta, slope)
        if best is None and lost < math.inf:
            return self.fewest_nodes(epsilon, log_delta, most)
        if best is None:
            raise NumericalFailure(
                f"no contour was found for epsilon={epsilon!r}; try a larger delta or fewer rounds"
            )
        return best


def orders_around(unit: float) -> Reals:
    """The grid; while questions share what they can, that of all units, powers of its ratio."""
    if not is_shared():
        return np.asarray(unit * np.geomspace(*_REACH, _ORDERS))
    ratio = (_REACH[1] / _REACH[0]) ** (1 / (_ORDERS - 1))
    first = round(math.log(_REACH[0] * unit) / math.log(ratio))
    return np.array([ratio**k for k in range(first, first + _ORDERS)])


def infinite_mass(rounds: Rounds) -> float:
    """P(S = ∞) = 1 - Π(1 - p)^n, rounded up."""
    if any(law.infinite_mass >= 1 for law, _ in rounds):
        return 1.0
    exponent = math.fsum(count * math.log1p(-law.infinite_mass) for law, count in rounds)
    return min(1.0, -math.expm1(exponent) * (1 + 1e-14))
