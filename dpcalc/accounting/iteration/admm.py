"""Gradient ADMM as a chain of kernels: its norms, its starts and what a kernel costs.

Statement
    One iteration with noise on x, or on the gradient, does not expand
    ``N² = |x|² + (η/β)|λ - βAx|²`` for convex f, multiplies it by c² at most if the gradient step is
    c-Lipschitz, c >= 1, and contracts ``N² = P|x|² + Q|λ - βAx|²`` by L for
    strongly convex f. η = step_size, β = penalty, e = ηβσ_min(A)².
Source
    docs/theorems/amplification-by-iteration.md.
Rounding
    All functions return sixty-digit numbers; callers round once, up.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcalc.accounting.iteration.kernels import Direction, Kernels
from dpcalc.numerics.precise import Real, mpf


def convex_kernels(
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    square: bool,
    expansion: Real = 1,
) -> Kernels:
    """Noise on x, smooth f: a kernel costs ``b²/w + q(a+b)²``, a² + e·b² <= N².

    q = 1/((1+e)²x) if A is square; otherwise at least 1, the noise in the kernel of A being left
    whole to the later stage; times the square of ``expansion``, what a gradient step multiplies
    distances by at most: 1 for convex f.
    """
    e = mpf(step_size) * mpf(penalty) * mpf(min_singular_value) ** 2
    start = (mpf(step_size) * mpf(sensitivity)) ** 2 / (1 + e if square else 1)
    one, grown = mpf(1), mpf(expansion) ** 2
    direction = Direction(one, e, one, grown, 1 / (1 + e) ** 2, mpf(0) if square else one)
    return Kernels(start, grown, (direction,))


def gradient_noise_kernels(
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    operator_norm: float,
    square: bool,
    expansion: Real = 1,
) -> Kernels:
    """Noise on the gradient; the noise that reaches x is η(I + ηβAᵀA)⁻¹ξ.

    A kernel costs ``(1+e)²b²/w + q(a+b)²`` along a singular direction, the smallest or the largest;
    q = 1/x times the square of ``expansion``.
    """
    grown = mpf(expansion) ** 2
    one, scale = mpf(1), mpf(step_size) * mpf(penalty)
    ends = [scale * mpf(value) ** 2 for value in (min_singular_value, operator_norm)]
    directions = tuple(Direction(one, e, (1 + e) ** 2, grown, one, mpf(0)) for e in ends)
    start = mpf(sensitivity) ** 2 / (1 + ends[0] if square else 1)
    return Kernels(start, grown, directions)


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


def strongly_convex_kernels(
    norm: StronglyConvexNorm,
    *,
    step_size: float,
    penalty: float,
    sensitivity: float,
    min_singular_value: float,
    operator_norm: float,
    square: bool,
) -> Kernels:
    """Noise on x and strongly convex f, in the contracting norm; q gains the factor ϱ²."""
    eta, beta = mpf(step_size), mpf(penalty)
    least, most = mpf(min_singular_value) ** 2, mpf(operator_norm) ** 2
    damping = 1 / (1 + eta * beta * least) ** 2
    weight = norm.q * beta**2 * least
    floor = mpf(0) if square else mpf(1)
    direction = Direction(norm.p, weight, mpf(1), norm.descent, damping, floor)

    def stretch(x: Real) -> Real:
        return (norm.p + norm.q * beta**2 * x) / (1 + eta * beta * x) ** 2

    # The stretch has one stationary point, at which it is largest.
    peak = 1 / (eta * beta) - 2 * norm.p / (norm.q * beta**2)
    candidates = [least, most] + ([] if square else [mpf(0)])
    if (0 if not square else least) < peak < most:
        candidates.append(peak)
    start = (eta * mpf(sensitivity)) ** 2 * max(stretch(x) for x in candidates)
    return Kernels(start, norm.contraction, (direction,))


def local_mu(step_size: float, sensitivity: float, sigma: float, damping: Real) -> Real:
    """μ of one noisy iteration: ηΔ/σ, divided by 1 + e if A is square."""
    return mpf(step_size) * mpf(sensitivity) / (mpf(sigma) * damping)
