"""Noisy SGD, one pass, strongly convex losses.

Statement
    (α, αε_i)-RDP for the i-th of n records, ε_i = 2L²/((n-i)σ²)·(1 - 2ηβρ/(β+ρ))^((n-i)/2)

    With ρ-strongly convex, L-Lipschitz, β-smooth losses and η <= 2/(β + ρ), after one pass over n
    records, for i < n; ``ε_n = 2L²/σ²``.
    β = smoothness, ρ = strong_convexity, i = position.
Source
    Balle, Barthe, Gaboardi and Geumlek 2019, theorem on noisy projected SGD

    Restated from the argument, with the constants that later work cites.
Certified
    μ-GDP with ``μ² = (2L/σ)²/Σ_{j<=n-i} c^(-2j)``, c = max(1 - ηρ, |1 - ηβ|), for every η <= 2/β: the
    exponent doubles.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from dpcalc.accounting.iteration import NoisyContraction, Participation
from dpcalc.accounting.iteration.quadratics import Uses
from dpcalc.checks import no_bound_without
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import (
    DIFFERENCES,
    HIDDEN,
    NO_EXPANSION,
    PUBLIC,
    STRONGLY_CONVEX,
    OnePass,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import last_iterate_mu
from dpcalc.theorems.noisy_gradient_descent._walls import (
    EXCEEDS_ON_A_DOMAIN,
    domain,
    meets_walls,
    quadratic_instance,
)
from dpcalc.theorems.numbers import Digits


def _too_long(theorem: PNSGDStronglyConvex) -> str | None:
    limit = 2 / (theorem.smoothness + theorem.strong_convexity)
    if theorem.step_size > limit:
        return (
            f"the paper needs step_size <= 2/(smoothness + strong_convexity) = {limit:g}; "
            f"got step_size={theorem.step_size:g}"
        )
    return None


@theorem(
    status="loose",
    example={
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "strong_convexity": 0.5,
        "sigma": 2,
        "n_records": 1000,
        "position": 980,
    },
)
class PNSGDStronglyConvex(OnePass):
    """One pass in a fixed order over strongly convex losses; the last iterate is released."""

    findings = (
        finding(
            "The shifts are shared so that the bound decays like c^(n-i); the best shifts grow "
            "geometrically and give c^(2(n-i)).",
            "loose",
            lambda t: t.steps_left() > 1,
        ),
        finding(
            "The gradient step contracts by max(1 - ηρ, |1 - ηβ|), which is below "
            "√(1 - 2ηβρ/(β+ρ)) unless η = 2/(β+ρ).",
            "loose",
            lambda t: t.steps_left() > 1,
        ),
        finding(
            "The same bound holds as a Gaussian trade-off, which converts to a smaller ε.",
            "loose",
        ),
        finding(
            "Losses that are Lipschitz and strongly convex exist on bounded domains only. The proof "
            "uses that gradients of two records differ by at most 2L.",
            "remark",
        ),
        finding(
            "Statement and constants are restated from the argument, not copied from print.",
            "remark",
        ),
    )
    assumptions = (
        STRONGLY_CONVEX,
        DIFFERENCES,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION,
        LAST_ONLY,
        assume(
            "paper-step-size",
            "The step size is at most 2/(smoothness + strong_convexity).",
            "claimed",
            _too_long,
        ),
    )

    strong_convexity: float = number(
        "strong convexity of every record's loss, ρ",
        check=no_bound_without("0", "try pnsgd, for convex losses"),
    )
    lipschitz: float = number("largest norm of a record's gradient", "L")
    n_records: int = count("records, each used once", "n")
    position: int | None = count(
        "the record's place in the order, i (the last unless given)", default=None
    )

    domain: Literal["any", "none"] = domain()

    def claimed_rho(self, x: Numbers) -> Real:
        """The printed divergence per order, 2L²/(kσ²)·(1 - 2ηβρ/(β+ρ))^(k/2), k = n - i."""
        unit, later = 2 * (x.lipschitz / x.sigma) ** 2, self.steps_left() - 1
        if not later:
            return unit
        low, high = x.named("m", self.strong_convexity), x.named("M", self.smoothness)
        square = 1 - 2 * x.step_size * low * high / (low + high)
        return unit / later * x.sqrt(square) ** later

    def steps(self, x: Numbers) -> NoisyContraction:
        """The differing step: 2ηL against noise ησ, then contractions."""
        return NoisyContraction(
            self.factor(x), 2 * x.step_size * x.lipschitz, x.step_size * x.sigma
        )

    def own_mu(self, x: Numbers) -> Real:
        """2L/σ."""
        return 2 * x.lipschitz / x.sigma

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """By shifted interpolation with the best shifts."""
        if averaged(self):
            return self.composed_mu(x)
        participation = Participation(1, steps_after=self.steps_left())
        mu = last_iterate_mu(x, self.steps(Digits(self)), self.steps(x), participation)
        more = {"rho": x.up(mu) ** 2 / 2, "contraction": self.factor(x)}
        return mu, "shifted interpolation in f-DP", more

    def schedule(self) -> Uses:
        """When the record is used."""
        left = self.steps_left()
        return Uses(self.n_records - left, 1, left, left)

    def attained(self) -> Bound:
        """Quadratics: a wall forgets what came before, later steps keep; all that is certified."""
        uses = self.schedule()
        if averaged(self):
            return self.averaged_instance(**asdict(uses))
        mu = self.steps(Digits(self)).mu(Participation(1, steps_after=uses.tail))
        return quadratic_instance(self, mu, uses, projected=self.domain == "any")

    def counterexample(self) -> str:
        """The instance, and whether it needs a domain."""
        walls = self.domain == "any" and not averaged(self) and meets_walls(self, self.schedule())
        return EXCEEDS_ON_A_DOMAIN if walls else super().counterexample()
