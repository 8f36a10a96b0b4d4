"""Noisy SGD with batches drawn at random: which of the last steps are counted, and how.

Statement
    Count the last τ steps. Before them two runs are ``d = min(D, s(1 - c^(T-τ))/(1 - c))`` apart at
    most. Split the noise of the last j of them in two independent parts with shares θ and 1 - θ of
    the variance. The first parts pull the runs together, which costs
    ``μ² = d²c^(2τ)/(θω² Σ_{i<j} c^(2i))``; what is left hides the sampled record in each of the τ
    steps. The last iterate is at most their composition, whatever came before.
Source
    Altschuler and Talwar 2022; Bok, Su and Altschuler 2024; docs/theorems/noisy-sgd.md proves it.
Rounding
    τ, j and θ are choices: all give valid bounds. The costs are sixty-digit numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.numerics.precise import Real, context, mpf
from dpcalc.numerics.search import minimise


def farthest(jump: Real, contraction: Real, steps: int) -> Real:
    """s(1 - c^k)/(1 - c): how far apart k steps with shared batches can bring two runs."""
    c = mpf(contraction)
    return mpf(jump) * (mpf(steps) if c == 1 else (1 - c**steps) / (1 - c))


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
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

    def closing_mu(self, jump: Real, noise: Real) -> Real:
        """μ of one use of the record against what is left of a closing step's noise."""
        return mpf(jump) / (mpf(noise) * context().sqrt(1 - mpf(self.share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRun:
    """What a search for a good split needs to know; doubles suffice.

    Attributes:
        steps: T, all steps of the run.
        rate: q, probability that a batch holds the record.
        jump: s/ω, how far one use may move an iterate, in units of a step's noise.
        contraction: c, in [0, 1].
        diameter: D/ω, the largest distance of two iterates, in the same units.
    """

    steps: int
    rate: float
    jump: float
    contraction: float
    diameter: float = math.inf

    def hidden(self, share: float = 0.0) -> float:
        """What hiding the record costs in a step of which a share is used up, as a rough μ².

        By the central limit theorem; used to choose, never as a bound.
        """
        square = min(_squared(self.jump) / (1 - share), 600.0)
        if square < 1e-6:
            return self.rate**2 * square
        mu = math.sqrt(square)
        bracket = math.exp(square) * _normal(1.5 * mu) + 3 * _normal(-0.5 * mu) - 2
        return 2 * self.rate**2 * bracket

    def pulled(self, steps: float, closing: float, share: float) -> float:
        """What the shift costs, as μ²."""
        rest = self._decayed(self.steps - steps)
        c = self.contraction
        spread = (1 - rest) / (1 - c) if c < 1 else self.steps - steps
        reached = min(self.diameter, self.jump * spread) * self._decayed(steps)
        return _squared(reached) / (share * self._weight(closing))

    def rough(self, steps: float, closing: float, share: float) -> float:
        """Both costs together."""
        plain = (steps - closing) * self.hidden()
        return plain + closing * self.hidden(share) + self.pulled(steps, closing, share)

    def best_split(self) -> Split:
        """A split whose rough cost is small; without a shift if that is cheaper."""
        top = math.log(self.steps)

        def at(share: float, log_closing: float) -> tuple[float, float]:
            closing = math.exp(log_closing)
            tried = self._counts(closing, share)
            return min((self.rough(steps, closing, share), steps) for steps in tried)

        def best_closing(share: float) -> tuple[float, float]:
            return minimise(lambda x: at(share, x)[0], 0.0, top) if top else (0.0, at(share, 0)[0])

        share, _ = minimise(lambda x: best_closing(x)[1], 1e-3, 0.999)
        log_closing, _ = best_closing(share)
        closing = min(max(round(math.exp(log_closing)), 1), self.steps)
        found = min(max(round(at(share, math.log(closing))[1]), closing), self.steps)
        if self.rough(found, closing, share) < self.steps * self.hidden():
            return Split(steps=found, closing=closing, share=share)
        return self.composed()

    def composed(self) -> Split:
        """All steps from the common start."""
        return Split(steps=self.steps, closing=0, share=0.0)

    def best_count(self, share: float, closing: int | None = None) -> int:
        """How many steps to count if the share and the closing steps are given (all: None)."""

        def at(steps: float) -> float:
            return self.rough(steps, steps if closing is None else closing, share)

        least, top = closing or 1, math.log(self.steps)
        if self.steps <= least:
            return self.steps
        near = math.exp(minimise(lambda x: at(math.exp(x)), math.log(least), top)[0])
        tried = {least, self.steps, math.floor(near), math.ceil(near)}
        return min((n for n in tried if least <= n <= self.steps), key=at)

    def _counts(self, closing: float, share: float) -> list[float]:
        """Where the rough cost may be least in the number of steps, both ends included."""
        c, per_step, last = self.contraction, self.hidden(), float(self.steps)
        found = [closing, last]
        unit = 1 / (share * self._weight(closing))
        if c == 1:
            found.append(last - per_step / (2 * unit * _squared(self.jump)))
        elif c > 0:
            slope = per_step / (2 * unit * -math.log(c))
            end, near = self._decayed(last), _squared(self.jump / (1 - c))
            roots = [(end + math.sqrt(end**2 + 4 * slope / near)) / 2]
            if self.diameter < math.inf:
                roots.append(math.sqrt(slope / _squared(self.diameter)))
            found += [math.log(x) / math.log(c) for x in roots if x > 0]
        return [min(max(x, closing), last) for x in found]

    def _decayed(self, steps: float) -> float:
        c = self.contraction
        return math.exp(steps * math.log(c)) if c > 0 else float(steps == 0)

    def _weight(self, count: float) -> float:
        """1 + c² + ... over so many terms."""
        c = self.contraction
        if c == 0:
            return 1.0
        decay = 2 * math.log(c)
        return count if decay == 0 else math.expm1(count * decay) / math.expm1(decay)


def _squared(x: float) -> float:
    """A square kept within the doubles; a search may be rough."""
    return min(max(x, 1e-140), 1e140) ** 2


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2
