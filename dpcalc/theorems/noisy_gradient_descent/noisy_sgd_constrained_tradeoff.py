"""Noisy SGD with sampled batches on a bounded domain, as a trade-off function.

Statement
    On a convex domain of diameter D, with convex L-Lipschitz M-smooth losses, batches of b of n
    records drawn at random in every step and η <= 2/M, t steps
    ``x ← Π(x - η((1/b)Σ∇f_i(x) + N(0, σ²I)))`` are f-DP for every τ from 1 to t with
    ``f = G(√2D/(ησ√τ)) ⊗ C(G(2√2L/(bσ)))^(⊗τ)``, C = C_{b/n} the sampling of b of n.
    D = diameter, L = lipschitz, M = smoothness, b = batch_size, n = n_records, t = steps,
    η = step_size, σ = sigma.
Source
    Bok, Su and Altschuler 2024, noisy stochastic gradient descent, constrained. Restated from the
    authors' figure code and a derivation, not from print.
Certified
    As for noisy-sgd-constrained: a good number of counted steps and share of their noise, strongly
    convex losses as well; never above the claim. The full batch by shifted interpolation.
Rounding
    The shift and the steps' μ with sixty digits, up; the composition is an enclosure's upper end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpcalc.accounting.iteration.sampled_batches import Split
from dpcalc.checks import no_bound_without
from dpcalc.numerics.precise import Real, mpf
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Finding, Formula
from dpcalc.theorems.noisy_gradient_descent._base import (
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION,
    PUBLIC,
    STRONGLY_CONVEX,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import contraction_of, split_formulas
from dpcalc.theorems.noisy_gradient_descent._sampled import BOUNDED, SAMPLED, SplitDescent
from dpcalc.theorems.parameters import number
from dpcalc.vocabulary import Bearing, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisySGDConstrainedTradeoff(SplitDescent):
    """Batches drawn without replacement on a bounded domain; the last iterate is released."""

    key: ClassVar[str] = "noisy-sgd-constrained-tradeoff"
    title: ClassVar[str] = "Noisy SGD with sampled batches on a bounded domain, in f-DP"
    reference: ClassVar[str] = "Bok, Su and Altschuler 2024, noisy SGD, constrained"
    statement: ClassVar[str] = "f-DP for every τ <= t, f = G(√2D/(ησ√τ)) ⊗ C(G(2√2L/(bσ)))^(⊗τ)"
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The statement is restated from the authors' figure code and from a derivation on this "
            "result's page, not copied from print.",
            Bearing.REMARK,
        ),
        Finding(
            "The noise is split in halves; the best share, or no split where all steps together "
            "cost less, gives a smaller ε.",
            Bearing.LOOSE,
            lambda theorem: not theorem.full(),
        ),
        Finding(
            "The paper's figures evaluate the Gaussian limit of the composition, which is no bound; "
            "here it is enclosed numerically.",
            Bearing.REMARK,
            lambda theorem: not theorem.full(),
        ),
        Finding(
            "For the full batch shifted interpolation needs no split of the noise.",
            Bearing.LOOSE,
            lambda theorem: theorem.full(),
        ),
        Finding(
            "Strongly convex losses are not used by the claim.",
            Bearing.LOOSE,
            lambda theorem: theorem.curvature() > 0,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        STRONGLY_CONVEX,
        LIPSCHITZ,
        PUBLIC,
        HIDDEN,
        BOUNDED,
        SAMPLED,
        NO_EXPANSION,
        LAST_ONLY,
    )
    example: ClassVar[Mapping[str, Any]] = {
        "diameter": 1,
        "lipschitz": 1,
        "n_records": 10000,
        "batch_size": 100,
        "steps": 10_000_000,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 0.2,
    }

    diameter: float = number(
        "diameter of the domain, D",
        check=no_bound_without(
            "inf", "(no bounded domain) try noisy-sgd, for strongly convex losses"
        ),
    )

    def printed_split(self) -> Split:
        """Half of the noise of every counted step; steps that make a rough cost small."""
        run = self.run()
        balance = run.diameter * math.sqrt(2 / max(run.hidden(0.5), 1e-280))
        near = min(max(balance, 1.0), float(self.steps))
        steps = min({math.floor(near), math.ceil(near)}, key=lambda n: abs(math.log(n / balance)))
        return Split(steps=steps, closing=steps, share=0.5)

    def with_count(self, split: Split, count: int) -> Split:
        """τ counted steps, all closing."""
        return replace(split, steps=count, closing=count)

    def printed_shift(self, split: Split) -> Real:
        """√2D/(ησ√τ)."""
        return split.shift_mu(mpf(self.diameter), self.descent().noise, mpf(1))

    def symbolic(self) -> tuple[Formula, ...]:
        """The parts of both compositions, with the steps and shares that the numbers choose."""
        if averaged(self):
            return ()
        import sympy

        one, (c, _) = sympy.Integer(1), contraction_of(self)
        printed = split_formulas(
            self, "claimed", self.printed_split(), bounded=True, contraction=one
        )
        if self.full():
            return tuple(printed)
        best = self.run().best_split()
        bounded = self.apart(best) == self.width()
        proved = split_formulas(self, "certified", best, bounded=bounded, contraction=c)
        return (*printed, *proved)
