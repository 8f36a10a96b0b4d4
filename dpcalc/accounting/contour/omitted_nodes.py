"""Bounds of the nodes of a contour sum that are not evaluated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses import TiltedDistribution
from dpcalc.accounting.losses.fourier import FEW_USES

NEGLIGIBLE_SUM = 1e-8
"""A sum of moduli below this, relative to the first node, need not be smaller, unless more is said."""

_SUFFICIENT_SHARE = 1e-3
_SUFFICIENT_LOG = -36.0
"""Bounds of sums that are below this share of what is negligible need not be sharper, nor single
logarithms below the other."""

_MOST_NODES = 2**18
"""Up to this many nodes are bounded one by one."""

_STRETCH = 8
"""Nodes that are bounded together: up to this many times the first."""

_FEW = 8
"""At most this many distributions are bounded on intervals first."""

_SMALLEST = 1e-323

Rounds = Sequence[tuple[TiltedDistribution, int]]


@dataclass(frozen=True, slots=True)
class OmittedNodes:
    """The nodes c + iy, y = n·step, from ``first`` on.

    Attributes:
        tilted: the tilted distributions and how often each is used.
        c: real part.
        step: distance of the nodes.
        gain: s²/2, s the smoothing.
        first: number of the first node.
        negligible: sums below this need not be smaller.
    """

    tilted: Rounds
    c: float
    step: float
    gain: float
    first: int
    negligible: float = NEGLIGIBLE_SUM

    def bound(self, last: int) -> float:
        """At least Σ |node| over the value at y = 0; past ``last`` by smoothing alone."""
        end = (last + 1) * self.step
        total = self._up_to(last) if self.first <= last else 0.0
        tail = math.exp(-self.gain * end * end) * min(1.0, self.c / end * ((self.c + 1) / end))
        return total + tail * (1 + 1 / max(2 * self.gain * end * self.step, 1e-300))

    def _up_to(self, last: int) -> float:
        """Coarse bounds of intervals, then of each node, then sharp ones of intervals."""
        ranked = sorted(self.tilted, key=lambda pair: -pair[1] * pair[0].variance)
        total = math.inf
        if len(ranked) <= _FEW or last >= _MOST_NODES:
            often = max(count for _, count in ranked) > FEW_USES
            total = self._on_intervals(ranked, last, refinements=2 if often else 1)
        if total > self.negligible and last < _MOST_NODES:
            total = min(total, self._one_by_one(ranked, last))
        if total > self.negligible:
            total = min(total, self._on_intervals(ranked, last))
        return total

    def _one_by_one(self, ranked: Rounds, last: int) -> float:
        """Node by node; where distributions are many, those that vary most are enough."""
        total, first = 0.0, self.first
        while first <= last:
            stop = min(_STRETCH * first, last + 1)
            total += self._stretch(ranked, first, stop)
            first = stop
        return total

    def _stretch(self, ranked: Rounds, first: int, stop: int) -> float:
        y = self.step * np.arange(first, stop)
        bound = (self.c / y) * ((self.c + 1) / y) * np.exp(-self.gain * y * y)
        total = math.inf
        for distribution, count in ranked:
            moduli = np.minimum(distribution.node_moduli(self.step, stop)[first:], 1.0)
            bound *= moduli if count == 1 else moduli ** float(count)
            total = float(bound.sum()) * (1 + 1e-9) + _SMALLEST
            if total < self.negligible * _SUFFICIENT_SHARE:
                break
        return total

    def _on_intervals(self, ranked: Rounds, last: int, refinements: int = 3) -> float:
        start, end = self.first * self.step, (last + 1) * self.step
        pieces = max(2, int(np.ceil(6 * np.log2(end / start))))
        edges = np.geomspace(start, end, pieces + 1)
        nodes = np.diff(edges) / self.step + 1
        weight = np.log(nodes * (self.c / edges[:-1]) * ((self.c + 1) / edges[:-1]))
        bound = weight - self.gain * edges[:-1] ** 2
        each = np.array([n * part.log_modulus_bound(edges, 0) for part, n in ranked])
        total = bound + each.sum(axis=0)
        sufficient = _SUFFICIENT_LOG
        if self.negligible > NEGLIGIBLE_SUM:
            sufficient = math.log(self.negligible * _SUFFICIENT_SHARE)
        # A modulus that is used many times is a power of itself, and sooner next to nothing.
        many_first = sorted(enumerate(ranked), key=lambda item: item[1][1] == 1)
        for level in range(1, refinements):
            for k, (part, n) in many_first:
                if total.max() < sufficient:
                    break
                if level < part.refinements:
                    sharper = np.minimum(each[k], n * part.log_modulus_bound(edges, level))
                    total += sharper - each[k]
                    each[k] = sharper
        return float(np.exp(bound + each.sum(axis=0)).sum())
