"""Full-batch noisy gradient descent with strongly convex losses: exact.

Statement
    With m-strongly convex, M-smooth losses whose gradients move by at most L if a record is
    replaced, t steps of ``x ← Π(x - η((1/n)Σ∇f_i(x) + N(0, σ²I)))`` are μ-GDP with
    ``μ = √((1 - c^t)/(1 + c^t)·(1 + c)/(1 - c))·L/(nσ)``, c = max(|1 - ηm|, |1 - ηM|) < 1.
    L = sensitivity, n = n_records, t = steps, η = step_size, σ = sigma, m = strong_convexity,
    M = smoothness.
Source
    Bok, Su and Altschuler 2024, noisy gradient descent, strongly convex losses.
Certified
    The same, proved again without densities; the straight line is the cheapest allocation. Two
    quadratics of curvature m attain it whenever η <= 2/(m + M).
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc.accounting.iteration import Descent, Visits
from dpcalc.checks import no_bound_without
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    HIDDEN,
    NO_EXPANSION,
    PUBLIC,
    SENSITIVITY,
    STRONGLY_CONVEX,
    NoisyDescent,
    sigma_for_mu,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import contraction_of
from dpcalc.theorems.parameters import count, number
from dpcalc.vocabulary import Adjacency, Bearing, Status


def _expanding_side(theorem: NoisyGD) -> bool:
    """Whether the contraction is that of the largest curvature."""
    return theorem.contraction() > abs(1 - mpf(theorem.step_size) * mpf(theorem.strong_convexity))


def _stalls(theorem: NoisyGD) -> str | None:
    if theorem.contraction() == 1:
        return (
            "a step contracts only for step_size < 2/smoothness; "
            f"got step_size={theorem.step_size:g}, smoothness={theorem.smoothness:g}"
        )
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyGD(NoisyDescent):
    """All records in every step; the last iterate is released."""

    key: ClassVar[str] = "noisy-gd"
    title: ClassVar[str] = "Noisy gradient descent, full batch, strongly convex losses"
    reference: ClassVar[str] = "Bok, Su and Altschuler 2024, strongly convex noisy gradient descent"
    statement: ClassVar[str] = (
        "μ-GDP with μ = √((1 - c^t)/(1 + c^t)·(1 + c)/(1 - c))·L/(nσ), c = max(|1 - ηm|, |1 - ηM|)"
    )
    adjacency: ClassVar[Adjacency] = Adjacency.NEIGHBOURING_FUNCTIONS
    status: ClassVar[Status] = Status.SOUND
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "Exact: quadratics of curvature m reach the bound at every number of steps.",
            Bearing.REMARK,
            lambda theorem: not _expanding_side(theorem),
        ),
        Finding(
            "For a step size above 2/(m + M) the contraction is that of the largest curvature, whose "
            "map reverses signs; no instance that reaches the bound is known there.",
            Bearing.REMARK,
            _expanding_side,
        ),
        Finding(
            "Releasing every iterate would cost √t·L/(nσ); the last one alone never costs more than "
            "√((1 + c)/(1 - c))·L/(nσ), however long it runs.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION,
        LAST_ONLY,
        Assumption("contracts", "A step strictly contracts.", Scope.CLAIMED, _stalls),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "sensitivity": 1,
        "n_records": 100,
        "steps": 100,
        "step_size": 0.25,
        "smoothness": 2,
        "strong_convexity": 0.125,
        "sigma": 0.05,
    }

    sensitivity: float = number("largest change of a record's gradient if it is replaced, L")
    n_records: int = count("records, all used in every step, n")
    steps: int = count("steps, t")
    strong_convexity: float = number(
        "strong convexity of every record's loss, m",
        check=no_bound_without(
            "0", "try noisy-cgd with --n-batches 1, --batch-size N_RECORDS and --passes STEPS"
        ),
    )

    def own_uses(self) -> tuple[Real, int]:
        """Every step."""
        return mpf(self.sensitivity) / (self.n_records * mpf(self.sigma)), self.steps

    def descent(self) -> Descent:
        """Every step moves by ηL/n against noise ησ."""
        eta = mpf(self.step_size)
        jump = eta * mpf(self.sensitivity) / self.n_records
        return Descent(self.contraction(), jump, eta * mpf(self.sigma))

    def _printed(self) -> Real:
        c, unit = self.contraction(), mpf(self.sensitivity) / (self.n_records * mpf(self.sigma))
        power = c**self.steps
        return context().sqrt((1 - power) / (1 + power) * (1 + c) / (1 - c)) * unit

    def claimed(self) -> Bound:
        """The printed μ."""
        self.require(Scope.CLAIMED)
        mu = round_up(self._printed())
        return Bound(GDP(mu), {"mu": mu}, "printed formula")

    def certified(self) -> Bound:
        """μ-GDP by shifted interpolation with the best shifts."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        mu = round_up(self.descent().mu(Visits(self.steps)))
        numbers = {"mu": mu, "contraction": round_up(self.contraction())}
        return Bound(GDP(mu), numbers, "shifted interpolation in f-DP")

    def attained(self) -> Bound:
        """Quadratics of one curvature, m or M, and linear changes: an exact Gaussian law."""
        if averaged(self):
            return self.averaged_instance(passes=self.steps, gap=1, tail=1)
        factors = [
            1 - mpf(self.step_size) * mpf(x) for x in (self.strong_convexity, self.smoothness)
        ]
        mu = round_down(max(exact_mu(self.descent(), factor, self.steps) for factor in factors))
        return Bound(GDP(mu), {"mu": mu}, "quadratics of one curvature, no projection")

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed μ gives ε."""
        self.require(Scope.CLAIMED)
        unit = self.replace(sigma=1.0)._printed()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=sigma_for_mu(unit, epsilon, delta))

    def symbolic(self) -> tuple[Formula, ...]:
        """μ as printed, which is also the certified one."""
        if averaged(self):
            return ()
        import sympy

        lip, s, n, t = sympy.symbols("L sigma n t", positive=True)
        c, values = contraction_of(self)
        if self.violations_of_claim():
            return ()
        mu = sympy.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c)) * lip / (n * s)
        values |= {
            "L": self.sensitivity,
            "sigma": self.sigma,
            "n": float(self.n_records),
            "t": float(self.steps),
        }
        return (Formula("claimed.mu", mu, values), Formula("certified.mu", mu, values))


def exact_mu(descent: Descent, factor: Real, steps: int) -> Real:
    """μ of the exact law if every step multiplies by a factor, possibly negative, and jumps."""
    if factor == 1:
        total, variance = mpf(steps), mpf(steps)
    else:
        total = (1 - factor**steps) / (1 - factor)
        variance = (1 - factor ** (2 * steps)) / (1 - factor**2) if factor != -1 else mpf(steps)
    return descent.jump * abs(total) / (descent.noise * context().sqrt(variance))
