"""Bounds of |φ(y)| over intervals of y, φ the characteristic function of finitely many losses."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

import numpy as np

from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Reals

_LARGEST_LATTICE = 2**17 - 4
"""Steps of a lattice on either side, which with the ends are just under a power of two in all."""

_CURVE = 0.4583 * (1 - 1e-9)
_COARSE_STEP, _COARSE_REACH = 1.0, 12.0
_FINE_STEP, _FINE_REACH = 0.25, 24.0


class ModulusBounds:
    """Ever sharper and dearer bounds of ln|φ|.

    Args:
        losses: the values, shape (n,).
        weights: their probabilities.
        spread: an upper bound of the standard deviation.
    """

    refinements = 3

    def __init__(self, losses: Reals, weights: Reals, spread: float) -> None:
        order = np.argsort(losses, kind="stable")
        self._losses, self._weights, self._spread = losses[order], weights[order], spread
        self._mean = float((weights * losses).sum())
        self._sampled_on: tuple[tuple[float, float], tuple[Reals, float]] | None = None

    def log_bound(self, edges: Reals, level: int) -> Reals:
        """Bounds over each interval between increasing edges, shape (k,), of an effort below three."""
        if level == 0:
            modulus = self._central(edges)
        elif level == 1:
            modulus = self._sampled(edges, _COARSE_STEP, _COARSE_REACH)
        else:
            modulus = np.minimum(self._pairs(edges), self._sampled(edges, _FINE_STEP, _FINE_REACH))
        return np.minimum(np.log(np.clip(modulus, 1e-300, 1.0)) + 1e-12, 0.0)

    @cached_property
    def _centred(self) -> Reals:
        return self._losses - self._mean

    @cached_property
    def _moments(self) -> Reals:
        """The weights' zeroth to second moments about the mean, shape (3, n)."""
        return np.stack(
            [self._weights, self._weights * self._centred, self._weights * self._centred**2]
        )

    def _pairs(self, edges: Reals) -> Reals:
        """|φ(y)|² = E cos(y(L-L')) <= 1 - 0.4583·y²·E[(L-L')²; y|L-L'| <= 1].

        (1 - cos t >= t²/2 - t⁴/24 >= 0.4583 t² for |t| <= 1.) Pairs that fall in the same window of
        width 1/y are counted: their mean square is twice the window's mass times its second moment
        less its first one squared, a difference of numbers with errors of ``slack`` times them.
        """
        result = np.ones(len(edges) - 1)
        slack = 8 * UNIT_ROUNDOFF * (len(self._losses) + 8)
        for k, (low, high) in enumerate(itertools.pairwise(edges)):
            window = np.floor(self._centred * high + 0.5)
            starts = np.concatenate([[0], np.flatnonzero(np.diff(window)) + 1])
            mass, first, second = np.add.reduceat(self._moments, starts, axis=1)
            least = mass * second * (1 - slack) - first**2 * (1 + slack)
            pairs = 2 * float(np.maximum(least, 0.0).sum())
            result[k] = np.sqrt(max(1 - _CURVE * low**2 * pairs, 0.0))
        return result

    def _central(self, edges: Reals) -> Reals:
        """The same with the pairs in the window around the mean alone.

        The window's moments are differences of running sums, each off by at most ``slack``.
        """
        running = np.pad(np.cumsum(self._moments, axis=1), ((0, 0), (1, 0)))
        slack = 4 * UNIT_ROUNDOFF * len(self._losses) * np.abs(self._moments).sum(axis=1)
        half = 0.5 / edges[1:]
        ends = np.searchsorted(self._centred, np.stack([-half, half]))
        mass, first, second = running[:, ends[1]] - running[:, ends[0]]
        least = np.maximum(mass - slack[0], 0.0) * np.maximum(second - slack[2], 0.0)
        pairs = 2 * np.maximum(least - (np.abs(first) + slack[1]) ** 2, 0.0)
        return np.sqrt(np.maximum(1 - _CURVE * edges[:-1] ** 2 * pairs, 0.0))

    def _sampled(self, edges: Reals, step: float, reach: float) -> Reals:
        """The modulus sampled by one FFT, plus what lies between samples.

        Atoms are split linearly between neighbours of a lattice of step Δ, which moves φ(y) by at
        most (yΔ)²/8 times their mass; atoms more than ``reach`` standard deviations from the mean
        count with twice their mass.
        With g = 1 - |φ|², |g'| = |E (L-L') sin(y(L-L'))| <= sd·√2·√(2g), hence √g moves by at most
        the standard deviation times the distance to the nearest sample.
        """
        reach *= self._spread
        lattice = max(step / float(edges[-1]), reach / _LARGEST_LATTICE)
        deviation, spacing = self._deviation(lattice, reach)
        first = np.floor(edges[:-1] / spacing).astype(np.int64)
        last = np.ceil(edges[1:] / spacing).astype(np.int64)
        least = [
            deviation[a : b + 1].min() if b < len(deviation) else 0.0
            for a, b in zip(first, last, strict=True)
        ]
        return np.sqrt(np.maximum(1 - np.maximum(least, 0.0) ** 2, 0.0))

    def _deviation(self, lattice: float, reach: float) -> tuple[Reals, float]:
        """At least √(1 - |φ|²) halfway to the neighbours of samples, and the samples' distance."""
        if self._sampled_on is None or self._sampled_on[0] != (lattice, reach):
            self._sampled_on = (lattice, reach), self._sample(lattice, reach)
        return self._sampled_on[1]

    def _sample(self, lattice: float, reach: float) -> tuple[Reals, float]:
        half = int(reach / lattice) + 2
        position = self._centred / lattice + half
        near = (position >= 0) & (position <= 2 * half - 1)
        left = np.floor(position[near]).astype(np.int64)
        share, weights = position[near] - left, self._weights[near]
        grid = np.bincount(left, weights * (1 - share), minlength=2 * half + 1)
        grid += np.bincount(left + 1, weights * share, minlength=2 * half + 1)
        far = float(self._weights[~near].sum())
        length = 4 * 2 ** math.ceil(math.log2(2 * half + 1))
        spacing = 2 * np.pi / (length * lattice)
        modulus = np.abs(np.fft.rfft(grid, length))
        y = spacing * np.arange(len(modulus))
        modulus += weights.sum() * (y * lattice) ** 2 / 8 + 2 * far + 1e-12
        return np.sqrt(np.maximum(1 - modulus**2, 0.0)) - self._spread * spacing / 2, spacing
