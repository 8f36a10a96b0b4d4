"""The bound for one user of gradient ADMM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dpcalc import checks
from dpcalc.accounting.iteration import Kernels
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.guarantees.conversion import rho_for
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import averaged
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.iteration._gradient_admm import GradientADMM
from dpcalc.theorems.iteration._instances import Uses, worst_mu_squared
from dpcalc.theorems.parameters import count


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstUser(GradientADMM):
    """The bound for one user whose iteration lies a given number of iterations before the end."""

    iterations: int = count("iterations from the user's (last) own to the last, both included, k")
    passes: int = count("how often the user takes part", default=1)
    pass_length: int | None = count(
        "iterations from one own iteration to the next, needed with several passes", default=None
    )

    def _check_together(self) -> None:
        GradientADMM._check_together(self)  # noqa: SLF001 # super() fails in dataclasses with slots
        if self.passes > 1 and self.pass_length is None:
            raise InvalidInput(
                "several passes need the iterations between them; "
                f"got passes={self.passes}; try --pass-length with the number of users"
            )

    def _rho(self) -> Real:
        return self.paper_rho(self.iterations)

    def _mu(self) -> Real:
        return self.mu_with(self.kernels())

    def amplification(self) -> Real:
        """W = start/(σ²μ²) of the better of kernels and multipliers, for one pass."""
        kernels = self.kernels()
        mu = self.mu_by_multipliers(self.iterations)
        return max(kernels.weight(self.iterations), kernels.start / (mpf(self.sigma) * mu) ** 2)

    def mu_with(self, kernels: Kernels) -> Real:
        """The smallest certified μ by one kind of kernels, over all passes."""
        if self.passes == 1 or self.pass_length is None:
            return self.mu_after(self.iterations, kernels)
        return self.mu_repeated(
            kernels, passes=self.passes, gap=self.pass_length, tail=self.iterations
        )

    def claimed(self) -> Bound:
        """The printed zCDP bound."""
        self.require(Scope.CLAIMED)
        rho = round_up(self._rho())
        return Bound(ZCDP(rho), {"rho": rho, **self.own_numbers()}, "printed formula")

    def certified(self) -> Bound:
        """μ-GDP by shifted interpolation, never worse than the local bound."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses(self.passes)
        mu = round_up(self._mu())
        numbers = {"mu": mu, "rho": round_up(mpf(mu) ** 2 / 2), **self.own_numbers()}
        once = self.passes == 1 < self.iterations
        if once and round_up(self.mu_by_multipliers(self.iterations)) == mu:
            return Bound(GDP(mu), numbers, "multipliers of the users' conditions, in f-DP")
        return Bound(GDP(mu), numbers, "shifted interpolation in f-DP")

    def attained(self) -> Bound | None:
        """The exact law of the worst one-dimensional quadratic instance found."""
        if averaged(self):
            return self.averaged_instance()
        mu = round_down(context().sqrt(self._worst_mu_squared()))
        return Bound(GDP(mu), {"mu": mu}, "quadratics in one dimension, an exact Gaussian law")

    def averaged_instance(self) -> Bound | None:
        """What the mean of x alone leaks where λ stays near zero: g → 0, f quadratic or 0."""
        eta = mpf(self.step_size)
        e = eta * mpf(self.penalty) * mpf(self.min_singular_value) ** 2
        scale = eta / (1 + e) if self.noise_in == "gradient" else mpf(1)
        noise, jump = mpf(self.sigma) * scale, eta * mpf(self.sensitivity) / (1 + e)
        least = (1 - eta * mpf(self.smoothness) + e) / (1 + e)
        gap = self.pass_length or self.iterations
        most = 1 + eta * mpf(self.weakness()) / (1 + e)
        law = Averaged(jump, noise, least, most)
        found = law.mu_squared(passes=self.passes, gap=gap, tail=self.iterations)
        mu = round_down(context().sqrt(found))
        return Bound(GDP(mu), {"mu": mu}, "the mean's exact law for quadratics, g → 0")

    def _worst_mu_squared(self) -> Real:
        uses = Uses(self.passes, self.pass_length or self.iterations, self.iterations)
        if self.passes == 1 and self.iterations == 1:
            return self.mu_local() ** 2
        found = worst_mu_squared(self, uses)
        return max(found, self.mu_attained(self.iterations) ** 2) if self.passes == 1 else found

    def calibration_tolerance(self) -> float:
        """The last double: the bound is a closed form."""
        return 0.0

    def own_numbers(self) -> dict[str, float]:
        """The theorem's own quantities."""
        return {}

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed ρ, converted at the best order, gives ε."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        target = rho_for(epsilon, delta)
        unit = self.replace(sigma=1.0)
        sigma = context().sqrt(unit._rho() / mpf(target))  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=round_up(sigma))
