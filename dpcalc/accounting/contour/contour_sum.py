"""Two-sided inversion of a sum of independent privacy losses.

Let S be the sum, under P, of the losses of all rounds and M its moment function. For every c > 0

    δ(ε) = E_P[(1 - e^{ε-S})₊] = (1/2πi) ∫ M(z) e^{-zε} / (z(z+1)) dz     along Re z = c.

*Smoothing.* Composing with one more Gaussian mechanism of tiny μ = s multiplies M by
``e^{s²(z²+z)/2}``, which cuts the integrand off at |y| of a few 1/s, and changes δ to δ_s >= δ. It
also bounds δ from below:

    2 δ_s(ε) - [e^s δ_s(ε-2s) + e^{-s} δ_s(ε+2s)] / (e^s + e^{-s})  <=  δ(ε)  <=  δ_s(ε)   (s <= 0.3)

because, conditionally on S, the excess δ_s - δ is a bump no higher than the chord's excess over
δ_s. Both sides are of second order in s.

*Discretisation.* The trapezoidal rule with step h is exact up to aliases: by Poisson's summation
formula it returns ``Σ_k e^{ckR} δ_s(ε + kR)`` with R = 2π/h, whose terms other than k = 0 are
positive, at most ``e^{-c|k|R}`` for k < 0, and bounded by Chernoff's inequality for k > 0. An upper
bound may keep them; a lower bound subtracts them.

*Truncation.* Nodes beyond the last one evaluated are bounded by the laws' own
`log_modulus_bound` and the smoothing factor.

*Rounding.* Every node carries a bound on the error of its exponent.

The full argument stands in docs/soundness.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.contour.nodes import NEGLIGIBLE, Nodes
from dpcalc.accounting.contour.omitted_nodes import NEGLIGIBLE_SUM, OmittedNodes
from dpcalc.accounting.contour.saddle_points import Contour, Rounds, infinite_mass, summed_cumulants
from dpcalc.accounting.contour.shared import tilted
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Complexes, Reals
from dpcalc.accounting.losses.distribution import TiltedDistribution

LARGEST_SMOOTHING = 0.3
"""The lower bound's chord inequality is proved up to this s."""

CUTOFF = 6.6
"""Nodes beyond y = CUTOFF/s are left to the smoothing factor, e^{-21.8} there."""

_SURELY = 1 - 2e-14
"""`infinite_mass` is at most this much above the truth, roundings included."""

_FLAT = 30.0
_AS_MANY = 3
_SHARE = 1e-4
"""Of what nodes left out may add up to: a node that is no larger may be the last."""

_SMALLEST = 1e-323
"""More than what the rounding of a subnormal number loses."""


@dataclass(frozen=True, slots=True)
class ContourSum:
    """The integrand on a vertical line, ready to be summed at any ε.

    Attributes:
        c: real part.
        step: h, distance of the nodes.
        nodes: y of the evaluated nodes, from 0, shape (n,).
        values: ``M(z) e^{s²(z²+z)/2} / (z(z+1))`` at the nodes over its value at y = 0.
        log_scale: the logarithm of that value.
        smoothing: s.
        rounding: bound on Σ of the nodes' errors, relative to the value at y = 0.
        truncated: bound on Σ of the nodes left out, relative to the value at y = 0.
        infinite: P(S = ∞).
        largest: the largest finite value of S.
        orders: orders above c at which Chernoff's inequality is evaluated.
        exponents: ln of the smoothed moment function at the orders.
        evaluated: how many nodes were evaluated.
    """

    c: float
    step: float
    nodes: Reals
    values: Complexes
    log_scale: float
    smoothing: float
    rounding: float
    truncated: float
    infinite: float
    largest: float
    orders: Reals
    exponents: Reals
    evaluated: int = 0

    def upper(self, epsilon: float) -> float:
        """An upper bound of δ(ε)."""
        total, allowance = self._sum(epsilon, self.values)
        return self.infinite + self._scaled(epsilon, total + allowance)

    def error_share(self, epsilon: float) -> float:
        """What is allowed for rounding and nodes left out, as a share of the upper bound of δ(ε)."""
        total, allowance = self._sum(epsilon, self.values)
        return min(max(allowance / max(total + allowance, _SMALLEST), 0.0), 1.0)

    def lower(self, epsilon: float) -> float:
        """A lower bound of δ(ε), possibly zero."""
        width = 2 * self.smoothing
        log_alias = self._log_alias(epsilon - width)
        # Either twice the smoothed δ is less than its mean, or the aliases alone exceed one.
        if width * (self.c + 0.5) > _FLAT or log_alias > 0:
            return max(0.0, self.infinite * _SURELY)
        z = self.c + 1j * self.nodes
        chord = np.cosh(width * (z + 0.5)) / math.cosh(width / 2)
        total, allowance = self._sum(epsilon, self.values * (2 - chord))
        heaviest = 2 + math.cosh(width * (self.c + 0.5))
        value = self._scaled(epsilon, total - heaviest * allowance, up=False)
        alias = heaviest * math.exp(log_alias)
        return max(0.0, self.infinite * _SURELY + value - alias)

    def _log_alias(self, epsilon: float) -> float:
        """The logarithm of a bound on the aliases that the nodes' sum adds to δ_s(ε)."""
        period = 2 * math.pi / self.step
        left = -self.c * period - math.log1p(-math.exp(-self.c * period))
        gap = (self.orders - self.c) * period
        right = float(
            np.min(self.exponents - self.orders * epsilon - gap - np.log1p(-np.exp(-gap)))
        )
        return max(left, right) + math.log(2)

    def _sum(self, epsilon: float, values: Complexes) -> tuple[float, float]:
        phase = self.nodes * epsilon
        terms = values.real * np.cos(phase) + values.imag * np.sin(phase)
        size = float(np.abs(values).sum())
        turn = float((np.abs(values) * phase).sum())
        rounding = self.rounding + 8 * UNIT_ROUNDOFF * (
            size * (1 + math.log2(len(terms) + 1)) + turn
        )
        return float(terms[0] + 2 * terms[1:].sum()), 2 * (rounding + self.truncated)

    def _scaled(self, epsilon: float, total: float, *, up: bool = True) -> float:
        """The sum times its scale, rounded up or down, subnormal numbers included."""
        if total <= 0:
            return 0.0
        exponent = self.log_scale - self.c * epsilon + math.log(self.step / (2 * math.pi))
        slack = 8 * UNIT_ROUNDOFF * (abs(self.log_scale) + self.c * epsilon + 8)
        value = math.exp(min(exponent + math.log(total), 700.0))
        if up:
            return value * (1 + slack) + _SMALLEST
        return max(value * (1 - slack) - _SMALLEST, 0.0)


def contour_sum(
    rounds: Rounds,
    contour: Contour,
    *,
    smoothing: float,
    most_nodes: int,
    likely: int = 0,
    negligible: float = NEGLIGIBLE_SUM,
) -> ContourSum:
    """Evaluate the integrand on a contour until its nodes are negligible or too many.

    Args:
        rounds: the laws and how often each is used.
        contour: where to integrate.
        smoothing: s, at most `LARGEST_SMOOTHING`.
        most_nodes: nodes to evaluate at most; those left out are bounded, not ignored.
        likely: how many a sum like this one needed, if known.
        negligible: what nodes left out may add up to, relative to the first, before more are sought.
    """
    c, step = contour.c, 2 * math.pi / contour.period
    laws = [(tilted(law, c), count) for law, count in rounds]
    evaluated = Nodes(laws, c, step, smoothing**2 / 2, likely)
    smoothing, truncated = _evaluate(evaluated, laws, (c, step, smoothing), most_nodes, negligible)
    gain = evaluated.gain
    y, values, dropped = evaluated.significant()
    orders = np.array([contour.order, math.sqrt(c * contour.order), 1.5 * contour.order])
    exponents = summed_cumulants(rounds, orders)[0]
    value = sum(count * law.log_moment for law, count in laws)
    return ContourSum(
        c=c,
        step=step,
        nodes=y,
        values=values,
        log_scale=value + gain * c * (c + 1) - math.log(c * (c + 1)),
        smoothing=smoothing,
        rounding=evaluated.rounding,
        truncated=truncated + dropped,
        infinite=infinite_mass(rounds),
        largest=sum(count * law.supremum for law, count in rounds) * (1 + 1e-12),
        orders=orders,
        evaluated=evaluated.count,
        exponents=exponents + gain * orders * (orders + 1),
    )


def _evaluate(
    evaluated: Nodes,
    laws: Sequence[tuple[TiltedDistribution, int]],
    line: tuple[float, float, float],
    most_nodes: int,
    negligible: float,
) -> tuple[float, float]:
    """Evaluate nodes until those left out are negligible, or there are too many.

    Args:
        evaluated: the nodes, which it extends.
        laws: tilted, and how often each is used.
        line: c, the step, and s.
        most_nodes: nodes to evaluate at most.
        negligible: what nodes left out may add up to, relative to the first.

    Returns:
        The smoothing, more than s where nodes are too few for that, and a bound of what is left out.
    """
    c, step, smoothing = line
    last = math.ceil(CUTOFF / smoothing / step)

    def omitted(last: int) -> float:
        left = OmittedNodes(laws, c, step, evaluated.gain, evaluated.count, negligible)
        return left.bound(last)

    truncated = math.inf
    first = NEGLIGIBLE if negligible <= NEGLIGIBLE_SUM else _SHARE * negligible
    for least in dict.fromkeys((first, NEGLIGIBLE)):
        evaluated.extend_until_negligible(min(last, most_nodes - 1), least)
        if least > NEGLIGIBLE and last < _AS_MANY * evaluated.count:
            evaluated.extend(min(last, most_nodes - 1))  # for less than bounds of them would cost
        truncated = omitted(last)
        if truncated <= negligible or evaluated.count > min(last, most_nodes - 1):
            break
    if truncated > negligible and evaluated.count <= last:
        # Nodes may come back, as on a lattice of losses: go on regardless of their size.
        evaluated.extend(min(last, most_nodes - 1))
        truncated = omitted(last)
    if truncated > negligible and evaluated.count <= last:
        # Too few nodes for so little smoothing: smooth as much as the nodes at hand demand.
        smoothing = min(CUTOFF / (evaluated.count * step), LARGEST_SMOOTHING)
        evaluated.smooth(smoothing**2 / 2)
        truncated = omitted(evaluated.count - 1)
    return smoothing, truncated
