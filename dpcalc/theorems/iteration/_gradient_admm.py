"""What the results on gradient ADMM share: parameters, promises and the local bound.

One iteration with the user's private f:
``y = argmin g(y) - <λ, By> + (β/2)|Ax + By - c|²``, ``λ⁺ = λ - β(Ax + By - c)``,
``x⁺ = (I + ηβAᵀA)⁻¹[x - η∇f(x) + ηAᵀ(λ⁺ + β(c - By))]``; the iterate is (x⁺ + noise, λ⁺).
Neighbouring users have gradients that differ by at most Δ everywhere.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from dpcalc import checks
from dpcalc.accounting.iteration import (
    Kernels,
    convex_kernels,
    gradient_noise_kernels,
)
from dpcalc.accounting.iteration.sector_bounds import cost_after, cost_by_table
from dpcalc.accounting.iteration.sectors import Sectors
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import context, mpf
from dpcalc.theorems.authoring import Numbers, Real, Theorem, choice, number, theorem
from dpcalc.theorems.averages import COMPOSED, last_or_average
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import flag
from dpcalc.vocabulary import Release

EXAMPLE = {
    "sensitivity": 1,
    "step_size": 0.5,
    "penalty": 1,
    "smoothness": 2,
    "operator_norm": 1,
    "min_singular_value": 1,
    "square": True,
}
"""A typical iteration; results add their noise and how often it is repeated."""


@theorem(
    noise="sigma",
    adjacency="neighbouring-functions",
)
class GradientADMM(Theorem):
    """Noisy gradient ADMM of which only the last (x, λ) is released."""

    sensitivity: float = number("largest difference of two neighbouring users' gradients", "Delta")
    step_size: float = number("step size of the gradient step", "eta")
    penalty: float = number("penalty of the augmented Lagrangian", "beta")
    sigma: float = number("standard deviation of the noise per coordinate", "sigma")
    smoothness: float = number(
        "smoothness of every user's function", "nu", check=checks.non_negative
    )
    operator_norm: float = number("largest singular value of A", "norm_A")
    min_singular_value: float = number("smallest singular value of A", "sigma_min")
    square: bool = flag("A is square (otherwise it has fewer rows than columns)")
    noise_in: Literal["state", "gradient"] = choice(
        "where noise is added: to the state x, or to the gradient",
        default="state",
    )
    release: Release = last_or_average()

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

    def paper_constant(self, x: Numbers) -> Real:
        """C = (1 + ηβ‖A‖²)·max{1, 3/(2ηβ)}."""
        pull = x.step_size * x.penalty
        return (1 + pull * x.operator_norm**2) * x.max(1, 3 / (2 * pull))

    def paper_unit(self, x: Numbers) -> Real:
        """(ηΔ)²/σ²; noise on the gradient reaches x scaled by η in the paper's reading."""
        scale = x.step_size if self.noise_in == "gradient" else 1
        return (x.step_size * x.sensitivity) ** 2 / (x.sigma * scale) ** 2

    def weakness(self) -> float:
        """The functions' weak convexity, 0 if they are convex."""
        return float(getattr(self, "weak_convexity", 0.0))

    def damping(self, x: Numbers) -> Real:
        """1 + ηβσ_min² if A is square, else 1: what one iteration divides a difference by."""
        return 1 + x.step_size * x.penalty * x.min_singular_value**2 if self.square else 1

    def local_mu(self, x: Numbers) -> Real:
        """μ of the user's iteration: ηΔ/σ over the damping, or Δ/σ for gradient noise."""
        if self.noise_in == "gradient":
            return x.sensitivity / x.sigma
        return x.step_size * x.sensitivity / (x.sigma * self.damping(x))

    def mu_local(self) -> Real:
        """The same with sixty digits."""
        return _local(self)

    def kernels(self) -> Kernels:
        """The amplifying iterations, convex functions or not, and where the noise goes."""
        expansion = 1 + mpf(self.step_size) * mpf(self.weakness())
        if self.noise_in == "gradient":
            return gradient_noise_kernels(
                **self.iteration(), operator_norm=self.operator_norm, expansion=expansion
            )
        return convex_kernels(**self.iteration(), expansion=expansion)

    def iteration(self) -> dict[str, Any]:
        """The parameters of one iteration, by the names that all kernels give them."""
        return {
            "step_size": self.step_size,
            "penalty": self.penalty,
            "sensitivity": self.sensitivity,
            "min_singular_value": self.min_singular_value,
            "square": self.square,
        }

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
        sectors, unit = _single_value(self)
        cost = (cost_by_table if table else cost_after)(sectors, iterations)
        return unit * context().sqrt(cost)

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

    def composed_mu(self, x: Numbers, uses: int) -> tuple[Real, str, dict[str, Real]]:
        """What holds for every function of all iterates, averages among them."""
        count = x.named("uses", uses)
        return self.local_mu(x) * x.sqrt(count), COMPOSED, {"uses": count}

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


@lru_cache(maxsize=64)
def _local(theorem: GradientADMM) -> Real:
    """Kept, since it is the same for thousands of users."""
    return theorem.local_mu(Digits(theorem))


@lru_cache(maxsize=64)
def _single_value(theorem: GradientADMM) -> tuple[Sectors, Real]:
    """The sectors where A has one singular value, and μ for a cost of 1; kept likewise."""
    sectors = theorem.sectors(theorem.operator_norm, wide=not theorem.square)
    scale = mpf(1) if theorem.noise_in == "gradient" else mpf(theorem.step_size)
    return sectors, scale * mpf(theorem.sensitivity) / mpf(theorem.sigma)
