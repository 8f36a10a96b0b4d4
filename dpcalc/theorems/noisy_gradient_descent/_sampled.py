"""What the results on batches drawn at random share: b of n records in every step."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpcalc.accounting.enclosure import TOLERANCE
from dpcalc.accounting.iteration import NoisyContraction, Participation
from dpcalc.accounting.iteration.distance_quantiles import TAIL_PROBABILITIES, upper_quantiles
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit, SampledRun, max_distance
from dpcalc.checks import no_bound_without
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, Guarantee, compose
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.mechanisms import sampled_without_replacement
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.averages import COMPOSED, LAST_ONLY, averaged
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION,
    PUBLIC,
    STRONGLY_CONVEX,
    NoisyDescent,
)
from dpcalc.theorems.noisy_gradient_descent._interval import sampled_interval_instance
from dpcalc.theorems.numbers import Digits

SAMPLED = assume(
    "sampled-batches",
    "Every step draws its batch uniformly without replacement, independently of the others.",
)
BOUNDED = assume("bounded-domain", "Every step projects on a convex set of that diameter.")
ON_A_DOMAIN = (
    STRONGLY_CONVEX,
    LIPSCHITZ,
    PUBLIC,
    HIDDEN,
    BOUNDED,
    SAMPLED,
    NO_EXPANSION,
    LAST_ONLY,
)
"""What every result about a bounded domain assumes."""

RESTATED = finding(
    "The statement is restated from the authors' figure code and from a derivation on this "
    "result's page, not copied from print.",
    "remark",
)
LIMIT_IS_NO_BOUND = finding(
    "The paper's figures evaluate the Gaussian limit of the composition, which is no bound; here it "
    "is enclosed numerically.",
    "remark",
    lambda t: not t.full(),
)

_NEAR = 4.0
"""A bound is not computed that roughly costs this many times the best ..."""
_TRUSTED = 1.0
"""... unless a step's μ is above this, where rough costs mean little."""
_WIDEST = 30.0
"""Above this μ a shift hides nothing worth the mention."""


EXAMPLE = {
    "diameter": 1,
    "lipschitz": 1,
    "n_records": 10000,
    "batch_size": 100,
    "steps": 10_000_000,
    "step_size": 0.1,
    "smoothness": 2,
    "sigma": 0.2,
}
"""A typical run on a bounded domain."""


def domain_diameter() -> Any:
    """The parameter D."""
    return number(
        "diameter of the domain",
        "D",
        check=no_bound_without(
            "inf", "(no bounded domain) try noisy-sgd, for strongly convex losses"
        ),
    )


@theorem()
class SampledDescent(NoisyDescent):
    """Batches drawn without replacement in every step; the last iterate is released."""

    lipschitz: float = number("largest norm of a record's gradient", "L")
    n_records: int = count("records", "n")
    batch_size: int = count("records of a batch, b (n: full batch)", "b")
    steps: int = count("steps", "T")
    strong_convexity: float | None = number(
        "strong convexity of every record's loss (convex unless given)", default=None
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.batch_size > self.n_records:
            raise InvalidInput(
                f"batch_size needs to be at most n_records={self.n_records}; "
                f"got batch_size={self.batch_size}"
            )

    def full(self) -> bool:
        """Whether every batch holds all records."""
        return self.batch_size == self.n_records

    def width(self) -> Real:
        """How far apart two iterates can be; infinite without a bounded domain."""
        return mpf(getattr(self, "diameter", math.inf))

    def moves(self, x: Numbers) -> NoisyContraction:
        """A sampled record moves an iterate by 2ηL/b against noise ησ."""
        step_sensitivity = 2 * x.step_size * x.lipschitz / x.batch_size
        return NoisyContraction(self.factor(x), step_sensitivity, x.step_size * x.sigma)

    def descent(self) -> NoisyContraction:
        """The same with sixty digits."""
        return self.moves(Digits(self))

    def run(self) -> SampledRun:
        """The same in doubles, for searches."""
        found = self.descent()
        return SampledRun(
            steps=self.steps,
            rate=self.batch_size / self.n_records,
            step_sensitivity=_in_range(found.step_sensitivity / found.noise),
            contraction=min(float(found.contraction), 1.0),
            diameter=_in_range(self.width() / found.noise),
            distance_share=self._likely_share(min(float(found.contraction), 1.0)),
        )

    def _likely_share(self, c: float) -> float:
        """Mean and three standard deviations of the distance, as a share of the largest distance."""
        rate = self.batch_size / self.n_records
        spread = rate * (1 - rate) * max((1 - c) / (1 + c), 1 / self.steps)
        return min(1.0, rate + 3 * math.sqrt(spread))

    def apart(self, split: NoiseSplit) -> Real:
        """How far apart the runs can be before the counted steps."""
        found = self.descent()
        before = max_distance(found.step_sensitivity, found.contraction, self.steps - split.steps)
        return min(self.width(), before)

    def shift_mu(self, split: NoiseSplit) -> Real:
        """μ of pulling the runs together within the counted steps."""
        found = self.descent()
        return split.shift_mu(self.apart(split), found.noise, found.contraction)

    def likely_shift(self, split: NoiseSplit) -> GaussianMixture | None:
        """The shift averaged over the batches before the counted steps.

        None where they make no difference, or may make it too large to be worth an average.
        """
        before, found = self.steps - split.steps, self.descent()
        if not before or not split.share:
            return None
        c = found.contraction
        rate = min(round_up(mpf(self.batch_size) / self.n_records), 1.0)
        reached = [
            found.step_sensitivity * mpf(x)
            for x in upper_quantiles(rate, min(round_up(c), 1.0), before)
        ]
        apart = [min(self.apart(split), x) for x in reached] + [self.apart(split)]
        mus = tuple(round_up(split.shift_mu(x, found.noise, c)) for x in apart)
        exceeded = (1.0, *TAIL_PROBABILITIES, 0.0)
        exact = [Fraction(repr(probability)) for probability in exceeded]
        weights = tuple(float(a - b) for a, b in pairwise(exact))
        varies = 0 < mus[0] < mus[-1] <= _WIDEST
        return GaussianMixture(mus, weights) if varies else None

    def composed(
        self, split: NoiseSplit, shift_mu: Real, likely: GaussianMixture | None = None
    ) -> tuple[Guarantee, dict[str, float]]:
        """The composition of a shift and the counted steps, and its numbers.

        Args:
            split: which steps are counted, and how.
            shift_mu: μ of the shift, at its largest.
            likely: the shift's law, if it is left to chance.
        """
        found = self.descent()
        shift = round_up(shift_mu)
        plain = round_up(found.step_sensitivity / found.noise)
        closing = round_up(split.closing_mu(found.step_sensitivity, found.noise))
        rate = round_up(mpf(self.batch_size) / self.n_records)
        parts: list[tuple[Guarantee, int]] = []
        numbers = {"counted_steps": float(split.steps), "shift_mu": shift}
        if split.steps > split.closing:
            parts.append((sampled_without_replacement(plain, rate), split.steps - split.closing))
            numbers["step_mu"] = plain
        if split.closing:
            parts.append((sampled_without_replacement(closing, rate), split.closing))
            numbers |= {"closing_steps": float(split.closing), "closing_mu": closing}
        if likely is not None:
            parts.append((likely, 1))
            numbers["median_shift_mu"] = likely.mus[0]
        elif shift > 0:
            parts.append((GDP(shift), 1))
        return compose(*parts), {**numbers, "shift_share": split.share}

    def proved(self, *others: Guarantee) -> Bound:
        """The best of a good split, of composing all steps, and of further bounds."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        if self.full():
            return self._full_batch()
        run = self.run()
        chosen = run.best_split()
        likely = self.likely_shift(chosen)
        if likely is None and run.distance_share < 1:
            chosen = replace(run, distance_share=1.0).best_split()
        found, numbers = self.composed(chosen, self.shift_mu(chosen), likely)
        near = run.rough_cost(run.composed()) < _NEAR * run.rough_cost(chosen)
        if chosen.share and (near or run.step_sensitivity > _TRUSTED):
            every = run.composed()
            others = (self.composed(every, self.shift_mu(every))[0], *others)
        best = BestOf((found, *others)) if others else found
        return Bound(best, numbers, "Gaussian shift, sampled steps composed numerically")

    def attained(self) -> Bound | None:
        """Linear losses or quadratics on an interval, the record in a batch by chance."""
        if averaged(self) or self.width() == mpf("inf"):
            return None
        return sampled_interval_instance(
            self, self.width(), steps=self.steps, batch_size=self.batch_size,
            n_records=self.n_records,
        )  # fmt: skip

    def own_mu(self, x: Numbers) -> Real:
        """2L/(bσ)."""
        return 2 * x.lipschitz / (x.batch_size * x.sigma)

    def uses(self) -> int:
        """Every step, if every batch holds the record."""
        return self.steps

    def composed_uses(self) -> Bound:
        """All sampled steps composed, which bounds every function of all iterates."""
        if self.full():
            return self.gaussian(self.composed_mu(Digits(self)))
        found, numbers = self.composed(self.run().composed(), mpf(0))
        return Bound(found, numbers, COMPOSED)

    def _full_batch(self) -> Bound:
        found, participation = self.descent(), Participation(self.steps)
        if self.width() == mpf("inf"):
            mu, counted = found.mu(participation), self.steps
        else:
            mu, counted = found.mu_bounded(participation, self.width())
        numbers = {"mu": round_up(mu), "counted_steps": float(counted)}
        return Bound(GDP(round_up(mu)), numbers, "shifted interpolation in f-DP")

    def calibration_tolerance(self) -> float:
        """What an enclosure is worth where ε is enclosed, the last double where it is exact."""
        return 0.0 if self.full() else TOLERANCE


def _in_range(value: Real) -> float:
    """A double for a search, infinite only if the value is."""
    return float(min(value, mpf("1e140"))) if value < mpf("inf") else math.inf
