"""Noisy SGD on a bounded domain with batches drawn at random.

Statement
    Split the noise of the last τ steps in two independent parts with shares θ and 1 - θ of the
    variance. The first pulls two points of the domain together, from D apart to equal, and costs
    ``μ² = D²c^(2τ)/(θω² Σ_{i<τ} c^(2i))``; the second hides the sampled record in each of the τ steps.
    The last iterate is at most their composition, whatever came before.
Source
    Altschuler and Talwar 2022; docs/theorems/noisy-sgd-constrained.md proves it for trade-off
    functions.
Rounding
    τ and θ are choices: all give valid bounds. The costs are sixty-digit numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.numerics.precise import Real, context, mpf
from dpcalc.numerics.search import minimise


@dataclass(frozen=True, slots=True)
class Split:
    """How the last steps' noise is used.

    Attributes:
        steps: τ, the steps that are counted.
        share: θ, the share of the variance that pulls the runs together; 0 from a common start.
    """

    steps: int
    share: float

    def shift_mu(self, diameter: Real, noise: Real, contraction: Real) -> Real:
        """μ of pulling together two points of the domain; 0 without a share."""
        if not self.share:
            return mpf(0)
        c, ctx = mpf(contraction), context()
        square = c**2
        contracts = square != 1
        weight = (1 - square**self.steps) / (1 - square) if contracts else mpf(self.steps)
        return mpf(diameter) * c**self.steps / (mpf(noise) * ctx.sqrt(mpf(self.share) * weight))

    def step_mu(self, jump: Real, noise: Real) -> Real:
        """μ of one use of the record against what is left of a step's noise."""
        return mpf(jump) / (mpf(noise) * context().sqrt(1 - mpf(self.share)))


def _square(distance: float, noise: float) -> float:
    """(distance/noise)², kept within the doubles; the search for a split may be rough."""
    return min(distance / noise, 1e140) ** 2 if noise > 0 else 1e280


def good_split(
    *, steps: int, rate: float, jump: float, noise: float, diameter: float, contraction: float
) -> Split:
    """A split that makes a rough total of both costs small; not necessarily the best.

    The rough total adds the shift's μ² to that of τ sampled steps, 2τq²(e^{μ²} - 1).

    Args:
        steps: T, all steps of the run.
        rate: q, probability that a batch holds the record.
        jump: s, how far one use may move an iterate.
        noise: ω, standard deviation of a step's noise per coordinate.
        diameter: D.
        contraction: c, in [0, 1].
    """

    def sampled(share: float) -> float:
        exponent = _square(jump, noise) / (1 - share)
        return 2 * rate**2 * math.expm1(min(exponent, 600.0))

    def shifted(share: float, count: float) -> float:
        decay = 2 * math.log(contraction) if contraction > 0 else -math.inf
        weight = count if decay == 0 else math.expm1(count * decay) / math.expm1(decay)
        return _square(diameter, noise) * math.exp(count * decay) / (share * weight)

    def rough(share: float, log_count: float) -> float:
        count = math.exp(log_count)
        return count * sampled(share) + shifted(share, count)

    top = math.log(steps)

    def best_count(share: float) -> tuple[float, float]:
        return minimise(lambda x: rough(share, x), 0.0, top) if top else (0.0, rough(share, 0.0))

    share, _ = minimise(lambda x: best_count(x)[1], 1e-3, 0.999)
    count = min(max(round(math.exp(best_count(share)[0])), 1), steps)
    if rough(share, math.log(count)) < steps * sampled(0.0):
        return Split(count, share)
    return Split(steps, 0.0)
