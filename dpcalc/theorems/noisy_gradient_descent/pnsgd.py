"""Amplification by iteration for projected noisy stochastic gradient descent, one pass.

Statement
    For convex, L-Lipschitz, β-smooth losses and η <= 2/β, one pass over n records in a fixed order,
    ``w ← Π(w - η(∇f(w, x_t) + N(0, σ²I)))``, is (α, 2αL²/(σ²(n + 1 - t)))-RDP for its t-th record.
    L = lipschitz, β = smoothness, η = step_size, σ = sigma, n = n_records, t = position.
Source
    Feldman, Mironov, Talwar and Thakurta 2018, section 4 (theorems 22 and 23). Restated from the
    proof, with the constants that later work cites.
Certified
    μ-GDP with ``μ = 2L/(σ√(n + 1 - t))``: the same number in the stronger notion. Linear losses
    attain it for the first record; for later ones the noise before their step counts as well.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc import checks
from dpcalc.accounting.iteration.pulled_walk import LONGEST, WEAKEST, PulledWalk
from dpcalc.guarantees import GDP, ZCDP, WorstOf
from dpcalc.guarantees.conversion import rho_for
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    CONVEX,
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    NoisyDescent,
    position_within,
    sigma_for_rho,
)
from dpcalc.theorems.parameters import count, number, weak_convexity
from dpcalc.vocabulary import Bearing, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class PNSGD(NoisyDescent):
    """One pass in a fixed order; the last iterate is released."""

    key: ClassVar[str] = "pnsgd"
    title: ClassVar[str] = "Noisy SGD, one pass, one record (amplification by iteration)"
    reference: ClassVar[str] = "Feldman, Mironov, Talwar and Thakurta 2018, theorems 22 and 23"
    statement: ClassVar[str] = "(α, 2αL²/(σ²(n + 1 - t)))-RDP for the t-th record if η <= 2/β"
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The same number holds as a Gaussian trade-off, which converts to a smaller ε. For the "
            "first record linear losses attain it.",
            Bearing.LOOSE,
        ),
        Finding(
            "Statement and constants are restated from the proof, not copied from print.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        CONVEX,
        LIPSCHITZ,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )
    example: ClassVar[Mapping[str, Any]] = {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 2,
        "n_records": 1000,
        "position": 500,
    }

    weak_convexity: float = weak_convexity()
    lipschitz: float = number("largest norm of a record's gradient, L")
    n_records: int = count("records, each used once, n")
    position: int | None = count(
        "the record's place in the order, t (the last unless given)", default=None
    )

    def _check_together(self) -> None:
        NoisyDescent._check_together(self)  # noqa: SLF001 # super() fails in dataclasses with slots
        position_within(self.position, self.n_records)

    def steps_left(self) -> int:
        """Steps from the record's own to the last, n + 1 - t."""
        return 1 if self.position is None else self.n_records + 1 - self.position

    def _rho(self) -> Real:
        return 2 * (mpf(self.lipschitz) / mpf(self.sigma)) ** 2 / self.steps_left()

    def _mu(self) -> Real:
        return self.mu_with_left(self.steps_left())

    def own_uses(self) -> tuple[Real, int]:
        """One step."""
        return 2 * mpf(self.lipschitz) / mpf(self.sigma), 1

    def claimed(self) -> Bound:
        """The printed Rényi bound, linear in the order."""
        self.require(Scope.CLAIMED)
        rho = round_up(self._rho())
        return Bound(ZCDP(rho), {"rho": rho}, "printed formula")

    def certified(self) -> Bound:
        """μ-GDP by shifted interpolation."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        mu = round_up(self._mu())
        numbers = {"mu": mu, "rho": round_up(mpf(mu) ** 2 / 2)}
        return Bound(GDP(mu), numbers, "shifted interpolation in f-DP")

    def attained(self) -> Bound:
        """Earlier records pull back with Huber losses, later ones have none: the law by its kernels.

        Or linear losses, a random walk of n steps: more where few steps come before or the pull is
        weak.
        """
        left = self.steps_left()
        lead = self.n_records - left
        if averaged(self):
            return self.averaged_instance(passes=1, gap=left, tail=left, lead=lead, linear=True)
        noise = mpf(self.sigma) * context().sqrt(self.n_records)
        mu = round_down(2 * mpf(self.lipschitz) / noise)
        pull = round_down(mpf(self.lipschitz) / mpf(self.sigma))
        if not (lead and lead <= LONGEST and pull >= WEAKEST and self.smoothness > 0):
            return Bound(GDP(mu), {"mu": mu}, "linear losses, no projection")
        slope = min(1.0, round_down(mpf(self.step_size) * mpf(self.smoothness)))
        walk = PrivacyProfile(PulledWalk(lead, left, pull, slope), "threshold test")
        method = "linear losses, or Huber losses before the record and none after it"
        return Bound(WorstOf(((1, GDP(mu)), (2, walk))), {"mu": mu, "pull": pull}, method)

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed divergence, converted at the best order, gives ε."""
        self.require(Scope.CLAIMED)
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        unit = self.replace(sigma=1.0)._rho()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=round_up(sigma_for_rho(unit, rho_for(epsilon, delta))))

    def symbolic(self) -> tuple[Formula, ...]:
        """ρ as printed and μ as certified."""
        if averaged(self) or self.contraction() > 1:
            return ()
        import sympy

        lip, s, k = sympy.symbols("L sigma k", positive=True)
        values = {"L": self.lipschitz, "sigma": self.sigma, "k": float(self.steps_left())}
        return (
            Formula("claimed.rho", 2 * lip**2 / (s**2 * k), values),
            Formula("certified.mu", 2 * lip / (s * sympy.sqrt(k)), values),
        )
