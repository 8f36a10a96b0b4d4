"""DP-ADMM: how far the averaged iterates are from optimal.

Statement
    With f convex and L_f-smooth, ``η <= 1/L_f``, ``G = γI - ηρAᵀA ≽ I``, A of full row rank and the
    initial dual ``-(1/ρ)(Aᵀ)†∇f(x₀)``, the averages of T rounds have
    ``R(x̃, ỹ) <= [|G|/(2ηT) + ρ|AᵀA|/(2T) + L_f|A†(A†)ᵀ|/(2ρT)] |x₀ - x*|² + ησ²d₁``, R the sum of the
    Bregman distances of f and g to the optimum; with ``σ² = c²αT/(2n²εμ)``,
    ``α = ln(1/δ)/((1-μ)ε) + 1`` the best T is of order ``n√(εμ)/√(αηd₁)``.
    η = step_size, γ = proximal_weight, ρ = penalty, L_f = smoothness, A = matrix, d₁ = dimension,
    |x₀ - x*| = distance, T = rounds, c = gradient_bound, n = n_records, μ = split.
Source
    Shang, Xu, Liu, Liu, Shen and Gong 2021, theorem 2 with appendix B.
Certified
    ``E R <= γ|x₀ - x*|²/(2ηT) + D²/(2ρT) + (η/γ)σ²d₁`` for ``η(L_f + ρ|A|²) <= γ``: the first two
    printed terms add up to less than their norms, and the noise reaches x with step η/γ. D bounds the
    distance of the initial dual from the optimal one: ``L_f|x₀ - x*|/σ_min(A)`` as printed (the paper
    forgets a square), ``|(Aᵀ)†∇f(x*)|`` from zero.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.numerics.search import minimise
from dpcalc.theorems.base import Assumption, Finding, Formula, Scope
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate, no_bound
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.parameters import choice, count, matrix, number
from dpcalc.vocabulary import Bearing

_MOST_SIMULATED = 20_000


def _open_unit(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise InvalidInput(f"{name} needs a number strictly between 0 and 1; got {name}={value!r}")
    return value


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


@dataclass(frozen=True, kw_only=True, slots=True)
class DPADMMUtility(ConvergenceResult):
    """Expected distance from optimality of the averages of DP-ADMM."""

    key: ClassVar[str] = "dp-admm-utility"
    title: ClassVar[str] = "Utility of gradient-perturbed ADMM (DP-ADMM)"
    reference: ClassVar[str] = "Shang et al. 2021, theorem 2, appendix B"
    statement: ClassVar[str] = (
        "R(x̃, ỹ) <= [|G|/(2ηT) + ρ|AᵀA|/(2T) + L_f|A†(A†)ᵀ|/(2ρT)] |x₀ - x*|² + ησ²d₁"
    )
    quantity: ClassVar[str] = "E R(x̃, ỹ), Bregman distance of the averages to the optimum"
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The term L_f|A†(A†)ᵀ| must be L_f²|A†(A†)ᵀ|: it comes from "
            "|∇f(x₀) - ∇f(x*)|² <= L_f²|x₀ - x*|².",
            Bearing.PROOF_FAILS,
            lambda result: result.smoothness > 1 and result.dual_start == "data",
        ),
        Finding(
            "For L_f below 1 the forgotten square makes the printed term too large.",
            Bearing.LOOSE,
            lambda result: result.smoothness <= 1 and result.dual_start == "data",
        ),
        Finding(
            "From a zero dual the term becomes |(Aᵀ)†∇f(x*)|²/(2ρT); only that start, or a noised "
            "one, is private.",
            Bearing.REMARK,
            lambda result: result.dual_start != "data",
        ),
        Finding(
            "The G and AᵀA terms add up to γ/(2ηT) exactly, and the noise term is (η/γ)σ²d₁, smaller "
            "by γ.",
            Bearing.LOOSE,
        ),
        Finding(
            "A of full row rank fails for the paper's own A = [W; I], and lemma 4 with it: for "
            "A = [2; 1], f = (x - 3)²/2, g = |y|₁/2 the optimal dual is (0.5, 0.5), the formula gives "
            "(0.6, 0.3).",
            Bearing.PROOF_FAILS,
            lambda result: _rank_deficient(result) is not None,
        ),
        Finding(
            "R does not measure feasibility |Ax + By - c|; it is zero wherever both gradients are "
            "matched.",
            Bearing.REMARK,
        ),
        Finding(
            "The experiments use γ = 1, which violates γ >= ηρ|AᵀA| + 1; η(L_f + ρ|A|²) <= γ is "
            "enough.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        Assumption("smooth", "f is convex and smoothness-smooth, g is convex."),
        Assumption("optimum", "The problem has an optimum with a multiplier."),
        Assumption("distance", "distance bounds |x₀ - x*|."),
        Assumption("step-size", "The step size is at most 1/L_f.", Scope.CLAIMED, _step_too_long),
        Assumption("proximal-weight", "γ >= ηρ|AᵀA| + 1.", Scope.CLAIMED, _weight_too_small),
        Assumption("full-row-rank", "A has full row rank.", Scope.CLAIMED, _rank_deficient),
        Assumption(
            "printed-start", "The initial dual is the printed one.", Scope.CLAIMED, _other_start
        ),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "matrix": 1,
        "dimension": 10,
        "penalty": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "distance": 3,
        "sigma": 0.05,
        "rounds": 1000,
    }

    matrix: Matrix = matrix("constraint matrix A: @file, or a number for a multiple of I")  # noqa: RUF009
    dimension: int | None = count(
        "coordinates of x, d₁ (the columns of A unless given)", default=None
    )
    penalty: float = number("penalty of the augmented Lagrangian, ρ")
    step_size: float = number("step size, η")
    proximal_weight: float | None = number(
        "γ in G = γI - ηρAᵀA (the smallest the paper allows unless given)", default=None
    )
    smoothness: float = number("smoothness of f, L_f")
    distance: float = number("bound of |x₀ - x*|")
    sigma: float | None = number(
        "standard deviation of the noise per coordinate, σ (from the budget unless given)",
        check=checks.non_negative,
        default=None,
    )
    rounds: int | None = count("iterations, T (the best number unless given)", default=None)
    dual_start: str = choice(
        "where the initial dual comes from: the data as printed, zero, or a gradient with noise",
        ("data", "zero", "noised"),
        default="data",
    )
    gradient_bound: float | None = number("largest norm of a record's gradient, c", default=None)
    multiplier_norm: float | None = number(
        "bound of the norm of the optimal multiplier ρu* (from gradient_bound and A unless given)",
        check=checks.non_negative,
        default=None,
    )
    n_records: int | None = count("records, n, for the paper's noise", default=None)
    epsilon: float | None = number("ε of the budget, for the paper's noise", default=None)
    delta: float | None = number(
        "δ of the budget, for the paper's noise", check=_open_unit, default=None
    )
    split: float | None = number(
        "the paper's free μ in (0, 1) (the best unless given)", check=_open_unit, default=None
    )
    attest: Iterable[str] = dataclasses.field(default=())

    def _check_together(self) -> None:
        columns = self.matrix.columns
        if columns is None and self.dimension is None:
            raise InvalidInput("a matrix given as a number needs dimension; try --dimension 10")
        if columns is not None and self.dimension not in (None, columns):
            raise InvalidInput(
                f"dimension needs to be the columns of A; got dimension={self.dimension}, "
                f"columns={columns}"
            )
        budget = (self.n_records, self.epsilon, self.delta, self.gradient_bound)
        if self.sigma is None and None in budget:
            raise InvalidInput(
                "the noise needs sigma, or the budget it comes from; try --sigma 0.1, or all of "
                "--n-records --gradient-bound --epsilon --delta"
            )
        if self.sigma is not None and self.rounds is None:
            raise InvalidInput("a fixed sigma needs rounds; try --rounds 1000")
        if not self.matrix.norm > 0:
            raise InvalidInput("matrix needs an entry that is not 0; got the zero matrix")

    @property
    def coordinates(self) -> int:
        """d₁."""
        return self.dimension or self.matrix.columns or 1

    def least_weight(self) -> float:
        """``ηρ|AᵀA| + 1``, rounded up."""
        pull = mpf(self.step_size) * mpf(self.penalty) * mpf(self.matrix.norm) ** 2
        return round_up(pull + 1)

    def weight(self) -> float:
        """γ; if not given the smallest that the paper allows, raised by rounding if need be."""
        if self.proximal_weight is not None:
            return self.proximal_weight
        least, proved = self.least_weight(), round_up(self._proved_weight())
        return proved if least < proved < least * (1 + 1e-12) else least

    def _proved_weight(self) -> Real:
        """``η(L_f + ρ|A|²)``, what the proof needs of γ."""
        pull = mpf(self.penalty) * mpf(self.matrix.norm) ** 2
        return mpf(self.step_size) * (mpf(self.smoothness) + pull)

    def variance_per_round(self) -> tuple[Real, float]:
        """``σ²/T`` of the paper's noise and the μ behind it."""
        ctx, eps = context(), mpf(self.epsilon or 1)
        logarithm = -ctx.log(mpf(self.delta or 0.5)) / eps

        def factor(mu: float) -> Real:
            return (logarithm / (1 - mpf(mu)) + 1) / mpf(mu)

        split = self.split or minimise(lambda x: float(factor(x)), 1e-6, 1 - 1e-6)[0]
        ratio = mpf(self.gradient_bound or 1) / (self.n_records or 1)
        return ratio**2 * factor(split) / (2 * eps), split

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

    def claimed(self) -> Rate:
        """The printed sum."""
        self.require(Scope.CLAIMED)
        eta, rho, norm = mpf(self.step_size), mpf(self.penalty), mpf(self.matrix.norm)
        largest = mpf(self.weight()) - eta * rho * mpf(self.matrix.column_margin) ** 2
        start = largest / (2 * eta) + rho * norm**2 / 2
        start += mpf(self.smoothness) / (2 * rho * mpf(self.matrix.row_rank_margin) ** 2)
        noise = eta * self.coordinates
        return self._summed(start * mpf(self.distance) ** 2, noise, "printed formula")

    def certified(self) -> Rate:
        """The corrected and tightened sum."""
        self.require(Scope.CERTIFIED)
        eta, rho, gamma = mpf(self.step_size), mpf(self.penalty), mpf(self.weight())
        if self._proved_weight() > gamma:
            return no_bound("η(L_f + ρ|A|²) exceeds γ; try a smaller step-size")
        dual = self._dual_distance()
        if dual is None:
            return no_bound(
                "the initial dual cannot be compared with the optimal one; "
                "try dual-start zero with multiplier-norm or gradient-bound"
            )
        start = gamma * mpf(self.distance) ** 2 / (2 * eta) + dual**2 / (2 * rho)
        noise = eta / gamma * self.coordinates
        method = "exact identities of the proof, square restored"
        return self._summed(start, noise, method, self._start_noise())

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
        import sympy

        eta, rho, gamma, big, r, t, s, d1, top, low, col = sympy.symbols(
            "eta rho gamma L_f r T sigma d_1 normA minA colA", nonnegative=True
        )
        start = (
            (gamma - eta * rho * col**2) / (2 * eta) + rho * top**2 / 2 + big / (2 * rho * low**2)
        )
        printed = start * r**2 / t + eta * s**2 * d1
        found = self.claimed() if not self.violations(Scope.CLAIMED) else self.certified()
        values = {
            "eta": self.step_size,
            "rho": self.penalty,
            "gamma": self.weight(),
            "L_f": self.smoothness,
            "r": self.distance,
            "T": float(found.numbers.get("rounds", self.rounds or 1)),
            "sigma": float(found.numbers.get("sigma", self.sigma or 0.0)),
            "d_1": float(self.coordinates),
            "normA": self.matrix.norm,
            "minA": self.matrix.row_rank_margin,
            "colA": self.matrix.column_margin,
        }
        formulas = [Formula("claimed.value", printed, values)]
        if self.dual_start == "data" and self.gradient_bound is None:
            certified = (gamma / (2 * eta) + big**2 / (2 * rho * low**2)) * r**2 / t
            certified += eta / gamma * s**2 * d1
            formulas.append(Formula("certified.value", certified, values))
        return tuple(formulas)
