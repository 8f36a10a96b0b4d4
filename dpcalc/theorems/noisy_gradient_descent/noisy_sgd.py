"""Noisy SGD with sampled batches, strongly convex losses.

Statement
    f-DP, f = G((2√2L/(bσ))(c^(ν+1) - c^t)/(1 - c)) ⊗ C(G(2√2L/(bσ))) ⊗ C(G(2L/(bσ)))^(⊗ν)

    With m-strongly convex, M-smooth losses, batches of b of n records drawn at random in every step
    and c = max(|1 - ηm|, |1 - ηM|) < 1, after t steps ``x ← x - η((1/b)Σ∇f_i(x) + N(0, σ²I))``, for
    every ν from 0 to t - 1; C = C_{b/n} is the sampling of b of n.
    t = steps, m = strong_convexity, M = smoothness.
Source
    Bok, Su and Altschuler 2024, noisy SGD, strongly convex losses

    Restated from the authors' figure code and a derivation, not from print.
Certified
    A good number of counted steps, of closing steps and share of their noise, averaged over how
    often the record was used before; convex losses as well; never above the claim. The full batch
    by shifted interpolation, which is exact.
Rounding
    The shift and the steps' μ with sixty digits, up; the composition is an enclosure's upper end.
"""

from __future__ import annotations

from dataclasses import replace

from dpcalc.accounting.iteration import Participation
from dpcalc.accounting.iteration.quadratics import Uses
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit
from dpcalc.accounting.iteration.sampled_walk import SampledWalk
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.numerics.precise import mpf, round_down
from dpcalc.theorems.authoring import assume, finding, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound, Formula
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.noisy_gradient_descent._base import (
    DIFFERENCES,
    HIDDEN,
    NO_EXPANSION,
    PUBLIC,
    STRONGLY_CONVEX,
    NoisyDescent,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import (
    last_iterate_mu,
    split_formulas,
)
from dpcalc.theorems.noisy_gradient_descent._sampled import LIMIT_IS_NO_BOUND, RESTATED, SAMPLED
from dpcalc.theorems.noisy_gradient_descent._split import SplitDescent
from dpcalc.theorems.noisy_gradient_descent._walls import quadratic_instance
from dpcalc.theorems.numbers import Symbols


def _stalls(theorem: NoisyDescent) -> str | None:
    if theorem.contraction() >= 1:
        return (
            "a step contracts only for strongly convex losses and step_size < 2/smoothness; got "
            f"strong_convexity={theorem.curvature():g}, step_size={theorem.step_size:g}, "
            f"smoothness={theorem.smoothness:g}"
        )
    return None


@theorem(
    status="loose",
    example={
        "lipschitz": 1,
        "n_records": 10000,
        "batch_size": 200,
        "steps": 20_000,
        "step_size": 0.125,
        "smoothness": 2,
        "strong_convexity": 0.03125,
        "sigma": 0.05,
    },
)
class NoisySGD(SplitDescent):
    """Batches drawn without replacement in every step, no projection; the last iterate is released."""

    findings = (
        RESTATED,
        finding(
            "Half of the noise of one step pays the whole shift; a share of several last steps, the "
            "best one, pays it for less.",
            "loose",
            lambda t: not t.full(),
        ),
        finding(
            "The runs are counted as far apart before the counted steps as if every batch had held "
            "the record; few do, and averaging over the batches gives less.",
            "loose",
            lambda t: not t.full(),
        ),
        LIMIT_IS_NO_BOUND,
        finding(
            "For the full batch shifted interpolation needs no split of the noise, and quadratics "
            "of curvature m attain it.",
            "loose",
            lambda t: t.full(),
        ),
        finding(
            "The claim needs strongly convex losses; the certified bound holds for convex ones too.",
            "loose",
            lambda t: t.contraction() == 1,
        ),
    )
    assumptions = (
        STRONGLY_CONVEX,
        DIFFERENCES,
        PUBLIC,
        HIDDEN,
        SAMPLED,
        NO_EXPANSION,
        LAST_ONLY,
        assume("contracts", "A step strictly contracts.", "claimed", _stalls),
    )

    def printed_split(self) -> NoiseSplit:
        """The last step closes with half of its noise."""
        return replace(self.run(), distance_share=1.0).with_best_count(closing=1, share=0.5)

    def with_count(self, split: NoiseSplit, count: int) -> NoiseSplit:
        """ν + 1 counted steps."""
        return replace(split, steps=count)

    def attained(self) -> Bound | None:
        """Quadratics of one curvature and linear changes: a Gaussian law, or a mixture of such."""
        if not self.full():
            return None if averaged(self) else self._sampled_instance()
        if averaged(self):
            return self.averaged_instance(passes=self.steps, gap=1, tail=1)
        mu = self.descent().mu(Participation(self.steps))
        return quadratic_instance(self, mu, Uses(0, self.steps, 1, 1), projected=False)

    def _sampled_instance(self) -> Bound:
        """Every record with the least curvature; one threshold on the last iterate."""
        found = self.descent()
        walk = SampledWalk(
            self.steps,
            round_down(mpf(self.batch_size) / self.n_records),
            max(round_down(1 - mpf(self.step_size) * mpf(self.curvature())), 0.0),
            round_down(found.step_sensitivity / found.noise),
            one_sided=True,
        )
        method = "quadratics of one curvature, sampled records, a threshold"
        return Bound(
            PrivacyProfile(walk, "threshold test"), {"jump": walk.step_sensitivity}, method
        )

    def symbolic(self) -> tuple[Formula, ...]:
        """The parts of both compositions, with the steps and shares that the numbers choose."""
        found = []
        if not self.violations_of_claim():
            found += split_formulas(self, "claimed", self.printed_split(), bounded=False)
        if averaged(self) and not self.full():
            return tuple(found)
        if not self.full():
            best = self.run().best_split()
            return (*found, *split_formulas(self, "certified", best, bounded=False))
        x = Symbols(self)
        if averaged(self):
            mu = self.composed_mu(x)[0]
        else:
            mu = last_iterate_mu(x, self.descent(), self.moves(x), Participation(self.steps))
        return (*found, shown("certified.mu", mu, x))
