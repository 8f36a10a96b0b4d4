"""What the results on gradient ADMM share: parameters, promises and the local bound.

One iteration with the user's private f:
``y = argmin g(y) - <λ, By> + (β/2)|Ax + By - c|²``, ``λ⁺ = λ - β(Ax + By - c)``,
``x⁺ = (I + ηβAᵀA)⁻¹[x - η∇f(x) + ηAᵀ(λ⁺ + β(c - By))]``; the iterate is (x⁺ + noise, λ⁺).
Neighbouring users have gradients that differ by at most Δ everywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dpcalc import checks
from dpcalc.accounting.iteration import (
    Kernels,
    convex_kernels,
    gradient_noise_kernels,
    local_mu,
)
from dpcalc.accounting.iteration.sector_bounds import cost_after, cost_by_table
from dpcalc.accounting.iteration.sectors import Sectors
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.averages import COMPOSED, RELEASES
from dpcalc.theorems.base import Bound, Theorem
from dpcalc.theorems.parameters import choice, flag, number, release
from dpcalc.vocabulary import Adjacency, Release


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientADMM(Theorem):
    """Noisy gradient ADMM of which only the last (x, λ) is released."""

    releases: ClassVar[tuple[Release, ...]] = RELEASES
    adjacency: ClassVar[Adjacency] = Adjacency.NEIGHBOURING_FUNCTIONS
    noise: ClassVar[str] = "sigma"

    sensitivity: float = number("largest difference of two neighbouring users' gradients, Δ")
    step_size: float = number("step size of the gradient step, η")
    penalty: float = number("penalty of the augmented Lagrangian, β")
    sigma: float = number("standard deviation of the noise per coordinate, σ")
    smoothness: float = number("smoothness of every user's function, ν", check=checks.non_negative)
    operator_norm: float = number("largest singular value of A, ‖A‖")
    min_singular_value: float = number("smallest singular value of A, σ_min")
    square: bool = flag("A is square (otherwise it has fewer rows than columns)")
    noise_in: str = choice(
        "where noise is added: to the state x, or to the gradient",
        ("state", "gradient"),
        default="state",
    )
    release: Release = release(
        "what is seen: the last iterate, or the mean of all iterates", RELEASES
    )
    attest: Iterable[str] = dataclasses.field(default=())

    def _check_together(self) -> None:
        if self.min_singular_value > self.operator_norm:
            raise InvalidInput(
                "min_singular_value needs to be at most operator_norm; got "
                f"min_singular_value={self.min_singular_value:g}, operator_norm={self.operator_norm:g}"
            )
        if self.weakness() > self.smoothness:
            raise InvalidInput(
                "weak_convexity needs to be at most smoothness; got "
                f"weak_convexity={self.weakness():g}, smoothness={self.smoothness:g}"
            )

    def paper_sigma(self) -> Real:
        """σ in the paper's formulas: noise on the gradient reaches x scaled by η in its reading."""
        scale = mpf(self.step_size) if self.noise_in == "gradient" else mpf(1)
        return mpf(self.sigma) * scale

    def paper_constant(self) -> Real:
        """C = (1 + ηβ‖A‖²)·max{1, 3/(2ηβ)}."""
        pull = mpf(self.step_size) * mpf(self.penalty)
        return (1 + pull * mpf(self.operator_norm) ** 2) * max(mpf(1), 3 / (2 * pull))

    def paper_rho(self, iterations: int) -> Real:
        """The printed ρ: (C/T)(ηΔ)²/σ² after 2T further iterations, local for fewer than two."""
        unit = (mpf(self.step_size) * mpf(self.sensitivity)) ** 2 / self.paper_sigma() ** 2
        blocks = (iterations - 1) // 2
        return self.paper_constant() / blocks * unit if blocks else unit / 2

    def weakness(self) -> float:
        """The functions' weak convexity, 0 if they are convex."""
        return float(getattr(self, "weak_convexity", 0.0))

    def damping(self) -> Real:
        """1 + ηβσ_min² if A is square, else 1: what one iteration divides a difference by."""
        e = mpf(self.step_size) * mpf(self.penalty) * mpf(self.min_singular_value) ** 2
        return 1 + e if self.square else mpf(1)

    def mu_local(self) -> Real:
        """μ of the user's own iteration: ηΔ/σ over the damping, or Δ/σ for gradient noise."""
        if self.noise_in == "gradient":
            return mpf(self.sensitivity) / mpf(self.sigma)
        return local_mu(self.step_size, self.sensitivity, self.sigma, self.damping())

    def kernels(self) -> Kernels:
        """The amplifying iterations, convex functions or not, and where the noise goes."""
        expansion = 1 + mpf(self.step_size) * mpf(self.weakness())
        if self.noise_in == "gradient":
            return gradient_noise_kernels(
                step_size=self.step_size,
                penalty=self.penalty,
                sensitivity=self.sensitivity,
                min_singular_value=self.min_singular_value,
                operator_norm=self.operator_norm,
                square=self.square,
                expansion=expansion,
            )
        return convex_kernels(
            step_size=self.step_size,
            penalty=self.penalty,
            sensitivity=self.sensitivity,
            min_singular_value=self.min_singular_value,
            square=self.square,
            expansion=expansion,
        )

    def curvature(self) -> float:
        """The least eigenvalue of a user's Hessian."""
        return -self.weakness()

    def least_kept(self, value: float) -> Real:  # of a curved g only
        """The least share of w that a step of the dual variable keeps at a singular value of A."""
        return mpf(0)

    def sectors(self, value: float, *, wide: bool) -> Sectors:
        """What an iteration may do to a difference along one singular value of A."""
        eta = mpf(self.step_size)
        pull = eta * mpf(self.penalty) * mpf(value) ** 2
        cost = (1 + pull) ** 2 if self.noise_in == "gradient" else mpf(1)
        least, most = 1 - eta * mpf(self.smoothness), 1 - eta * mpf(self.curvature())
        return Sectors(pull, cost, least, most, self.least_kept(value), wide)

    def mu_by_multipliers(self, iterations: int, *, table: bool = False) -> Real:
        """μ if A has one singular value, else infinite; a table serves all numbers of iterations."""
        if self.min_singular_value != self.operator_norm:
            return mpf("inf")
        sectors = self.sectors(self.operator_norm, wide=not self.square)
        cost = (cost_by_table if table else cost_after)(sectors, iterations)
        scale = mpf(1) if self.noise_in == "gradient" else mpf(self.step_size)
        return scale * mpf(self.sensitivity) / mpf(self.sigma) * context().sqrt(cost)

    def mu_after(self, iterations: int, kernels: Kernels, *, table: bool = False) -> Real:
        """The smallest certified μ of a user with this many iterations, their own included."""
        if iterations < 2:
            return self.mu_local()
        by_kernels = context().sqrt(kernels.mu_squared(self.sigma, iterations))
        return min(by_kernels, self.mu_by_multipliers(iterations, table=table), self.mu_local())

    def mu_repeated(self, kernels: Kernels, *, passes: int, gap: int, tail: int) -> Real:
        """The smallest certified μ of a user who takes part several times.

        The least of: all passes amplified; all but the last, which is paid locally; composition.
        """
        local = self.mu_local() ** 2
        found = [passes * local]
        if gap >= 2:
            earlier = kernels.repeated_mu_squared(self.sigma, passes=passes - 1, gap=gap, tail=gap)
            found.append(earlier + local)
        if tail >= 2:
            found.append(kernels.repeated_mu_squared(self.sigma, passes=passes, gap=gap, tail=tail))
        return context().sqrt(min(found))

    def composed_uses(self, uses: int) -> Bound:
        """What holds for every function of all iterates, averages among them."""
        mu = round_up(self.mu_local() * context().sqrt(uses))
        return Bound(GDP(mu), {"mu": mu, "uses": float(uses)}, COMPOSED)

    def mu_attained(self, iterations: int) -> Real:
        """μ that a concrete instance reaches: f = 0, B = I, g → 0.

        There λ stays zero and x performs a random walk. Along a singular vector of A the previous
        iterate can be read off λ, so k - 1 noises count; in the kernel of A all k do.
        """
        walk = self.mu_local() / context().sqrt(max(iterations - 1, 1))
        if self.square or self.noise_in == "gradient":
            return walk
        damped = mpf(self.step_size) * mpf(self.penalty) * mpf(self.min_singular_value) ** 2
        return max(walk / (1 + damped), self.mu_local() / context().sqrt(iterations))
