"""Utility of noisy gradient ADMM.

Statement
    order only: E[f(x̄) + g(ȳ)] - f* - g* = O(1/(ηT) + 1/T + η(G² + pσ²)); the printed constants are
    lost and reconstructed from the proof

    With unbiased gradients of bounded second moment, noise on every gradient and step size η, for the
    averages of T rounds, in expectation. The constants here follow the steps of the proof:
    ``[|x₀-x*|²/(2η) + (|λ₀| + β|A||x₀-x*| + κ)²/(2β) + κ|A||x₀-x*| + ηκ²|A|²/2]/T + (η/2)(G² + pσ²)``
    bounds ``E[f(x̄) + g(ȳ) - f* - g* + κ|Ax̄ + Bȳ - c|]`` for x̄ the mean of x_0..x_{T-1}.
    η = step_size, β = penalty, A = matrix, |x₀ - x*| = distance, |λ₀| = dual_norm, p = dimension,
    G = gradient_bound, σ = sigma, κ = feasibility_weight, T = rounds.
Source
    Chan, Xie and Zhao 2023, theorem 9.1

    With lemmas 9.2 and 9.3.
Certified
    For ν-smooth f and η <= 1/ν, with x̄ the mean of x_1..x_T, only the deviation of the gradients
    counts: ``[|x₀-x*|²/(2η) + (|λ₀| + β|A||x₀-x*| + κ)²/(2β)]/T + η V``,
    ``V = s²/(1 + ηβσ_min²) + σ² tr(I + ηβAᵀA)⁻¹`` for noise on the gradient; noise on the state adds
    ``(σ²/η) tr(I + ηβAᵀA)`` instead. Or the bound above where that is smaller.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from dpcalc import checks
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.numerics.precise import mpf
from dpcalc.numerics.search import minimise
from dpcalc.theorems.authoring import (
    Numbers,
    Real,
    assume,
    choice,
    count,
    finding,
    number,
    theorem,
)
from dpcalc.theorems.convergence._base import Rate
from dpcalc.theorems.convergence._formula import FormulaRate, Stated
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import matrix

_MOST_SIMULATED = 20_000

Bounding = Callable[[Numbers, Real], Real]
"""A bound as a function of the step size."""


def _state_noise(result: GradientADMMUtility) -> str | None:
    if result.noise_in == "state":
        return "the paper's result is for noise on the gradient; try noise-in gradient"
    return None


@theorem(
    quantity="E[f(x̄) + g(ȳ) - f* - g* + κ|Ax̄ + Bȳ - c|]",
    example={
        "matrix": 1,
        "dimension": 64,
        "penalty": 0.5,
        "smoothness": 1,
        "distance": 3,
        "gradient_bound": 4,
        "gradient_deviation": 1,
        "sigma": 0.1,
        "rounds": 1000,
    },
)
class GradientADMMUtility(FormulaRate):
    """Expected excess of the averages of noisy gradient ADMM over the optimal value."""

    findings = (
        finding(
            "The source text has lost the formulas of the theorem. What stands as its claim is what "
            "the steps of its proof give (convexity, Fenchel-Young for the gradient step, the two "
            "optimality conditions, Jensen); read it as an order.",
            "incomplete",
        ),
        finding(
            "For smooth f and η <= 1/ν the norm of the gradient itself does not matter, only its "
            "deviation from the mean, and noise is damped by (I + ηβAᵀA)⁻¹.",
            "loose",
        ),
        finding(
            "Without a weight κ above the norm of the optimal multiplier the bound says nothing on "
            "feasibility.",
            "remark",
            lambda result: result.feasibility_weight == 0,
        ),
    )
    assumptions = (
        assume("smooth", "f is convex and smoothness-smooth, g is convex."),
        assume(
            "independent-users",
            "Every round's function is drawn independently and its gradient is unbiased.",
        ),
        assume(
            "moments",
            "gradient_bound² bounds E|∇f_t(x)|² and gradient_deviation² bounds E|∇f_t(x) - ∇f(x)|², "
            "for all x.",
        ),
        assume("distance", "distance bounds |x₀ - x*| for an optimum x*."),
        assume("gradient-noise", "Noise is added to the gradient.", "claimed", _state_noise),
    )

    matrix: Matrix = matrix("constraint matrix A: @file, or a number for a multiple of I")
    dimension: int | None = count(
        "coordinates of x, p (the columns of A unless given)", default=None
    )
    penalty: float = number("penalty of the augmented Lagrangian", "beta")
    step_size: float | None = number("step size, η (the best unless given)", default=None)
    smoothness: float = number("smoothness of f, ν")
    distance: float = number("bound of |x₀ - x*|")
    dual_norm: float = number("norm of λ₀", check=checks.non_negative, default=0.0)
    gradient_bound: float | None = number("root mean square of gradients, G", default=None)
    gradient_deviation: float | None = number(
        "root mean square deviation s of gradients from the mean (G unless given)",
        check=checks.non_negative,
        default=None,
    )
    sigma: float = number("standard deviation of the noise", "sigma", check=checks.non_negative)
    noise_in: Literal["gradient", "state"] = choice(
        "where noise is added: to the gradient, or to the state x",
        default="gradient",
    )
    feasibility_weight: float = number(
        "weight κ of the constraint violation", "kappa", check=checks.non_negative, default=0.0
    )
    rounds: int = count("rounds", "T")

    def _check_together(self) -> None:
        self.matrix.require_columns(self.dimension)
        if self.gradient_bound is None and self.gradient_deviation is None:
            raise InvalidInput(
                "the gradients need gradient_bound or gradient_deviation; try --gradient-bound 1"
            )

    @property
    def coordinates(self) -> int:
        """Coordinates of x, p."""
        return self.dimension or self.matrix.columns or 1

    def claimed_value(self, x: Numbers) -> tuple[Real, str, dict[str, float]]:
        """The reconstructed bound for the best, or the given, step size."""
        if self.gradient_bound is None:
            raise AssumptionViolated(
                f"{self.key}: the paper needs a bound of the gradients' second moment; "
                "try --gradient-bound"
            )
        method = "reconstructed from the proof, x̄ over rounds 0..T-1"
        return self._at_best(x, self._second_moment, math.inf, method)

    def certified_value(self, x: Numbers) -> Stated:
        """The smaller of the bound for smooth f and the second-moment bound."""
        found: list[tuple[Bounding, float, str]] = []
        if self.step_size is None or mpf(self.step_size) * mpf(self.smoothness) <= 1:
            largest = math.nextafter(1 / self.smoothness, 0.0)
            found.append(
                (self._smooth, largest, "smoothness, deviation of gradients, x̄ over rounds 1..T")
            )
        if self.gradient_bound is not None and self.noise_in == "gradient":
            found.append(
                (self._second_moment, math.inf, "second moment of gradients, x̄ over rounds 0..T-1")
            )
        if not found:
            return x.inf, "the step size is above 1/smoothness; try a smaller one"
        digits = Digits(self)
        return self._at_best(x, *min(found, key=lambda each: self._at_best(digits, *each)[0]))

    def _at_best(
        self, x: Numbers, bound: Bounding, largest: float, method: str
    ) -> tuple[Real, str, dict[str, float]]:
        """The bound at the given step size or at a good one up to ``largest``; any is valid."""
        step, digits = self.step_size, Digits(self)
        if step is None:
            high = math.log(min(largest, 1e12))
            low = min(high, math.log(self.distance + 1e-300)) - 40
            step = minimise(lambda log: float(bound(digits, mpf(math.exp(log)))), low, high)[0]
            step = min(math.exp(step), largest)
        return bound(x, x.named("eta", step)), method, {"step_size": step}

    def _start(self, x: Numbers, eta: Real) -> Real:
        """``|x₀-x*|²/(2η) + (|λ₀| + β|A||x₀-x*| + κ)²/(2β)``."""
        r = x.named("r", self.distance)
        dual = (
            x.named("lambda_0", self.dual_norm)
            + x.penalty * x.named("a", self.matrix.norm) * r
            + x.feasibility_weight
        )
        return r**2 / (2 * eta) + dual**2 / (2 * x.penalty)

    def _second_moment(self, x: Numbers, eta: Real) -> Real:
        weight = x.feasibility_weight * x.named("a", self.matrix.norm)
        square = x.named("G", self.gradient_bound or 0) ** 2
        square += x.named("p", self.coordinates) * x.sigma**2
        start = self._start(x, eta) + weight * x.named("r", self.distance) + eta * weight**2 / 2
        return start / x.rounds + eta / 2 * square

    def _smooth(self, x: Numbers, eta: Real) -> Real:
        deviation = self.gradient_deviation
        s = x.named("s", (self.gradient_bound if deviation is None else deviation) or 0)
        floor = self._level(x, mpf(self.matrix.column_margin) ** 2)
        noise = eta * s**2 / (1 + eta * x.penalty * floor) + self._noise(x, eta)
        return self._start(x, eta) / x.rounds + noise

    def _noise(self, x: Numbers, eta: Real) -> Real:
        """What the noise adds for smooth f."""
        pull = eta * x.penalty
        if self.noise_in == "gradient":
            levels = self.matrix.gram_eigenvalues(self.coordinates)
            parts = (x.named("p", n) / (1 + pull * self._level(x, mpf(u))) for u, n in levels)
            return eta * x.sigma**2 * sum(parts)
        entries = x.computed(mpf(self.matrix.squared_entries(self.coordinates)))
        return x.sigma**2 / eta * (self.coordinates + pull * entries)

    def _level(self, x: Numbers, bound: Real) -> Real:
        """A lower bound of an eigenvalue of AᵀA; a formula for a multiple of the identity."""
        same = self.matrix.scaled_identity
        return x.computed(bound, (lambda: x.named("a", self.matrix.norm) ** 2) if same else None)

    def attained(self) -> Rate | None:
        """A quadratic without noise on a line; noise only adds to convex functions of the averages.

        ``f = (ν/2)x²``, ``g = (k/2)y²``, A = ‖A‖, B = -1, c = 0, λ₀ = 0. The smaller of the values for
        the two averages.
        """
        if self.rounds > _MOST_SIMULATED or self.step_size is None:
            return None
        found = max(self._on_a_line(self.smoothness * k) for k in (0.1, 0.3, 1, 3, 10))
        if not math.isfinite(found):
            return None
        value = found * (1 - 1e-9) if found > 0 else found * (1 + 1e-9)
        return Rate(value, {"rounds": self.rounds}, "quadratic on a line, no noise")

    def _on_a_line(self, k: float) -> float:
        eta, beta, nu, a = self.step_size or 1.0, self.penalty, self.smoothness, self.matrix.norm
        if self.gradient_bound is not None:  # gradients within their bound
            nu = min(nu, self.gradient_bound / self.distance)
        x, dual = self.distance, 0.0
        before = after = y_sum = 0.0
        for _ in range(self.rounds):
            before += x
            y = (beta * a * x - dual) / (k + beta)
            dual -= beta * (a * x - y)
            x = (x - eta * nu * x + eta * a * (dual + beta * y)) / (1 + eta * beta * a * a)
            after, y_sum = after + x, y_sum + y
            if not abs(x) < self.distance * (1 + 1e-9):
                return -math.inf  # the gradient may leave its bound
        t, values = self.rounds, []
        for x_sum in (before, after):
            gap = nu / 2 * (x_sum / t) ** 2 + k / 2 * (y_sum / t) ** 2
            values.append(gap + self.feasibility_weight * abs(a * x_sum - y_sum) / t)
        return min(values)
