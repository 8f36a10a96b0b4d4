"""What utility results on gradient-perturbed ADMM are about: sizes, noise or a budget for it."""

from __future__ import annotations

from typing import Literal

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import Real, mpf, round_up
from dpcalc.numerics.search import minimise
from dpcalc.theorems.authoring import choice, count, number, theorem
from dpcalc.theorems.convergence._base import ConvergenceResult
from dpcalc.theorems.gradient_admm.dp_admm import printed_factor
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import matrix


@theorem()
class GradientPerturbedADMM(ConvergenceResult):
    """Sizes of the problem, and the noise or the budget that it is for."""

    matrix: Matrix = matrix("constraint matrix A: @file, or a number for a multiple of I")
    dimension: int | None = count(
        "coordinates of x, d₁ (the columns of A unless given)", default=None
    )
    penalty: float = number("penalty of the augmented Lagrangian", "rho")
    step_size: float = number("step size", "eta")
    proximal_weight: float | None = number(
        "γ in G = γI - ηρAᵀA (the smallest the paper allows unless given)", default=None
    )
    smoothness: float = number("smoothness of f", "L_f")
    distance: float = number("bound of |x₀ - x*|")
    sigma: float | None = number(
        "standard deviation of the noise per coordinate, σ (from the budget unless given)",
        check=checks.non_negative,
        default=None,
    )
    rounds: int | None = count("iterations, T (the best number unless given)", default=None)
    dual_start: Literal["data", "zero", "noised"] = choice(
        "where the initial dual comes from: the data as printed, zero, or a gradient with noise",
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
        "δ of the budget, for the paper's noise", check=checks.open_unit, default=None
    )
    split: float | None = number(
        "the paper's free μ in (0, 1) (the best unless given)", check=checks.open_unit, default=None
    )

    def _check_together(self) -> None:
        self.matrix.require_columns(self.dimension)
        self._check_noise()
        if self.multiplier_norm is not None and self.dual_start != "zero":
            raise InvalidInput(
                "multiplier_norm goes with dual_start zero, from which the dual has so far to go; got "
                f"multiplier_norm={self.multiplier_norm!r} and dual_start={self.dual_start}; leave it "
                "out, or try --dual-start zero"
            )
        if not self.matrix.norm > 0:
            raise InvalidInput("matrix needs an entry that is not 0; got the zero matrix")

    def _check_noise(self) -> None:
        """Refuse neither noise nor budget, and both."""
        budget = (self.n_records, self.epsilon, self.delta, self.gradient_bound)
        if self.sigma is None and None in budget:
            raise InvalidInput(
                "the noise needs sigma, or the budget it comes from; try --sigma 0.1, or all of "
                "--n-records --gradient-bound --epsilon --delta"
            )
        if self.sigma is not None and self.rounds is None:
            raise InvalidInput("a fixed sigma needs rounds; try --rounds 1000")
        asked = {name: getattr(self, name) for name in ("n_records", "epsilon", "delta", "split")}
        given = [f"{name}={value!r}" for name, value in asked.items() if value is not None]
        if self.sigma is not None and given:
            raise InvalidInput(
                f"the noise needs sigma or a budget; got sigma={self.sigma!r} and {', '.join(given)}; "
                "leave out sigma, or the others"
            )

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
        least, proved = self.least_weight(), round_up(self.proved_weight())
        return proved if least < proved < least * (1 + 1e-12) else least

    def proved_weight(self) -> Real:
        """``η(L_f + ρ|A|²)``, what the proof needs of γ."""
        pull = mpf(self.penalty) * mpf(self.matrix.norm) ** 2
        return mpf(self.step_size) * (mpf(self.smoothness) + pull)

    def variance_per_round(self) -> tuple[Real, float]:
        """``σ²/T`` of the paper's noise and the μ behind it."""
        x, epsilon, delta = Digits(self), mpf(self.epsilon or 1), mpf(self.delta or 0.5)

        def factor(split: float) -> Real:
            return printed_factor(x, epsilon, delta, mpf(split))

        split = self.split
        if split is None:
            split = minimise(lambda mu: float(2 * epsilon * factor(mu)), 1e-6, 1 - 1e-6)[0]
        ratio = mpf(self.gradient_bound or 1) / (self.n_records or 1)
        return ratio**2 * factor(split), split
