"""Noisy gradient descent over cyclic batches, several passes.

Statement
    μ-GDP, μ = √(1 + c^(2l-2)(1-c²)/(1-c^l)²·(1-c^(l(E-1)))/(1+c^(l(E-1))))·L/(bσ)

    With m-strongly convex, M-smooth losses whose gradients move by at most L if a record is
    replaced, for E passes over l batches of b records, ``x ← Π(x - η((1/b)Σ∇f_i(x) + N(0, σ²I)))``;
    c = max(|1 - ηm|, |1 - ηM|).
    m = strong_convexity, M = smoothness.
Source
    Bok, Su and Altschuler 2024, noisy cyclic gradient descent

    For convex losses (c = 1) the limit is 1 + (E-1)/l under the root.
Certified
    The cheapest shifts, for the record's own position, a fixed or a random order: never above the
    claim, below it where the last use is better paid together with the earlier ones.
Rounding
    Sixty digits, then up; for random orders the sum over positions is rounded up.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from dpcalc.accounting.iteration.quadratics import Uses
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.authoring import Numbers, Real, finding, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import (
    EXPANDED,
    HIDDEN,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    SENSITIVITY,
    STRONGLY_CONVEX,
)
from dpcalc.theorems.noisy_gradient_descent._cyclic import CyclicDescent
from dpcalc.theorems.noisy_gradient_descent._walls import (
    EXCEEDS_ON_A_DOMAIN,
    domain,
    meets_walls,
    quadratic_instance,
)
from dpcalc.theorems.numbers import Digits


@theorem(
    status="loose",
    example={
        "sensitivity": 1,
        "batch_size": 50,
        "n_batches": 10,
        "passes": 12,
        "step_size": 0.25,
        "smoothness": 2,
        "strong_convexity": 0.125,
        "sigma": 0.1,
    },
)
class NoisyCGD(CyclicDescent):
    """Cyclic batches, several passes; the last iterate is released."""

    findings = (
        finding(
            "The printed shifts pay the last use of the record on its own. Where earlier uses weigh "
            "more, sharing the noise of the last step among all is cheaper.",
            "loose",
            lambda t: t.merges(),
        ),
        finding(
            "Optimal among all shifts for the worst position: the printed formula is the cheapest "
            "allocation here.",
            "remark",
            lambda t: t.order == "fixed" and t.contraction() <= 1 and not t.merges(),
        ),
        finding(
            "The claim is for the worst position in the order; a record whose batch comes earlier is "
            "protected by the steps after it.",
            "loose",
            lambda t: t.position is not None and t.position < t.n_batches,
        ),
        finding(
            "For a random order the positions' profiles are averaged; in a new order each pass all "
            "passes but the last are counted at their worst.",
            "loose",
            lambda t: t.order != "fixed",
        ),
    )
    assumptions = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )

    domain: Literal["any", "none"] = domain()

    def claimed_mu(self, x: Numbers) -> Real:
        """The printed μ, for the worst position; for c = 1 its limit."""
        c, batches, rest = self.factor(x), self.n_batches, self.n_batches * (self.passes - 1)
        if c == 1:
            square = 1 + (x.passes - 1) / x.n_batches
        else:
            ratio = (1 - c**rest) / (1 + c**rest)
            square = 1 + c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2 * ratio
        return x.sqrt(square) * self.own_mu(x)

    def merges(self) -> bool:
        """Whether it is cheaper not to pay the last use on its own, in the worst position."""
        if self.contraction() > 1:
            return False
        return bool(self.mu_left(1) < self.claimed_mu(Digits(self)) * (1 - mpf("1e-40")))

    def method(self) -> str:
        """The cheapest shifts."""
        expands = EXPANDED if self.contraction() > 1 else ""
        return "shifted interpolation in f-DP, cheapest shifts" + expands

    def schedule(self) -> Uses:
        """When the record is used."""
        tail = self.participation().steps_after
        return Uses(self.n_batches - tail, self.passes, self.n_batches, tail)

    def attained(self) -> Bound | None:
        """Quadratics: an exact Gaussian law, on a domain with walls all that is certified."""
        if self.order != "fixed":
            return None
        uses = self.schedule()
        if averaged(self):
            return self.averaged_instance(**asdict(uses))
        mu, projected = self.mu_left(uses.tail), self.domain == "any"
        return quadratic_instance(self, mu, uses, projected=projected)

    def counterexample(self) -> str:
        """The instance, and whether it needs a domain."""
        walls = self.domain == "any" and not averaged(self) and meets_walls(self, self.schedule())
        return EXCEEDS_ON_A_DOMAIN if walls else super().counterexample()
