"""Noisy SGD with batches drawn at random: which of the last steps are counted, and how.

Statement
    Count the last τ steps. Before them two runs are ``d = min(D, s(1 - c^(T-τ))/(1 - c))`` apart at
    most. Split the noise of the last j of them in two independent parts with shares θ and 1 - θ of
    the variance. The first parts pull the runs together, which costs
    ``μ² = d²c^(2τ)/(θω² Σ_{i<j} c^(2i))``, less where few of the earlier batches held the record;
    what is left hides the sampled record in each of the τ steps. The last iterate is at most their
    composition, whatever came before.
Source
    Altschuler and Talwar 2022; Bok, Su and Altschuler 2024; docs/theorems/noisy-sgd.md proves it.
Rounding
    τ, j and θ are choices: all give valid bounds. The costs are sixty-digit numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.precise import Real, context, mpf

Reals = NDArray[np.float64]

_GRID, _ZOOMS = 33, 8


def max_distance(step_sensitivity: Real, contraction: Real, steps: int) -> Real:
    """s(1 - c^k)/(1 - c): how far apart k steps with shared batches can bring two runs."""
    c = mpf(contraction)
    return mpf(step_sensitivity) * (mpf(steps) if c == 1 else (1 - c**steps) / (1 - c))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSplit:
    """How the last steps' noise is used.

    Attributes:
        steps: τ, the steps that are counted.
        closing: j, the last of them, whose noise also pulls the runs together.
        share: θ, the share of the variance that does; 0 from a common start.
    """

    steps: int
    closing: int
    share: float

    def shift_mu(self, apart: Real, noise: Real, contraction: Real) -> Real:
        """μ of pulling together two points ``apart``; 0 without a share."""
        if not self.share:
            return mpf(0)
        c, ctx = mpf(contraction), context()
        square = c**2
        contracts = square != 1
        weight = (1 - square**self.closing) / (1 - square) if contracts else mpf(self.closing)
        return mpf(apart) * c**self.steps / (mpf(noise) * ctx.sqrt(mpf(self.share) * weight))

    def closing_mu(self, step_sensitivity: Real, noise: Real) -> Real:
        """μ of one use of the record against what is left of a closing step's noise."""
        return mpf(step_sensitivity) / (mpf(noise) * context().sqrt(1 - mpf(self.share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRun:
    """What a search for a good split needs to know; doubles suffice.

    Attributes:
        steps: T, all steps of the run.
        rate: q, probability that a batch holds the record.
        step_sensitivity: s/ω, how far one use may move an iterate, in units of a step's noise.
        contraction: c, in [0, 1].
        diameter: D/ω, the largest distance of two iterates, in the same units.
        distance_share: share of the farthest distance that the batches before the counted steps
            are likely to bring about.
    """

    steps: int
    rate: float
    step_sensitivity: float
    contraction: float
    diameter: float = math.inf
    distance_share: float = 1.0

    def step_cost(self, share: float = 0.0) -> float:
        """What hiding the record costs in a step of which a share is used up, as a rough μ².

        By the central limit theorem; used to choose, never as a bound.
        """
        square = min(_squared(self.step_sensitivity) / (1 - share), 600.0)
        if square < 1e-6:
            return self.rate**2 * square
        mu = math.sqrt(square)
        bracket = math.exp(square) * _normal(1.5 * mu) + 3 * _normal(-0.5 * mu) - 2
        return 2 * self.rate**2 * bracket

    def best_split(self) -> NoiseSplit:
        """A split whose rough cost is small; without a shift if that is cheaper."""
        shares, closings = np.array([1e-3, 0.999]), np.array([0.0, math.log(self.steps)])
        for _ in range(_ZOOMS):
            shares, closings = _grid_between(shares), _grid_between(closings)
            cost, counts = self._grid(shares, np.exp(closings))
            i, k = np.unravel_index(np.argmin(cost), cost.shape)
            share, closing, count = shares[i], math.exp(closings[k]), counts[i, k]
            shares, closings = _around(shares, int(i)), _around(closings, int(k))
        closing = min(max(round(closing), 1), self.steps)
        count = min(max(round(count), closing), self.steps)
        found = NoiseSplit(steps=count, closing=closing, share=float(share))
        return min(self.composed(), found, key=self.rough_cost)

    def composed(self) -> NoiseSplit:
        """All steps from the common start."""
        return NoiseSplit(steps=self.steps, closing=0, share=0.0)

    def rough_cost(self, split: NoiseSplit) -> float:
        """What a split costs, as a rough μ²."""
        if not split.share:
            return split.steps * self.step_cost()
        parts = (np.array(float(x)) for x in (split.steps, split.closing, split.share))
        return float(self._cost(*parts))

    def with_best_count(self, closing: int, share: float) -> NoiseSplit:
        """A split with these closing steps and share, and a good number of steps."""
        _, counts = self._grid(np.array([share]), np.array([float(closing)]))
        near = float(counts[0, 0])
        tried = {min(max(n, closing), self.steps) for n in (math.floor(near), math.ceil(near))}
        splits = [NoiseSplit(steps=n, closing=closing, share=share) for n in tried]
        return min(splits, key=self.rough_cost)

    def _grid(self, shares: Reals, closings: Reals) -> tuple[Reals, Reals]:
        """The least rough cost for every share and number of closing steps, and where it is."""
        share, closing = shares[:, None], closings[None, :]
        tried = np.stack(np.broadcast_arrays(*self._counts(closing, share)))
        cost = self._cost(tried, closing, share)
        best = np.argmin(cost, axis=0)[None]
        least, counts = (np.take_along_axis(x, best, axis=0)[0] for x in (cost, tried))
        return least, counts

    def _cost(self, steps: Reals, closing: Reals, share: Reals) -> Reals:
        """Hiding the record in every step, and the shift."""
        split = np.vectorize(self.step_cost, otypes=[float])(share)
        rest, c = self._decayed(self.steps - steps), self.contraction
        reach = self.distance_share * self.step_sensitivity
        spread = (1 - rest) / (1 - c) if c < 1 else self.steps - steps
        reached = np.minimum(self.diameter, reach * spread) * self._decayed(steps)
        pulled = np.clip(reached, 0, 1e140) ** 2 / (share * self._weight(closing))
        found: Reals = (steps - closing) * self.step_cost() + closing * split + pulled
        return found

    def _counts(self, closing: Reals, share: Reals) -> list[Reals]:
        """Where the cost may be least in the number of steps, both ends included."""
        c, per_step, last = self.contraction, self.step_cost(), float(self.steps)
        unit, reach = (
            1 / (share * self._weight(closing)),
            self.distance_share * self.step_sensitivity,
        )
        found = [closing, np.array(last)]
        if c == 1:
            found.append(last - per_step / (2 * unit * _squared(reach)))
        elif c > 0:
            slope = per_step / (2 * unit * -math.log(c))
            end, near = self._decayed(np.array(last)), _squared(reach / (1 - c))
            roots = [(end + np.sqrt(end**2 + 4 * slope / near)) / 2]
            if self.diameter < math.inf:
                roots.append(np.sqrt(slope / _squared(self.diameter)))
            found += [np.log(np.maximum(x, 1e-300)) / math.log(c) for x in roots]
        return [np.minimum(np.maximum(x, closing), last) for x in found]

    def _decayed(self, steps: Reals) -> Reals:
        c = self.contraction
        found: Reals = np.exp(steps * math.log(c)) if c > 0 else 1.0 * (steps == 0)
        return found

    def _weight(self, count: Reals) -> Reals:
        """1 + c² + ... over this many terms."""
        if self.contraction in (0.0, 1.0):
            return count**self.contraction
        decay = 2 * math.log(self.contraction)
        found: Reals = np.expm1(count * decay) / math.expm1(decay)
        return found


def _grid_between(ends: Reals) -> Reals:
    return np.linspace(ends[0], ends[1], _GRID)


def _around(grid: Reals, index: int) -> Reals:
    """A part of a grid around one of its points, wide enough for a slanting valley."""
    return grid[[max(index - 4, 0), min(index + 4, len(grid) - 1)]]


def _squared(x: float) -> float:
    """A square kept within the doubles; a search may be rough."""
    return min(max(x, 1e-140), 1e140) ** 2


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2
