"""Amplification by iteration for gradient ADMM, strongly convex.

Statement
    ρ = (C/T) L^(T-1) (ηΔ)²/σ² after 2T further iterations, L = max(R/P, S/Q) < 1

    With f ν-smooth and μ-strongly convex and g μ_g-strongly convex, one iteration contracts the
    squared norm ``P|x|² + Q|λ - βAx|²`` by L, where τ = 2/(ν+μ) - η, P = 1 - τ/η,
    R = 1 - 2ηνμ/(ν+μ) + τ/η, S = η/β, Q = S + (ητ/4)σ_min(AAᵀ); the rest is the convex bound.
    k = 2T + 1.
Source
    Chan, Xie and Zhao 2023, lemma 7.6, theorem 7.2, corollary 7.3

    The contraction is lemma 7.6, its use lemma 7.7.
Certified
    The same chain in f-DP in the contracting norm, with its own start and kernels that share their
    noises: ``μ² = start/(σ² Σ_{t<k} L^(1-t)/λ_t)``; never above the convex or the local bound.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.accounting.iteration import (
    Kernels,
    StronglyConvexNorm,
    strongly_convex_kernels,
    strongly_convex_norm,
)
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import context, mpf
from dpcalc.theorems.authoring import Numbers, Real, assume, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.iteration._assumptions import ONE_PASS, REDUCED, USERS
from dpcalc.theorems.iteration._first_user import FirstUser
from dpcalc.theorems.iteration._instances import Uses, worst_mu_squared


def admissible_steps(
    *,
    penalty: float,
    smoothness: float,
    strong_convexity: float,
    regularizer_strong_convexity: float,
    coupling_norm: float,
) -> tuple[Real, Real]:
    """The open interval of step sizes in which an iteration contracts."""
    ctx = context()
    total = mpf(smoothness) + mpf(strong_convexity)
    root = ctx.sqrt(total**2 + 8 * mpf(smoothness) * mpf(strong_convexity))
    coupled = 2 * mpf(regularizer_strong_convexity) / (mpf(penalty) * mpf(coupling_norm)) ** 2
    return max(4 / (total + root), 2 / total - coupled), 2 / total


def _outside(theorem: ADMMIterationStronglyConvex) -> str | None:
    low, high = theorem.steps()
    if not low < mpf(theorem.step_size) < high:
        return (
            f"an iteration contracts for step sizes between {float(low):.6g} and {float(high):.6g}; "
            f"got step_size={theorem.step_size:g}; try the midpoint {float((low + high) / 2):.6g}"
        )
    return None


def _state_noise(theorem: ADMMIterationStronglyConvex) -> str | None:
    if theorem.noise_in == "gradient":
        return "the strongly convex result is for noise on the state; try noise-in state"
    return None


@theorem(
    status="loose",
    example={
        "sensitivity": 1,
        "step_size": 1.753086,
        "penalty": 0.9,
        "sigma": 1,
        "iterations": 10,
        "smoothness": 0.5,
        "strong_convexity": 0.5,
        "regularizer_strong_convexity": 0.2,
        "coupling_norm": 1,
        "operator_norm": 1,
        "min_singular_value": 1,
        "square": True,
    },
)
class ADMMIterationStronglyConvex(FirstUser):
    """Strongly convex users and regulariser; the last iterate is released."""

    findings = (
        finding(
            "L^(T-1)/T bounds 1/Σ_{j<T} L^(-2j) from above, by a factor that grows like L^(1-T), and "
            "every noise masks one part of the state where half of it would do.",
            "loose",
        ),
        finding(
            "The constants of the printed theorem are lost in the source text; the claim here is the "
            "convex bound's form with the factor L^(T-1), as its proof gives it.",
            "loose",
        ),
        finding(
            "The paper's own experiment uses f(x) = (aᵀx - b)², whose Hessian has rank one: it is not "
            "strongly convex, and the result does not apply to it. Its table prints a step size that "
            "is not the midpoint it describes.",
            "remark",
        ),
    )
    assumptions = (
        *USERS,
        assume(
            "strongly-convex",
            "Every user's function is strong_convexity-strongly convex, g is "
            "regularizer_strong_convexity-strongly convex.",
        ),
        assume("step-size", "The step size lies where an iteration contracts.", "both", _outside),
        assume("state-noise", "Noise is added to the state.", "both", _state_noise),
        REDUCED,
        ONE_PASS,
        LAST_ONLY,
    )

    strong_convexity: float = number("strong convexity of every user's function", "mu")
    regularizer_strong_convexity: float = number("strong convexity of g, μ_g")
    coupling_norm: float = number("spectral norm of AᵀB")

    def _check_together(self) -> None:
        super()._check_together()
        if self.strong_convexity > self.smoothness:
            raise InvalidInput(
                "strong_convexity needs to be at most smoothness; got "
                f"strong_convexity={self.strong_convexity:g}, smoothness={self.smoothness:g}"
            )

    def steps(self) -> tuple[Real, Real]:
        """The admissible step sizes."""
        return admissible_steps(
            penalty=self.penalty,
            smoothness=self.smoothness,
            strong_convexity=self.strong_convexity,
            regularizer_strong_convexity=self.regularizer_strong_convexity,
            coupling_norm=self.coupling_norm,
        )

    def norm(self) -> StronglyConvexNorm:
        """P, Q, L and ϱ²."""
        return strongly_convex_norm(
            step_size=self.step_size,
            penalty=self.penalty,
            smoothness=self.smoothness,
            strong_convexity=self.strong_convexity,
            min_singular_value=self.min_singular_value,
        )

    def contracting(self) -> Kernels:
        """The amplifying iterations in the contracting norm."""
        return strongly_convex_kernels(
            self.norm(), **self.iteration(), operator_norm=self.operator_norm
        )

    def contraction(self, x: Numbers) -> Real:
        """L = max(R/P, (η/β)/Q)."""
        eta, nu, mu = x.step_size, x.smoothness, x.strong_convexity
        tau, plain = 2 / (nu + mu) - eta, eta / x.penalty
        descent = 1 - 2 * eta * nu * mu / (nu + mu)
        q = plain + eta * tau / 4 * x.min_singular_value**2
        return x.max((descent + tau / eta) / (1 - tau / eta), plain / q)

    def claimed_rho(self, x: Numbers) -> Real:
        """The convex users' ρ times L^(T-1)."""
        rho = super().claimed_rho(x)
        if self.iterations < 3:
            return rho
        return rho * self.contraction(x) ** (x.floor((x.iterations - 1) / 2) - 1)

    def own_numbers(self, x: Numbers) -> dict[str, Real]:
        """L."""
        return {} if averaged(self) else {"contraction": self.contraction(x)}

    def amplified_mu(self, x: Numbers) -> Real:
        """The less of the bounds in both norms."""
        return x.computed(min(self.mu_with(self.kernels()), self.mu_with(self.contracting())))

    def averaged_instance(self) -> Bound | None:
        """None: a curved g moves λ, and nothing is known of the mean then."""
        return None

    def curvature(self) -> float:
        """The strong convexity."""
        return self.strong_convexity

    def least_kept(self, value: float) -> Real:
        """The r of the least curved g, with B as large as its coupling allows."""
        curved = mpf(self.regularizer_strong_convexity)
        return curved / (curved + mpf(self.penalty) * (mpf(self.coupling_norm) / mpf(value)) ** 2)

    def _worst_mu_squared(self) -> Real:
        if self.passes == 1 and self.iterations == 1:
            return self.mu_local() ** 2
        uses = Uses(self.passes, self.pass_length or self.iterations, self.iterations)
        return worst_mu_squared(self, uses)
