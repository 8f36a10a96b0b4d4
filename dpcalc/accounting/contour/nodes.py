"""The integrand of a contour sum at equally spaced nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcalc.accounting.contour.shared import is_shared
from dpcalc.accounting.losses import (
    ELEMENTARY_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    Reals,
    TiltedDistribution,
)
from dpcalc.accounting.losses.fourier import FEW_USES

NEGLIGIBLE = 1e-17
_FIRST_BLOCK, _FIRST_TRANSFORM = 32, 256
_LARGE_BLOCK = 2**14
_FARTHEST = 4
"""Doublings of the number of nodes at once at most: what is expected of moduli is a guess."""

_BLOCKWISE_WORK = 10_000_000
"""Nodes times atoms, taken one by one, after which blocks are large."""


class Nodes:
    """The integrand at y = 0, h, 2h, ..., over its value at y = 0, as far as evaluated.

    Attributes:
        y: evaluated nodes.
        values: the integrand there.
        rounding: bound on the sum of the errors of ``values``.
        gain: s²/2.

    Args:
        tilted: the distributions and how often each is used.
        c: real part.
        step: h.
        gain: s²/2.
        likely: how many nodes are not negligible, where a sum like this one has told.
    """

    def __init__(
        self,
        tilted: Sequence[tuple[TiltedDistribution, int]],
        c: float,
        step: float,
        gain: float,
        likely: int = 0,
    ):
        self._tilted, self._c, self._step, self.gain = tilted, c, step, gain
        self._likely = likely
        self._base = sum(n * law.rounding for law, n in tilted) + 6 * ELEMENTARY_ERROR
        self._blocks: list[Complexes] = []
        self.count, self.rounding = 0, 0.0

    @property
    def y(self) -> Reals:
        """Imaginary parts of the nodes."""
        return np.asarray(self._step * np.arange(self.count), dtype=np.float64)

    @property
    def values(self) -> Complexes:
        """The integrand there."""
        return np.concatenate(self._blocks)

    def extend_until_negligible(self, last: int, negligible: float = NEGLIGIBLE) -> None:
        """Evaluate block by block, to node ``last`` at most, until the nodes are negligible."""
        few = all(count <= FEW_USES for _, count in self._tilted)
        size = _FIRST_TRANSFORM if few else _FIRST_BLOCK
        atoms = sum(law.size for law, count in self._tilted if count > FEW_USES)
        while self.count <= last:
            stop = self.count + size
            if self.count * atoms > _BLOCKWISE_WORK:  # from here on by Fourier transforms
                # Of whole lengths: a transform for fewer nodes is as long.
                stop = max(_LARGE_BLOCK, 2 ** (4 * self.count - 1).bit_length())
            if few and self.count and not is_shared():
                stop = max(stop, self._far_enough(np.abs(self._blocks[-1]), negligible))
            stop = min(stop, last + 1)
            modulus = np.abs(self._evaluate(self.count, stop))
            size = 2 * size if stop > 2 * _FIRST_BLOCK else size
            if modulus[-(len(modulus) // 4 + 1) :].max() < negligible:
                break

    def _far_enough(self, modulus: Reals, negligible: float) -> int:
        """Where nodes are likely to be negligible, as the last block's moduli fall.

        A transform that begins at 0 every time costs less if it is made once.
        """
        if self._likely > self.count:
            return self._likely
        middle, end = modulus[len(modulus) // 4 : len(modulus) // 2], modulus[-len(modulus) // 4 :]
        rest = math.log(max(float(end.max()), negligible) / negligible)
        fallen = math.log(max(float(middle.max()), negligible) / negligible) - rest
        for doublings in range(1, _FARTHEST):
            stop = self.count << doublings
            y = self._step * stop
            smoothed = self.gain * y * y * (1 - 0.25**doublings)
            if doublings * max(fallen, 0.0) + smoothed >= rest:
                return stop
        return self.count << _FARTHEST

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
        lost = exponent.real + amplified + np.log(-np.expm1(-amplified))
        with np.errstate(over="ignore"):
            self.rounding += float(np.exp(lost).sum())
        self._blocks.append(block)
        self.count = stop
        return block

    def smooth(self, gain: float) -> None:
        """Raise the smoothing to ``gain``."""
        extra = gain - self.gain
        y = self.y
        exponent = extra * (1j * (2 * self._c + 1) * y - y * y)
        values = self.values * np.exp(exponent)
        self.rounding += ELEMENTARY_ERROR * float((np.abs(values) * (4 + np.abs(exponent))).sum())
        self._blocks = [values]
        self.gain = gain

    def significant(self) -> tuple[Reals, Complexes, float]:
        """The nodes that matter, their values, and the sum of the others' moduli."""
        values = self.values
        modulus = np.abs(values)
        kept = modulus > NEGLIGIBLE
        kept[0] = True
        return self.y[kept], values[kept], float(modulus[~kept].sum())
