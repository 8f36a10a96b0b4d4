"""The bound for one user of gradient ADMM."""

from __future__ import annotations

from dpcalc.accounting.iteration import Kernels
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.theorems.authoring import Numbers, Real, count, theorem
from dpcalc.theorems.averages import averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.iteration._gradient_admm import GradientADMM
from dpcalc.theorems.iteration._instances import Uses, worst_mu_squared
from dpcalc.theorems.numbers import Digits


@theorem()
class FirstUser(GradientADMM):
    """The bound for one user whose iteration lies a given number of iterations before the end."""

    iterations: int = count("iterations from the user's (last) one to the last, both included", "k")
    passes: int = count("how often the user takes part", default=1)
    pass_length: int | None = count(
        "iterations from one of the user's to the next, needed with several passes", default=None
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.passes > 1 and self.pass_length is None:
            raise InvalidInput(
                "several passes need the iterations between them; "
                f"got passes={self.passes}; try --pass-length with the number of users"
            )
        if self.passes == 1 and self.pass_length is not None and self.pass_length < self.iterations:
            raise InvalidInput(
                f"pass_length={self.pass_length} with iterations={self.iterations} can mean that the "
                "user took part again, or only that others followed; got passes=1; try passes=2 or "
                "more, or leave out pass_length"
            )

    def claimed_rho(self, x: Numbers) -> Real:
        """The printed ρ: (C/T)(ηΔ)²/σ² after 2T further iterations, local for fewer than two."""
        if self.iterations < 3:
            return self.paper_unit(x) / 2
        return self.paper_constant(x) / x.floor((x.iterations - 1) / 2) * self.paper_unit(x)

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """μ-GDP by shifted interpolation or multipliers, never worse than the local bound."""
        if averaged(self):
            return self.composed_mu(x, self.passes)
        mu = self.amplified_mu(x)
        return mu, self._method(), {"mu": mu, "rho": x.up(mu) ** 2 / 2}

    def amplified_mu(self, x: Numbers) -> Real:
        """The least of the local and the amplified μ; W comes from chosen shares or multipliers."""
        if self.passes > 1:
            return x.computed(self.mu_with(self.kernels()))
        if self.iterations < 2:
            return self.local_mu(x)
        moved = x.sensitivity if self.noise_in == "gradient" else x.step_size * x.sensitivity
        start, weight = moved**2 / self.damping(x), x.named("W", self.amplification())
        return x.min(x.sqrt(start / weight) / x.sigma, self.local_mu(x))

    def _method(self) -> str:
        once = self.passes == 1 < self.iterations
        mu = self.amplified_mu(Digits(self))
        if once and round_up(self.mu_by_multipliers(self.iterations)) == round_up(mu):
            return "multipliers of the users' conditions, in f-DP"
        return "shifted interpolation in f-DP"

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
        noise, step_sensitivity = mpf(self.sigma) * scale, eta * mpf(self.sensitivity) / (1 + e)
        least = (1 - eta * mpf(self.smoothness) + e) / (1 + e)
        gap = self.pass_length or self.iterations
        most = 1 + eta * mpf(self.weakness()) / (1 + e)
        law = Averaged(step_sensitivity, noise, least, most)
        found = law.mu_squared(passes=self.passes, gap=gap, tail=self.iterations)
        mu = round_down(context().sqrt(found))
        return Bound(GDP(mu), {"mu": mu}, "the mean's exact law for quadratics, g → 0")

    def _worst_mu_squared(self) -> Real:
        uses = Uses(self.passes, self.pass_length or self.iterations, self.iterations)
        if self.passes == 1 and self.iterations == 1:
            return self.mu_local() ** 2
        found = worst_mu_squared(self, uses)
        return max(found, self.mu_attained(self.iterations) ** 2) if self.passes == 1 else found
