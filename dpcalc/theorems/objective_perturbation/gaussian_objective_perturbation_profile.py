"""Privacy profile of objective perturbation with Gaussian noise.

Statement
    δ(ε) = 2H(ε - C), C = -ln(1 - β/λ), H the profile of a Gaussian mechanism with μ = L/σ, for ε >=
    C + μ²/2 and λ > β

    Of the exact minimiser of ``Σ ℓ(f; record) + (λ/2)|f|² + bᵀf``, b ~ N(0, σ²I); for smaller ε
    ``δ(ε) = 1 - e^x + 2e^x H(μ²/2)``, ``x = ε - C - μ²/2``.
    L = gradient_bound, β = curvature, λ = regularization, σ = sigma.
Source
    Redberg, Koskela and Wang 2023, (ε, δ) bound

    The text was not available: the formula is that of the authors' published code, and what the paper
    calls neighbours was not seen; L and β being those of one record, it is read as one record added or
    removed.
Certified
    The law of `dpcalc.accounting.losses.gaussian_update`, for every λ > 0; several updates compose
    by their laws.
Attained
    Records in the linear part of their losses: Gaussian mechanisms with sensitivity L, or 2L where one
    record replaces another.
Rounding
    Sixty digits for μ and κ, then up; laws and their composition outward.
"""

from __future__ import annotations

from typing import Self

from dpcalc import checks
from dpcalc.accounting.gaussian import gaussian_delta
from dpcalc.errors import Infeasible
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.numerics.search import smallest_where
from dpcalc.theorems.authoring import assume, finding, theorem
from dpcalc.theorems.base import Bound, Formula, Scope
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.numbers import Digits, Numbers, Real, Symbols
from dpcalc.theorems.objective_perturbation._normal import (
    MARGIN_PROMISES,
    ONE_RECORD,
    ONE_UPDATE,
    TIED,
    NormalObjective,
)


def _not_stiff(theorem: Profile) -> str | None:
    if not theorem.regularization.first > theorem.largest_curvature:
        return (
            f"the paper needs λ > β; got regularization={theorem.regularization}, "
            f"curvature={theorem.largest_curvature:g}; try a larger regularization"
        )
    return None


@theorem(
    status="loose",
    example={"regularization": 10, "sigma": 5},
)
class Profile(NormalObjective):
    """The δ(ε) of Redberg, Koskela and Wang."""

    findings = (
        finding(
            "Both tails of the noise are charged, where outcomes of one of them speak for the other "
            "data set; and the Jacobian is charged in full at every outcome.",
            "loose",
        ),
        finding(
            "One record changes the determinant by a factor of at most 1 + β/λ, which is less than "
            "1/(1 - β/λ) and needs no λ > β.",
            "loose",
        ),
        TIED,
    )
    assumptions = (
        *MARGIN_PROMISES,
        ONE_UPDATE,
        assume("stiffness", "λ > β.", "claimed", _not_stiff),
        ONE_RECORD,
    )

    def claimed(self) -> Bound:
        """The printed profile."""
        self.require(Scope.CLAIMED)
        numbers = {"jacobian": round_up(self.jacobian(Digits(self)))}
        return Bound(PrivacyProfile(self.printed, "printed profile"), numbers, "printed profile")

    def jacobian(self, x: Numbers) -> Real:
        """C of the statement."""
        beta = x.named("beta", self.largest_curvature)
        return -x.log(1 - beta / x.named("lambda", self.regularization.first))

    def printed(self, epsilon: float) -> float:
        """δ(ε) as printed."""
        mu = mpf(self.gradient_bound) / mpf(self.sigma.first)
        left = mpf(epsilon) - self.jacobian(Digits(self))
        half = mu**2 / 2
        if left >= half:
            return min(1.0, 2 * gaussian_delta(round_up(mu), float(left)))
        growth = context().exp(left - half)
        end = mpf(gaussian_delta(round_up(mu), float(half)))
        return min(1.0, float(1 - growth + 2 * growth * end))

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """The smallest σ whose printed profile is at most δ at ε."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        self.require(Scope.CLAIMED)
        if mpf(epsilon) <= (kept := self.jacobian(Digits(self))):
            raise Infeasible(
                f"the paper's bound keeps {float(kept):.6g} for the Jacobian; got "
                f"epsilon={epsilon:g}; try a larger regularization"
            )

        def enough(sigma: float) -> bool:
            return self.with_noise_level(sigma).printed(epsilon) <= delta

        low = high = self.gradient_bound
        while not enough(high):
            high *= 4
        while enough(low):
            low /= 4
        return self.with_noise_level(smallest_where(enough, low, high))

    def symbolic(self) -> tuple[Formula, ...]:
        """What is kept for the Jacobian, and μ of the moved noise."""
        x = Symbols(self)
        return shown("claimed.jacobian", self.jacobian(x), x), self.shown_noise()
