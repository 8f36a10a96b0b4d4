"""Amplification by iteration for projected noisy SGD with strongly convex losses, one pass.

Statement
    For ρ-strongly convex, L-Lipschitz, β-smooth losses and η <= 2/(β + ρ), one pass over n records is
    (α, αε_i)-RDP for its i-th record, with ``ε_n = 2L²/σ²`` and, for i < n,
    ``ε_i = 2L²/((n-i)σ²)·(1 - 2ηβρ/(β+ρ))^((n-i)/2)``.
    L = lipschitz, β = smoothness, ρ = strong_convexity, η = step_size, σ = sigma, n = n_records,
    i = position.
Source
    Balle, Barthe, Gaboardi and Geumlek 2019, theorem on noisy projected SGD. Restated from the
    argument, with the constants that later work cites.
Certified
    μ-GDP with ``μ² = (2L/σ)²/Σ_{j<=n-i} c^(-2j)``, c = max(1 - ηρ, |1 - ηβ|), for every η <= 2/β: the
    exponent doubles.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc import checks
from dpcalc.accounting.iteration import Descent, Visits
from dpcalc.accounting.iteration.quadratics import Uses
from dpcalc.checks import no_bound_without
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.guarantees.conversion import rho_for
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    DIFFERENCES,
    HIDDEN,
    NO_EXPANSION,
    PUBLIC,
    STRONGLY_CONVEX,
    NoisyDescent,
    position_within,
    sigma_for_rho,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import certified_mu, contraction_of
from dpcalc.theorems.parameters import count, number
from dpcalc.vocabulary import Bearing, Status


def _too_long(theorem: PNSGDStronglyConvex) -> str | None:
    limit = 2 / (theorem.smoothness + theorem.strong_convexity)
    if theorem.step_size > limit:
        return (
            f"the paper needs step_size <= 2/(smoothness + strong_convexity) = {limit:g}; "
            f"got step_size={theorem.step_size:g}"
        )
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class PNSGDStronglyConvex(NoisyDescent):
    """One pass in a fixed order over strongly convex losses; the last iterate is released."""

    key: ClassVar[str] = "pnsgd-strongly-convex"
    title: ClassVar[str] = "Noisy SGD, one pass, strongly convex losses"
    reference: ClassVar[str] = (
        "Balle, Barthe, Gaboardi and Geumlek 2019, theorem on noisy projected SGD"
    )
    statement: ClassVar[str] = (
        "(α, αε_i)-RDP for the i-th of n records, ε_i = 2L²/((n-i)σ²)·(1 - 2ηβρ/(β+ρ))^((n-i)/2)"
    )
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The shifts are shared so that the bound decays like c^(n-i); the best shifts grow "
            "geometrically and give c^(2(n-i)).",
            Bearing.LOOSE,
            lambda theorem: theorem.steps_left() > 1,
        ),
        Finding(
            "The gradient step contracts by max(1 - ηρ, |1 - ηβ|), which is below "
            "√(1 - 2ηβρ/(β+ρ)) unless η = 2/(β+ρ).",
            Bearing.LOOSE,
            lambda theorem: theorem.steps_left() > 1,
        ),
        Finding(
            "The same bound holds as a Gaussian trade-off, which converts to a smaller ε.",
            Bearing.LOOSE,
        ),
        Finding(
            "Losses that are Lipschitz and strongly convex exist on bounded domains only. The proof "
            "uses that gradients of two records differ by at most 2L.",
            Bearing.REMARK,
        ),
        Finding(
            "Statement and constants are restated from the argument, not copied from print.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        STRONGLY_CONVEX,
        DIFFERENCES,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION,
        LAST_ONLY,
        Assumption(
            "paper-step-size",
            "The step size is at most 2/(smoothness + strong_convexity).",
            Scope.CLAIMED,
            _too_long,
        ),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "strong_convexity": 0.5,
        "sigma": 2,
        "n_records": 1000,
        "position": 980,
    }

    strong_convexity: float = number(
        "strong convexity of every record's loss, ρ",
        check=no_bound_without("0", "try pnsgd, for convex losses"),
    )
    lipschitz: float = number("largest norm of a record's gradient, L")
    n_records: int = count("records, each used once, n")
    position: int | None = count(
        "the record's place in the order, i (the last unless given)", default=None
    )

    def _check_together(self) -> None:
        NoisyDescent._check_together(self)  # noqa: SLF001 # super() fails in dataclasses with slots
        position_within(self.position, self.n_records)

    def steps_left(self) -> int:
        """Steps from the record's own to the last, n + 1 - i."""
        return 1 if self.position is None else self.n_records + 1 - self.position

    def _rho(self) -> Real:
        unit = 2 * (mpf(self.lipschitz) / mpf(self.sigma)) ** 2
        later = self.steps_left() - 1
        if not later:
            return unit
        eta, beta, rho = mpf(self.step_size), mpf(self.smoothness), mpf(self.strong_convexity)
        square = max(1 - 2 * eta * beta * rho / (beta + rho), mpf(0))
        return unit / later * context().sqrt(square) ** later

    def descent(self) -> Descent:
        """The differing step: 2ηL against noise ησ, then contractions."""
        eta = mpf(self.step_size)
        jump, noise = 2 * eta * mpf(self.lipschitz), eta * mpf(self.sigma)
        return Descent(self.contraction(), jump, noise)

    def own_uses(self) -> tuple[Real, int]:
        """One step."""
        return 2 * mpf(self.lipschitz) / mpf(self.sigma), 1

    def claimed(self) -> Bound:
        """The printed Rényi bound, linear in the order."""
        self.require(Scope.CLAIMED)
        rho = round_up(self._rho())
        return Bound(ZCDP(rho), {"rho": rho}, "printed formula")

    def certified(self) -> Bound:
        """μ-GDP by shifted interpolation with the best shifts."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        mu = round_up(self.descent().mu(Visits(1, tail=self.steps_left())))
        numbers = {
            "mu": mu,
            "rho": round_up(mpf(mu) ** 2 / 2),
            "contraction": round_up(self.contraction()),
        }
        return Bound(GDP(mu), numbers, "shifted interpolation in f-DP")

    def attained(self) -> Bound:
        """Quadratics and linear changes: earlier steps forget, later ones keep."""
        left = self.steps_left()
        if averaged(self):
            return self.averaged_instance(passes=1, gap=left, tail=left, lead=self.n_records - left)
        return self.quadratic_instance(Uses(self.n_records - left, 1, left, left))

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed divergence, converted at the best order, gives ε."""
        self.require(Scope.CLAIMED)
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        unit = self.replace(sigma=1.0)._rho()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=round_up(sigma_for_rho(unit, rho_for(epsilon, delta))))

    def symbolic(self) -> tuple[Formula, ...]:
        """ρ as printed and μ as certified."""
        if averaged(self):
            return ()
        import sympy

        lip, s, eta, low, high = sympy.symbols("L sigma eta m M", positive=True)
        c, _ = contraction_of(self)
        mu = certified_mu(
            self.descent(),
            Visits(1, tail=self.steps_left()),
            contraction=c,
            jump=2 * eta * lip,
            noise=eta * s,
        )
        values = {
            "L": self.lipschitz,
            "sigma": self.sigma,
            "eta": self.step_size,
            "m": self.strong_convexity,
            "M": self.smoothness,
        }
        later = self.steps_left() - 1
        printed = 2 * lip**2 / s**2
        if later:
            printed *= sympy.sqrt(1 - 2 * eta * low * high / (low + high)) ** later / later
        found = (Formula("certified.mu", mu, values),)
        if self.violations_of_claim():
            return found
        return (Formula("claimed.rho", printed, values), *found)
