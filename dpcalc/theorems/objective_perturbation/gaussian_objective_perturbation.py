"""Objective perturbation with Gaussian noise.

Statement
    (ε, δ)-DP if σ² = ζ²(8 ln(2/δ) + 4ε)/ε² and λ >= 2β/ε

    Of the exact minimiser of ``Σ ℓ(f; record) + r(f) + (λ/2)|f|² + bᵀf``, b ~ N(0, σ²I).
    ζ = gradient_bound, β = curvature, λ = regularization, σ = sigma.
Source
    Kifer, Smith and Thakurta 2012, Gaussian noise

    The text was not available: the formulas are those of two public implementations, and what the paper
    calls neighbours was not seen; ζ being the norm of one record's gradient, it is read as one record
    added or removed.
Certified
    The law of `dpcalc.accounting.losses.gaussian_update`, without condition on λ; several updates
    compose by their laws.
Attained
    Records in the linear part of their losses: Gaussian mechanisms with sensitivity ζ, or 2ζ where one
    record replaces another.
Rounding
    Sixty digits for μ and κ, then up; laws and their composition outward.
"""

from __future__ import annotations

from typing import Any, Self

from dpcalc import checks
from dpcalc.errors import Infeasible
from dpcalc.guarantees import ClaimedCurve
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.theorems.authoring import finding, theorem
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


@theorem(
    status="loose",
    example={"regularization": 10, "sigma": 10},
)
class GaussianObjectivePerturbation(NormalObjective):
    """The (ε, δ) of Kifer, Smith and Thakurta."""

    findings = (
        finding(
            "Half of ε is kept for the Jacobian and the normal tail is bounded by an exponential; the "
            "law of the update needs neither.",
            "loose",
        ),
        TIED,
    )
    assumptions = (*MARGIN_PROMISES, ONE_UPDATE, ONE_RECORD)

    def claimed(self) -> Bound:
        """The ε at which the printed σ is the given one, at least 2β/λ."""
        self.require(Scope.CLAIMED)
        numbers = {"smallest_epsilon": round_up(self._smallest_epsilon())}
        return Bound(ClaimedCurve(self._claimed_epsilon, numbers), numbers, "printed formula")

    def _smallest_epsilon(self) -> Any:
        return 2 * mpf(self.largest_curvature) / mpf(self.regularization.first)

    def _claimed_epsilon(self, delta: float) -> float:
        """The root of ``σ²ε² - 4ζ²ε - 8ζ² ln(2/δ) = 0``."""
        square = (mpf(self.gradient_bound) / mpf(self.sigma.first)) ** 2
        logarithm = context().log(2 / mpf(delta))
        root = 2 * square + context().sqrt(4 * square**2 + 8 * square * logarithm)
        return float(max(root, self._smallest_epsilon()))

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ by the printed formula, if λ is large enough."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        if mpf(epsilon) < (least := self._smallest_epsilon()):
            raise Infeasible(
                f"the paper needs λ >= 2β/ε = {float(2 * self.largest_curvature / epsilon):.6g}; got "
                f"regularization={self.regularization}; epsilon {float(least):.6g} or more would do"
            )
        sigma = _printed_sigma(Digits(self), self.gradient_bound, mpf(epsilon), mpf(delta))
        return self.with_noise_level(round_up(sigma))

    def symbolic(self) -> tuple[Formula, ...]:
        """The prescribed σ, and μ of the moved noise."""
        x = Symbols(self)
        sigma = _printed_sigma(x, self.gradient_bound, x.symbol("epsilon"), x.symbol("delta"))
        return shown("prescribed.sigma", sigma, x), self.shown_noise()


def _printed_sigma(x: Numbers, gradient_bound: float, epsilon: Real, delta: Real) -> Real:
    """``ζ√(8 ln(2/δ) + 4ε)/ε``."""
    bound = x.named("L", gradient_bound)
    return bound * x.sqrt(8 * x.log(2 / delta) + 4 * epsilon) / epsilon
