"""Noisy SGD with sampled batches on a bounded domain, in f-DP.

Statement
    f-DP for every τ <= t, f = G(√2D/(ησ√τ)) ⊗ C(G(2√2L/(bσ)))^(⊗τ)

    On a convex domain of diameter D, with convex L-Lipschitz M-smooth losses, batches of b of n
    records drawn at random in every step and η <= 2/M, after t steps
    ``x ← Π(x - η((1/b)Σ∇f_i(x) + N(0, σ²I)))``; C = C_{b/n} is the sampling of b of n.
    t = steps, M = smoothness.
Source
    Bok, Su and Altschuler 2024, noisy SGD, constrained

    Restated from the authors' figure code and a derivation, not from print.
Certified
    As for noisy-sgd-constrained: a good number of counted steps and share of their noise, strongly
    convex losses as well; never above the claim. The full batch by shifted interpolation.
Rounding
    The shift and the steps' μ with sixty digits, up; the composition is an enclosure's upper end.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpcalc.accounting.iteration.sampled_batches import NoiseSplit
from dpcalc.numerics.precise import Real, mpf
from dpcalc.theorems.authoring import finding, theorem
from dpcalc.theorems.averages import averaged
from dpcalc.theorems.base import Formula
from dpcalc.theorems.noisy_gradient_descent._base import CONVEXITY_UNUSED
from dpcalc.theorems.noisy_gradient_descent._formulas import split_formulas
from dpcalc.theorems.noisy_gradient_descent._sampled import (
    EXAMPLE,
    LIMIT_IS_NO_BOUND,
    ON_A_DOMAIN,
    RESTATED,
    domain_diameter,
)
from dpcalc.theorems.noisy_gradient_descent._split import SplitDescent


@theorem(
    status="loose",
    example=EXAMPLE,
)
class NoisySGDConstrainedTradeoff(SplitDescent):
    """Batches drawn without replacement on a bounded domain; the last iterate is released."""

    findings = (
        RESTATED,
        finding(
            "The noise is split in halves; the best share, or no split where all steps together "
            "cost less, gives a smaller ε.",
            "loose",
            lambda t: not t.full(),
        ),
        LIMIT_IS_NO_BOUND,
        finding(
            "For the full batch shifted interpolation needs no split of the noise.",
            "loose",
            lambda t: t.full(),
        ),
        CONVEXITY_UNUSED,
    )
    assumptions = ON_A_DOMAIN

    diameter: float = domain_diameter()

    def printed_split(self) -> NoiseSplit:
        """Half of the noise of every counted step; steps that make a rough cost small."""
        run = self.run()
        balance = run.diameter * math.sqrt(2 / max(run.step_cost(0.5), 1e-280))
        near = min(max(balance, 1.0), float(self.steps))
        steps = min({math.floor(near), math.ceil(near)}, key=lambda n: abs(math.log(n / balance)))
        return NoiseSplit(steps=steps, closing=steps, share=0.5)

    def with_count(self, split: NoiseSplit, count: int) -> NoiseSplit:
        """τ counted steps, all closing."""
        return replace(split, steps=count, closing=count)

    def printed_shift(self, split: NoiseSplit) -> Real:
        """√2D/(ησ√τ)."""
        return split.shift_mu(mpf(self.diameter), self.descent().noise, mpf(1))

    def symbolic(self) -> tuple[Formula, ...]:
        """The parts of both compositions, with the steps and shares that the numbers choose."""
        if averaged(self):
            return ()
        printed = self.printed_split()
        found = split_formulas(self, "claimed", printed, bounded=True, contracting=False)
        if self.full():
            return tuple(found)
        best = self.run().best_split()
        bounded = self.apart(best) == self.width()
        return (*found, *split_formulas(self, "certified", best, bounded=bounded))
