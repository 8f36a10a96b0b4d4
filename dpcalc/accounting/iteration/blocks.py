"""Amplification by iteration in f-DP: what a last iterate reveals about an earlier step.

Statement
    Let Markov kernels K_1..K_T act on a space with a positively homogeneous gauge N. If the noise can
    be shared so that N(difference) shrinks by ℓ_j in kernel j, and the outputs of K_j from two points
    are no easier to tell apart than N(0, 1) from N(√c_j·N(difference), 1), then the output of the
    chain from z and z' is μ-GDP with ``μ² = N(z-z')² / Σ_j 1/(c_j Λ_j²)``, Λ_j = ℓ_1···ℓ_{j-1}.
Source
    The triangle inequality for trade-off functions behind it needs no densities and no common
    support; docs/theorems/amplification-by-iteration.md proves it and all constants below.
    docs/theorems/shifted-interpolation.md covers several passes.
Rounding
    All functions return sixty-digit numbers; callers round once, up.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcalc.accounting.iteration.descent import Descent, Visits
from dpcalc.numerics.precise import Real, context, mpf


@dataclass(frozen=True, slots=True)
class Block:
    """Noise, iteration, noise: the step whose two releases mask both parts of an ADMM state.

    Attributes:
        start: N² of the difference that the user's own iteration makes, before its noise.
        cost: c·σ²: the block's μ² per unit of N², times the noise variance.
        contraction: factor on N² of one iteration, 1 if it only does not expand.
    """

    start: Real
    cost: Real
    contraction: Real

    def mu_squared(self, sigma: float, iterations: int) -> Real:
        """μ² of the last iterate after ``iterations`` >= 2, the user's own included.

        Pairs of iterations are blocks; a spare one goes first and only contracts.
        """
        blocks, spare = divmod(iterations, 2)
        shrink = self.contraction
        if shrink == 1:
            weight = mpf(blocks)
        else:
            growth = shrink**-2
            weight = (growth**blocks - 1) / (growth - 1) / (shrink if spare else 1)
        return self.cost * self.start / (mpf(sigma) ** 2 * weight)

    def repeated_mu_squared(self, sigma: float, *, passes: int, gap: int, tail: int) -> Real:
        """μ² of the last iterate if the user takes part several times.

        A block is a step of `Descent` in the gauge N. Where a pass has an odd number of iterations
        the spare one follows the user's own; its contraction counts for the jump if all have one.

        Args:
            sigma: standard deviation of the noise.
            passes: how often the user takes part.
            gap: iterations from one own to the next, 2 or more if there are several passes.
            tail: iterations from the last own to the end, both included, 2 or more.
        """
        spare = self.contraction if gap % 2 and tail % 2 else 1
        jump = context().sqrt(self.start * spare)
        noise = mpf(sigma) / context().sqrt(self.cost)
        return Descent(self.contraction, jump, noise).mu(Visits(passes, gap // 2, tail // 2)) ** 2


def largest_eigenvalue(a: Real, b: Real, d: Real) -> Real:
    """The larger eigenvalue of [[a, b], [b, d]]."""
    ctx = context()
    return (a + d + ctx.sqrt((a - d) ** 2 + 4 * b**2)) / 2


def convex_block(
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    square: bool,
) -> Block:
    """Gradient ADMM with noise on x, convex smooth f; N² = |x|² + (η/β)|λ - βAx|².

    With e = ηβσ_min² and s = ‖(I + ηβAᵀA)⁻¹‖ (1 unless A is square) a block costs at most
    ``b² + s²(a+b)²`` subject to a² + e·b² <= N².
    """
    ctx = context()
    e = mpf(step_size) * mpf(penalty) * mpf(min_singular_value) ** 2
    s2 = 1 / (1 + e) ** 2 if square else mpf(1)
    start = (mpf(step_size) * mpf(sensitivity)) ** 2 / (1 + e if square else 1)
    return Block(start, largest_eigenvalue(s2, s2 / ctx.sqrt(e), (1 + s2) / e), mpf(1))


def gradient_noise_block(
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    operator_norm: float,
    square: bool,
) -> Block:
    """Gradient ADMM with noise on the gradient; the noise that reaches x is η(I + ηβAᵀA)⁻¹ξ.

    The cost is the worst of the smallest and the largest singular value of A.
    """
    ctx = context()
    costs = []
    for value in (min_singular_value, operator_norm):
        e = mpf(step_size) * mpf(penalty) * mpf(value) ** 2
        costs.append(largest_eigenvalue(mpf(1), 1 / ctx.sqrt(e), ((1 + e) ** 2 + 1) / e))
    least = mpf(step_size) * mpf(penalty) * mpf(min_singular_value) ** 2
    start = mpf(sensitivity) ** 2 / (1 + least if square else 1)
    return Block(start, max(costs), mpf(1))


@dataclass(frozen=True, slots=True)
class StronglyConvexNorm:
    """The norm P|x|² + Q|λ - βAx|² in which a strongly convex iteration contracts by L.

    Attributes:
        p: P = 1 - τ/η, τ = 2/(ν+μ) - η.
        q: Q = η/β + (ητ/4)σ_min(AAᵀ).
        contraction: L = max(R/P, (η/β)/Q), R = 1 - 2ηνμ/(ν+μ) + τ/η.
        descent: ϱ² = 1 - 2ηνμ/(ν+μ), the contraction of the gradient step alone.
    """

    p: Real
    q: Real
    contraction: Real
    descent: Real


def strongly_convex_norm(
    *,
    step_size: float,
    penalty: float,
    smoothness: float,
    strong_convexity: float,
    min_singular_value: float,
) -> StronglyConvexNorm:
    """P, Q, L and ϱ² of an iteration with ν-smooth, μ-strongly convex f."""
    eta, nu, mu = mpf(step_size), mpf(smoothness), mpf(strong_convexity)
    tau = 2 / (nu + mu) - eta
    descent = 1 - 2 * eta * nu * mu / (nu + mu)
    p = 1 - tau / eta
    plain = eta / mpf(penalty)
    q = plain + eta * tau / 4 * mpf(min_singular_value) ** 2
    return StronglyConvexNorm(p, q, max((descent + tau / eta) / p, plain / q), descent)


def strongly_convex_block(
    norm: StronglyConvexNorm,
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    operator_norm: float,
    square: bool,
) -> Block:
    """Gradient ADMM with noise on x and strongly convex f, in the contracting norm."""
    ctx = context()
    eta, beta = mpf(step_size), mpf(penalty)
    least, most = mpf(min_singular_value) ** 2, mpf(operator_norm) ** 2
    s2 = (1 / (1 + eta * beta * least) ** 2 if square else mpf(1)) * norm.descent
    weight = norm.q * beta**2 * least
    cost = largest_eigenvalue(s2 / norm.p, s2 / ctx.sqrt(norm.p * weight), (1 + s2) / weight)

    def stretch(x: Real) -> Real:
        return (norm.p + norm.q * beta**2 * x) / (1 + eta * beta * x) ** 2

    # The stretch has one stationary point, at which it is largest.
    peak = 1 / (eta * beta) - 2 * norm.p / (norm.q * beta**2)
    candidates = [least, most] + ([] if square else [mpf(0)])
    if (0 if not square else least) < peak < most:
        candidates.append(peak)
    start = (eta * mpf(sensitivity)) ** 2 * max(stretch(x) for x in candidates)
    return Block(start, cost, norm.contraction)


def local_mu(step_size: float, sensitivity: float, sigma: float, damping: Real) -> Real:
    """μ of one noisy iteration: ηΔ/σ, divided by 1 + e if A is square."""
    return mpf(step_size) * mpf(sensitivity) / (mpf(sigma) * damping)
