"""Noisy SGD, one pass, one record (amplification by iteration).

Statement
    (α, 2αL²/(σ²(n + 1 - t)))-RDP for the t-th record if η <= 2/β

    With convex, L-Lipschitz, β-smooth losses, after one pass over n records in a fixed order,
    ``w ← Π(w - η(∇f(w, x_t) + N(0, σ²I)))``.
    β = smoothness, t = position.
Source
    Feldman, Mironov, Talwar and Thakurta 2018, theorems 22 and 23

    Restated from the proof in section 4, with the constants that later work cites.
Certified
    μ-GDP with ``μ = 2L/(σ√(n + 1 - t))``: the same number in the stronger notion. Linear losses
    attain it for the first record; for later ones the noise before their step counts as well.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.accounting.iteration.pulled_walk import LONGEST, WEAKEST, PulledWalk
from dpcalc.guarantees import GDP, WorstOf
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.numerics.precise import context, mpf, round_down
from dpcalc.theorems.authoring import Numbers, Real, count, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import (
    CONVEX,
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    OnePass,
)
from dpcalc.theorems.parameters import weak_convexity


@theorem(
    status="loose",
    example={
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 2,
        "n_records": 1000,
        "position": 500,
    },
)
class PNSGD(OnePass):
    """One pass in a fixed order; the last iterate is released."""

    findings = (
        finding(
            "The same number holds as a Gaussian trade-off, which converts to a smaller ε. For the "
            "first record linear losses attain it.",
            "loose",
        ),
        finding(
            "Statement and constants are restated from the proof, not copied from print.",
            "remark",
        ),
    )
    assumptions = (
        CONVEX,
        LIPSCHITZ,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )

    weak_convexity: float = weak_convexity()
    lipschitz: float = number("largest norm of a record's gradient", "L")
    n_records: int = count("records, each used once", "n")
    position: int | None = count(
        "the record's place in the order, t (the last unless given)", default=None
    )

    def own_mu(self, x: Numbers) -> Real:
        """2L/σ."""
        return 2 * x.lipschitz / x.sigma

    def claimed_rho(self, x: Numbers) -> Real:
        """The printed divergence per order, 2L²/(σ²(n + 1 - t))."""
        return 2 * (x.lipschitz / x.sigma) ** 2 / x.named("k", self.steps_left())

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """By shifted interpolation: 2L/(σ√(n + 1 - t)) for convex losses."""
        if averaged(self):
            return self.composed_mu(x)
        left = x.named("k", self.steps_left())
        walk = None if self.contraction() > 1 else lambda: self.own_mu(x) / x.sqrt(left)
        mu = x.computed(self.mu_with_left(self.steps_left()), walk)
        return mu, "shifted interpolation in f-DP", {"rho": x.up(mu) ** 2 / 2}

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
