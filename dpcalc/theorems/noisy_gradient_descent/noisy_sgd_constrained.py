"""Noisy SGD with sampled batches on a bounded domain.

Statement
    (α, ε)-RDP with ε ≲ (αL²/(n²σ²))·min{T, Dn/(Lη)}

    On a convex domain of diameter D, with convex L-Lipschitz M-smooth losses, batches of b of n
    records drawn at random in every step, η <= 2/M, σ > 8√2·L/b and orders below α*, after T steps
    ``w ← Π(w - (η/b)Σ∇f_i(w) + N(0, η²σ²I))``.
    M = smoothness.
Source
    Altschuler and Talwar 2022, theorem 1.3, section 3

    The constants hidden in ≲ are reconstructed from the proof: half of the noise for the shift,
    S_α(q, s) <= 2αq²/s² for a sampled Gaussian, s = bσ/(2√2L); from T = ⌈Dn/(4Lη)⌉ =: τ on the claim is
    ``(αL²/(n²σ²))(16τ + (Dn/(Lη))²/τ)``, below that 16T in place of the bracket.
Certified
    The same two ideas for trade-off functions, in doubles of the best split found: τ sampled steps
    composed numerically with one Gaussian shift; the full batch by shifted interpolation. No
    condition on σ, b or an order; strongly convex losses as well.
Rounding
    The shift and the steps' μ with sixty digits, up; the composition is an enclosure's upper end.
"""

from __future__ import annotations

import math
from typing import Self

from dpcalc import checks
from dpcalc.errors import Infeasible
from dpcalc.theorems.authoring import Numbers, Real, assume, finding, theorem
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._sampled import (
    EXAMPLE,
    ON_A_DOMAIN,
    SampledDescent,
    domain_diameter,
)
from dpcalc.theorems.numbers import Digits


def _outside(theorem: NoisySGDConstrained) -> str | None:
    """The sampled Gaussian's simple bound is for rates up to 1/5 and noise above 4."""
    if theorem.batch_size == theorem.n_records:
        return None
    least = 8 * math.sqrt(2) * theorem.lipschitz / theorem.batch_size
    if 5 * theorem.batch_size > theorem.n_records or theorem.sigma <= least:
        return (
            f"the paper needs batch_size <= n_records/5 and sigma > 8√2·L/b = {least:g}; "
            f"got batch_size={theorem.batch_size}, n_records={theorem.n_records}, "
            f"sigma={theorem.sigma:g}"
        )
    return None


@theorem(
    claim_is="reconstructed",
    status="loose",
    example=EXAMPLE,
)
class NoisySGDConstrained(SampledDescent):
    """Batches drawn without replacement in every step; the last iterate is released."""

    findings = (
        finding(
            "The paper states the bound up to a constant; the constants of the claim here are "
            "reconstructed from its proof and attested by the derivation on this result's page.",
            "loose",
        ),
        finding(
            "Half of the noise for the shift, and a bound on sampled Gaussians that is loose by a "
            "factor of four, cost most; numerical composition needs neither, nor any condition on σ, "
            "the batch size or an order.",
            "loose",
        ),
        finding(
            "The claim is the same for strongly convex losses, for which the shift's cost decays "
            "geometrically.",
            "loose",
            lambda t: t.curvature() > 0,
        ),
    )
    assumptions = (
        *ON_A_DOMAIN,
        assume(
            "paper-regime",
            "batch_size <= n_records/5 and sigma > 8√2·lipschitz/batch_size, or a full batch.",
            "claimed",
            _outside,
        ),
    )

    diameter: float = domain_diameter()

    def claimed_divergence(self, x: Numbers) -> Real:
        """(L²/(n²σ²))·min{16T, 16τ + (Dn/(Lη))²/τ}, τ = ⌈Dn/(4Lη)⌉, the latter from T = τ on."""
        ratio = x.diameter * x.n_records / (x.lipschitz * x.step_size)
        counted = x.ceil(ratio / 4)
        bracket = 16 * x.steps
        if self.saturated():
            bracket = x.min(16 * counted + ratio**2 / counted, bracket)
        return (x.lipschitz / (x.n_records * x.sigma)) ** 2 * bracket

    def saturated(self) -> bool:
        """Whether T is at least τ."""
        x = Digits(self)
        return bool(x.steps >= x.ceil(x.diameter * x.n_records / (4 * x.lipschitz * x.step_size)))

    def largest_order(self) -> float:
        """α*(q, s): up to where the sampled Gaussian's simple bound is proved."""
        if self.batch_size == self.n_records:
            return math.inf
        s = self.batch_size * self.sigma / (2 * math.sqrt(2) * self.lipschitz)
        s = min(max(s, 1e-150), 1e150)  # beyond, its square leaves the doubles
        q = self.batch_size / self.n_records

        def admits(order: float) -> bool:
            m = math.log1p(1 / (q * (order - 1)))
            first = m * s**2 / 2 - 2 * math.log(s)
            second = (m**2 * s**2 / 2 - math.log(5) - 2 * math.log(s)) / (
                m + math.log(q * order) + 1 / (2 * s**2)
            )
            return order <= first and (order <= second or m + math.log(q * order) <= 0)

        if not admits(1 + 1e-9):
            return 1.0
        from dpcalc.numerics.search import largest_where

        high = 2.0
        while admits(high):
            high *= 2
        return largest_where(admits, 1 + 1e-9, high)

    def certified(self) -> Bound:
        """A Gaussian shift and the sampled steps after it; or shifted interpolation."""
        return self.proved()

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the reconstructed curve, converted at the best order, gives ε.

        Raises:
            Infeasible: if that σ lies outside the paper's regime.
        """
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        from dpcalc.numerics.search import smallest_where

        least = math.nextafter(8 * math.sqrt(2) * self.lipschitz / self.batch_size, math.inf)
        low = least if self.batch_size < self.n_records else self.sigma * 1e-12

        def meets(sigma: float) -> bool:
            return self.replace(sigma=sigma).claimed().guarantee.epsilon(delta) <= epsilon

        if meets(low):
            raise Infeasible(
                f"the paper needs sigma > 8√2·L/b = {least:g}, where it already gives less than "
                f"epsilon={epsilon:g}; try a smaller epsilon"
            )
        high = 2 * low
        while not meets(high):
            high *= 2
            if high > 1e15 * low:
                raise Infeasible(f"no sigma makes the reconstructed curve give epsilon={epsilon:g}")
        return self.replace(sigma=smallest_where(meets, high / 2, high))
