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

from dpcalc.accounting.contour.saddle_points import Contour, Rounds, infinite_mass, summed_cumulants
from dpcalc.accounting.losses import ELEMENTARY_ERROR, UNIT_ROUNDOFF, Complexes, Reals, Tilted
from dpcalc.accounting.losses.fourier import FEW_USES

LARGEST_SMOOTHING = 0.3
"""The lower bound's chord inequality is proved up to this s."""

_CUTOFF = 6.6
"""Nodes beyond y = _CUTOFF/s are left to the smoothing factor, e^{-21.8} there."""

_TRUNCATED = 1e-8
_TRUNCATED_LOG = -36.0
"""Bounds of the truncated nodes' logarithms below this need not be sharper."""

_TRUNCATED_NODES = 1e-11
"""A bound of the truncated nodes below this need not be sharper."""

_NEGLIGIBLE = 1e-17
_FIRST_BLOCK, _FIRST_TRANSFORM = 32, 256
_LARGE_BLOCK = 2**13
_BLOCKWISE_WORK = 10_000_000
"""Nodes times atoms, taken one by one, after which blocks are large."""

_NODES_BOUNDED = 2**18
"""Up to so many nodes are bounded one by one."""

_STRETCH = 8
"""Nodes that are bounded together: up to so many times the first."""

_FEW_LAWS = 8
"""So few laws are bounded on intervals first."""

_FLAT = 30.0
_SMALLEST = 1e-323
"""More than what the rounding of a subnormal number loses."""


@dataclass(frozen=True, slots=True)
class Line:
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

    def upper(self, epsilon: float) -> float:
        """An upper bound of δ(ε)."""
        total, allowance = self._sum(epsilon, self.values)
        return self.infinite + self._scaled(epsilon, total + allowance)

    def lower(self, epsilon: float) -> float:
        """A lower bound of δ(ε), possibly zero."""
        width = 2 * self.smoothing
        log_alias = self._log_alias(epsilon - width)
        # Either twice the smoothed δ is less than its mean, or the aliases alone exceed one.
        if width * (self.c + 0.5) > _FLAT or log_alias > 0:
            return max(0.0, self.infinite * (1 - 1e-14))
        z = self.c + 1j * self.nodes
        chord = np.cosh(width * (z + 0.5)) / math.cosh(width / 2)
        total, allowance = self._sum(epsilon, self.values * (2 - chord))
        heaviest = 2 + math.cosh(width * (self.c + 0.5))
        value = self._scaled(epsilon, total - heaviest * allowance, up=False)
        alias = heaviest * math.exp(log_alias)
        return max(0.0, self.infinite * (1 - 1e-14) + value - alias)

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


def integrate(rounds: Rounds, contour: Contour, *, smoothing: float, most_nodes: int) -> Line:
    """Evaluate the integrand on a contour until its nodes are negligible or too many.

    Args:
        rounds: the laws and how often each is used.
        contour: where to integrate.
        smoothing: s, at most `LARGEST_SMOOTHING`.
        most_nodes: nodes to evaluate at most; those left out are bounded, not ignored.
    """
    c, step = contour.c, 2 * math.pi / contour.period
    tilted = [(law.tilted(c), count) for law, count in rounds]
    gain = smoothing**2 / 2
    last = math.ceil(_CUTOFF / smoothing / step)
    evaluated = _Nodes(tilted, c, step, gain)
    evaluated.extend_until_negligible(min(last, most_nodes - 1))
    truncated = evaluated.truncated(last)
    if truncated > _TRUNCATED and evaluated.count <= last:
        # Nodes may come back, as on a lattice of losses: go on regardless of their size.
        evaluated.extend(min(last, most_nodes - 1))
        truncated = evaluated.truncated(last)
    if truncated > _TRUNCATED and evaluated.count <= last:
        # Too few nodes for so little smoothing: smooth as much as the nodes at hand demand.
        smoothing = min(_CUTOFF / (evaluated.count * step), LARGEST_SMOOTHING)
        evaluated.smooth(smoothing**2 / 2)
        gain = evaluated.gain
        truncated = evaluated.truncated(evaluated.count - 1)
    y, values, dropped = evaluated.significant()
    orders = np.array([contour.order, math.sqrt(c * contour.order), 1.5 * contour.order])
    exponents = summed_cumulants(rounds, orders)[0]
    value = sum(count * law.log_moment for law, count in tilted)
    return Line(
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
        exponents=exponents + gain * orders * (orders + 1),
    )


class _Nodes:
    """The integrand at y = 0, h, 2h, ..., over its value at y = 0, as far as evaluated.

    Attributes:
        y: evaluated nodes.
        values: the integrand there.
        rounding: bound on the sum of the errors of ``values``.
        gain: s²/2.
    """

    def __init__(self, tilted: Sequence[tuple[Tilted, int]], c: float, step: float, gain: float):
        self._tilted, self._c, self._step, self.gain = tilted, c, step, gain
        self._base = sum(n * law.rounding for law, n in tilted) + 6 * ELEMENTARY_ERROR
        self._blocks: list[Complexes] = []
        self.count, self.rounding = 0, 0.0

    @property
    def y(self) -> Reals:
        return np.asarray(self._step * np.arange(self.count), dtype=np.float64)

    @property
    def values(self) -> Complexes:
        return np.concatenate(self._blocks)

    def extend_until_negligible(self, last: int) -> None:
        """Evaluate block by block, to node ``last`` at most, until the nodes are negligible."""
        few = all(count <= FEW_USES for _, count in self._tilted)
        size = _FIRST_TRANSFORM if few else _FIRST_BLOCK
        atoms = sum(law.size for law, count in self._tilted if count > FEW_USES)
        while self.count <= last:
            if self.count * atoms > _BLOCKWISE_WORK:  # from here on by Fourier transforms
                size = max(size, _LARGE_BLOCK)
            stop = min(self.count + size, last + 1)
            modulus = np.abs(self._evaluate(self.count, stop))
            size = 2 * size if stop > 2 * _FIRST_BLOCK else size
            if modulus[-(len(modulus) // 4 + 1) :].max() < _NEGLIGIBLE:
                break

    def extend(self, last: int) -> None:
        """Evaluate all nodes up to ``last``."""
        if self.count <= last:
            self._evaluate(self.count, last + 1)

    def _evaluate(self, start: int, stop: int) -> Complexes:
        y, c = self._step * np.arange(start, stop), self._c
        z = c + 1j * y
        smoothing = self.gain * (1j * (2 * c + 1) * y - y * y)
        poles = np.log(z / c) + np.log((z + 1) / (c + 1))
        exponent = smoothing - poles
        amplified = self._base + ELEMENTARY_ERROR * (np.abs(smoothing) + np.abs(poles))
        unit = UNIT_ROUNDOFF * (4 + len(self._tilted))
        for law, count in self._tilted:
            log_ratio, relative = law.log_ratio(self._step, start, stop, count)
            exponent += count * log_ratio
            amplified += count * (np.log1p(relative) + unit * np.abs(log_ratio))
        block = np.exp(exponent)
        # |φ^n(1+r)^n - φ^n| <= |φ|^n((1+|r|)^n - 1), in logarithms: r may be huge where φ vanishes.
        self.rounding += float(
            np.exp(exponent.real + amplified + np.log(-np.expm1(-amplified))).sum()
        )
        self._blocks.append(block)
        self.count = stop
        return block

    def smooth(self, gain: float) -> None:
        """Raise the smoothing to ``gain``."""
        extra = gain - self.gain
        y = self.y
        self._blocks = [self.values * np.exp(extra * (1j * (2 * self._c + 1) * y - y * y))]
        self.gain = gain

    def significant(self) -> tuple[Reals, Complexes, float]:
        """The nodes that matter, their values, and the sum of the others' moduli."""
        values = self.values
        modulus = np.abs(values)
        kept = modulus > _NEGLIGIBLE
        kept[0] = True
        return self.y[kept], values[kept], float(modulus[~kept].sum())

    def truncated(self, last: int) -> float:
        """A bound on Σ |node| over the nodes not evaluated; past ``last`` by smoothing alone."""
        c, step = self._c, self._step
        start, end = self.count * step, (last + 1) * step
        total = self._left_out(start, end, last) if start < end else 0.0
        tail = math.exp(-self.gain * end * end) * min(1.0, c * (c + 1) / end**2)
        return total + tail * (1 + 1 / max(2 * self.gain * end * step, 1e-300))

    def _left_out(self, start: float, end: float, last: int) -> float:
        """The same up to ``last``: coarse bounds of intervals, then of each node, then sharp ones."""
        ranked = sorted(self._tilted, key=lambda pair: -pair[1] * pair[0].variance)
        total = math.inf
        if len(ranked) <= _FEW_LAWS or last >= _NODES_BOUNDED:
            often = max(count for _, count in ranked) > FEW_USES
            total = self._between(start, end, ranked, refinements=2 if often else 1)
        if total > _TRUNCATED and last < _NODES_BOUNDED:
            total = min(total, self._one_by_one(ranked, last))
        if total > _TRUNCATED:
            total = min(total, self._between(start, end, ranked))
        return total

    def _one_by_one(self, ranked: Sequence[tuple[Tilted, int]], last: int) -> float:
        """Node by node; where laws are many, those that vary most are enough."""
        total, first = 0.0, self.count
        while first <= last:
            stop = min(_STRETCH * first, last + 1)
            total += self._stretch(ranked, first, stop)
            first = stop
        return total

    def _stretch(self, ranked: Sequence[tuple[Tilted, int]], first: int, stop: int) -> float:
        c, step = self._c, self._step
        y = step * np.arange(first, stop)
        bound = (c / y) * ((c + 1) / y) * np.exp(-self.gain * y * y)
        total = math.inf
        for law, count in ranked:
            moduli = np.minimum(law.node_moduli(step, stop)[first:], 1.0)
            bound *= moduli if count == 1 else moduli ** float(count)
            total = float(bound.sum()) * (1 + 1e-9) + _SMALLEST
            if total < _TRUNCATED_NODES:
                break
        return total

    def _between(
        self, start: float, end: float, ranked: Sequence[tuple[Tilted, int]], refinements: int = 3
    ) -> float:
        c = self._c
        pieces = max(2, int(np.ceil(6 * np.log2(end / start))))
        edges = np.geomspace(start, end, pieces + 1)
        nodes = np.diff(edges) / self._step + 1
        weight = np.log(nodes * (c / edges[:-1]) * ((c + 1) / edges[:-1]))
        bound = weight - self.gain * edges[:-1] ** 2
        each = np.array([n * law.log_modulus_bound(edges, 0) for law, n in ranked])
        total = bound + each.sum(axis=0)
        for effort in range(1, refinements):
            for k, (law, n) in enumerate(ranked):
                if total.max() < _TRUNCATED_LOG:
                    break
                if effort < law.efforts:
                    sharper = np.minimum(each[k], n * law.log_modulus_bound(edges, effort))
                    total += sharper - each[k]
                    each[k] = sharper
        return float(np.exp(bound + each.sum(axis=0)).sum())
