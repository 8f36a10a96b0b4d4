"""Utility of gradient-perturbed ADMM (DP-ADMM).

Statement
    R(x̃, ỹ) <= [|G|/(2ηT) + ρ|AᵀA|/(2T) + L_f|A†(A†)ᵀ|/(2ρT)] |x₀ - x*|² + ησ²d₁

    With f convex and L_f-smooth, ``η <= 1/L_f``, ``G = γI - ηρAᵀA ≽ I``, A of full row rank and the
    initial dual ``-(1/ρ)(Aᵀ)†∇f(x₀)``, for the averages of T rounds; R is the sum of the Bregman
    distances of f and g to the optimum. With ``σ² = c²αT/(2n²εμ)``, ``α = ln(1/δ)/((1-μ)ε) + 1`` the
    best T is of order ``n√(εμ)/√(αηd₁)``.
    A = matrix, |x₀ - x*| = distance, c = gradient_bound.
Source
    Shang et al. 2021, theorem 2, appendix B
Certified
    ``E R <= γ|x₀ - x*|²/(2ηT) + D²/(2ρT) + (η/γ)σ²d₁`` for ``η(L_f + ρ|A|²) <= γ``: the first two
    printed terms add up to less than their norms, and the noise reaches x with step η/γ. D bounds the
    distance of the initial dual from the optimal one: ``L_f|x₀ - x*|/σ_min(A)`` as printed (the paper
    forgets a square), ``|(Aᵀ)†∇f(x*)|`` from zero.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.authoring import assume, finding, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import Rate, no_bound
from dpcalc.theorems.convergence._gradient_perturbed_admm import GradientPerturbedADMM
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.numbers import Digits, Numbers, Symbols

_MOST_SIMULATED = 20_000


def _step_too_long(result: DPADMMUtility) -> str | None:
    if result.step_size * result.smoothness > 1:
        return f"the paper needs step_size at most 1/smoothness = {1 / result.smoothness:.6g}"
    return None


def _weight_too_small(result: DPADMMUtility) -> str | None:
    needed = result.least_weight()
    if result.weight() < needed * (1 - 1e-12):
        return f"the paper needs proximal_weight at least ηρ|AᵀA| + 1 = {needed:.6g}"
    return None


def _rank_deficient(result: DPADMMUtility) -> str | None:
    if result.matrix.row_rank_margin > 0:
        return None
    return "the rows of A are not linearly independent, so lemma 4 fails"


def _other_start(result: DPADMMUtility) -> str | None:
    if result.dual_start != "data":
        return "the printed algorithm starts the dual from the data; try dual-start data"
    return None


@theorem(
    quantity="E R(x̃, ỹ), Bregman distance of the averages to the optimum",
    example={
        "matrix": 1,
        "dimension": 10,
        "penalty": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "distance": 3,
        "sigma": 0.05,
        "rounds": 1000,
    },
)
class DPADMMUtility(GradientPerturbedADMM):
    """Expected distance from optimality of the averages of DP-ADMM."""

    findings = (
        finding(
            "The term L_f|A†(A†)ᵀ| must be L_f²|A†(A†)ᵀ|: it comes from "
            "|∇f(x₀) - ∇f(x*)|² <= L_f²|x₀ - x*|².",
            "proof fails",
            lambda result: result.smoothness > 1 and result.dual_start == "data",
        ),
        finding(
            "For L_f below 1 the forgotten square makes the printed term too large.",
            "loose",
            lambda result: result.smoothness <= 1 and result.dual_start == "data",
        ),
        finding(
            "From a zero dual the term becomes |(Aᵀ)†∇f(x*)|²/(2ρT); only that start, or a noised "
            "one, is private.",
            "remark",
            lambda result: result.dual_start != "data",
        ),
        finding(
            "The G and AᵀA terms add up to γ/(2ηT) exactly, and the noise term is (η/γ)σ²d₁, smaller "
            "by γ.",
            "loose",
        ),
        finding(
            "A of full row rank fails for the paper's own A = [W; I], and lemma 4 with it: for "
            "A = [2; 1], f = (x - 3)²/2, g = |y|₁/2 the optimal dual is (0.5, 0.5), the formula gives "
            "(0.6, 0.3).",
            "proof fails",
            lambda result: _rank_deficient(result) is not None,
        ),
        finding(
            "R does not measure feasibility |Ax + By - c|; it is zero wherever both gradients are "
            "matched.",
            "remark",
        ),
        finding(
            "The experiments use γ = 1, which violates γ >= ηρ|AᵀA| + 1; η(L_f + ρ|A|²) <= γ is "
            "enough.",
            "remark",
        ),
    )
    assumptions = (
        assume("smooth", "f is convex and smoothness-smooth, g is convex."),
        assume("optimum", "The problem has an optimum with a multiplier."),
        assume("distance", "distance bounds |x₀ - x*|."),
        assume("step-size", "The step size is at most 1/L_f.", "claimed", _step_too_long),
        assume("proximal-weight", "γ >= ηρ|AᵀA| + 1.", "claimed", _weight_too_small),
        assume("full-row-rank", "A has full row rank.", "claimed", _rank_deficient),
        assume("printed-start", "The initial dual is the printed one.", "claimed", _other_start),
    )

    def _summed(self, start: Real, noise: Real, method: str, start_noise: Real = 0) -> Rate:
        """``(start + start_noise·σ²)/T + noise·σ²``, at the given T or the best for the budget."""
        if self.sigma is not None:
            rounds, variance = self.rounds or 1, mpf(self.sigma) ** 2
            value = (start + start_noise * variance) / rounds + noise * variance
            return Rate(round_up(value), {"rounds": rounds, "sigma": self.sigma}, method)
        per_round, split = self.variance_per_round()
        best = int(context().sqrt(start / (noise * per_round)))
        value, rounds = min(
            (start / t + (start_noise + noise * t) * per_round, t)
            for t in ([self.rounds] if self.rounds else [max(best, 1), best + 1])
        )
        sigma = round_up(context().sqrt(per_round * rounds))
        return Rate(round_up(value), {"rounds": rounds, "sigma": sigma, "split": split}, method)

    def printed_start(self, x: Numbers) -> Real:
        """The printed bracket times |x₀ - x*|² T."""
        top, least = (
            x.named("normA", self.matrix.norm),
            x.named("minA", self.matrix.row_rank_margin),
        )
        column = x.named("colA", self.matrix.column_margin)
        largest = x.named("gamma", self.weight()) - x.step_size * x.penalty * column**2
        start = largest / (2 * x.step_size) + x.penalty * top**2 / 2
        start += x.smoothness / (2 * x.penalty * least**2)
        return start * x.named("r", self.distance) ** 2

    def printed_noise(self, x: Numbers) -> Real:
        """ηd₁, per unit of variance."""
        return x.step_size * x.named("d_1", self.coordinates)

    def proved_start(self, x: Numbers, dual: Real) -> Real:
        """γ|x₀ - x*|²/(2η) + D²/(2ρ), D the distance of the initial dual from the optimal one."""
        gamma, r = x.named("gamma", self.weight()), x.named("r", self.distance)
        return gamma * r**2 / (2 * x.step_size) + dual**2 / (2 * x.penalty)

    def proved_noise(self, x: Numbers) -> Real:
        """(η/γ)d₁, per unit of variance."""
        gamma = x.named("gamma", self.weight())
        return x.step_size / gamma * x.named("d_1", self.coordinates)

    def claimed(self) -> Rate:
        """The printed sum."""
        self.require(Scope.CLAIMED)
        x = Digits(self)
        return self._summed(self.printed_start(x), self.printed_noise(x), "printed formula")

    def certified(self) -> Rate:
        """The corrected and tightened sum."""
        self.require(Scope.CERTIFIED)
        x = Digits(self)
        if self.proved_weight() > mpf(self.weight()):
            return no_bound("η(L_f + ρ|A|²) exceeds γ; try a smaller step-size")
        dual = self._dual_distance()
        if dual is None:
            return no_bound(
                "the initial dual cannot be compared with the optimal one; "
                "try dual-start zero with multiplier-norm or gradient-bound"
            )
        start, method = self.proved_start(x, dual), "exact identities of the proof, square restored"
        return self._summed(start, self.proved_noise(x), method, self._start_noise())

    def _start_noise(self) -> Real:
        """What noise in the initial dual adds, per unit of variance: ``|(Aᵀ)†|²_F/(2ρ)`` at most."""
        if self.dual_start != "noised":
            return mpf(0)
        rows = self.coordinates if self.matrix.scaled_identity else len(self.matrix.rows)
        return rows / (2 * mpf(self.penalty) * mpf(self.matrix.row_rank_margin) ** 2)

    def _dual_distance(self) -> Real | None:
        """A bound of ``ρ|u₀ - u*|`` without its noise, None if there is none."""
        margin = mpf(self.matrix.row_rank_margin)
        largest = None if self.gradient_bound is None else mpf(self.gradient_bound)
        if self.dual_start == "zero":
            if self.multiplier_norm is not None:
                return mpf(self.multiplier_norm)
            return largest / margin if largest is not None and margin > 0 else None
        if margin == 0:
            return None
        apart = mpf(self.smoothness) * mpf(self.distance)
        return (apart if largest is None else min(apart, 2 * largest)) / margin

    def attained(self) -> Rate | None:
        """A quadratic without noise, in the direction of the smallest singular value of A.

        ``f = (L_f/2)|x|²``, ``g = (k/2)|y|²``, B = -I, c = 0: everything happens on a line. Noise only
        adds to R of quadratics.
        """
        rounds = self.rounds
        margin = self.matrix.row_rank_margin
        if rounds is None or rounds > _MOST_SIMULATED or margin == 0:
            return None
        if self.gradient_bound is not None and self.dual_start != "zero":
            return None  # the gradients of this problem may be larger
        worst = max(self._on_a_line(margin, self.penalty * k, rounds) for k in (0.1, 0.3, 1, 3, 10))
        return Rate(worst * (1 - 1e-9), {"rounds": rounds}, "quadratic on a line, no noise")

    def _on_a_line(self, s: float, k: float, rounds: int) -> float:
        eta, rho, gamma, smooth = self.step_size, self.penalty, self.weight(), self.smoothness
        x, u = self.distance, 0.0
        if self.dual_start != "zero":
            u = -smooth * x / (rho * s)
        x_sum = y_sum = 0.0
        for _ in range(rounds):
            y = rho * (s * x + u) / (rho + k)
            x = x - eta / gamma * (smooth * x + rho * s * (s * x - y + u))
            u = u + s * x - y
            x_sum, y_sum = x_sum + x, y_sum + y
            if not abs(x) < 1e150:
                return 0.0
        return (smooth * x_sum**2 + k * y_sum**2) / (2 * rounds**2)

    def symbolic(self) -> tuple[Formula, ...]:
        """The printed sum and the certified one from the printed start."""
        formulas = []
        if not self.violations(Scope.CLAIMED):
            x = Symbols(self)
            printed = (self.printed_start(x), self.printed_noise(x))
            formulas.append(self._total(x, "claimed", *printed, self.claimed()))
        margin = self.matrix.row_rank_margin
        if self.dual_start == "data" and self.gradient_bound is None and margin > 0:
            x = Symbols(self)
            dual = x.smoothness * x.named("r", self.distance) / x.named("minA", margin)
            proved = (self.proved_start(x, dual), self.proved_noise(x))
            formulas.append(self._total(x, "certified", *proved, self.certified()))
        return tuple(formulas)

    def _total(self, x: Symbols, which: str, start: Real, noise: Real, rate: Rate) -> Formula:
        rounds, sigma = (
            x.named(symbol, rate.numbers.get(name, getattr(self, name)))
            for symbol, name in (("T", "rounds"), ("sigma", "sigma"))
        )
        return shown(f"{which}.value", start / rounds + sigma**2 * noise, x)
