"""Noisy gradient descent, full batch, strongly convex losses.

Statement
    μ-GDP with μ = √((1 - c^t)/(1 + c^t)·(1 + c)/(1 - c))·L/(nσ), c = max(|1 - ηm|, |1 - ηM|)

    With m-strongly convex, M-smooth losses whose gradients move by at most L if a record is
    replaced, after t steps of ``x ← Π(x - η((1/n)Σ∇f_i(x) + N(0, σ²I)))``, c < 1.
    m = strong_convexity, M = smoothness.
Source
    Bok, Su and Altschuler 2024, strongly convex noisy gradient descent
Certified
    The same, proved again without densities; the straight line is the cheapest allocation, and
    quadratics attain it: of curvature m if η <= 2/(m + M), else of M, moved to and fro.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.accounting.iteration import NoisyContraction, Participation
from dpcalc.accounting.iteration.quadratics import Uses
from dpcalc.checks import no_bound_without
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import (
    HIDDEN,
    NO_EXPANSION,
    PUBLIC,
    SENSITIVITY,
    STRONGLY_CONVEX,
    NoisyDescent,
)
from dpcalc.theorems.noisy_gradient_descent._walls import quadratic_instance
from dpcalc.theorems.numbers import Digits


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


@theorem(
    status="sound",
    adjacency="neighbouring-functions",
    example={
        "sensitivity": 1,
        "n_records": 100,
        "steps": 100,
        "step_size": 0.25,
        "smoothness": 2,
        "strong_convexity": 0.125,
        "sigma": 0.05,
    },
)
class NoisyGD(NoisyDescent):
    """All records in every step; the last iterate is released."""

    findings = (
        finding(
            "Exact: quadratics of curvature m reach the bound at every number of steps.",
            "remark",
            lambda t: not _expanding_side(t),
        ),
        finding(
            "For a step size above 2/(m + M) the contraction is that of the largest curvature, whose "
            "map reverses signs; changes that reverse with it from place to place reach the bound.",
            "remark",
            _expanding_side,
        ),
        finding(
            "Releasing every iterate would cost √t·L/(nσ); the last one alone never costs more than "
            "√((1 + c)/(1 - c))·L/(nσ), however long it runs.",
            "remark",
        ),
    )
    assumptions = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION,
        LAST_ONLY,
        assume("contracts", "A step strictly contracts.", "claimed", _stalls),
    )

    sensitivity: float = number("largest change of a record's gradient if it is replaced", "L")
    n_records: int = count("records, all used in every step", "n")
    steps: int = count("steps", "t")
    strong_convexity: float = number(
        "strong convexity of every record's loss, m",
        check=no_bound_without(
            "0", "try noisy-cgd with --n-batches 1, --batch-size N_RECORDS and --passes STEPS"
        ),
    )

    def own_mu(self, x: Numbers) -> Real:
        """L/(nσ)."""
        return x.sensitivity / (x.n_records * x.sigma)

    def uses(self) -> int:
        """Every step."""
        return self.steps

    def descent(self) -> NoisyContraction:
        """Every step moves by ηL/n against noise ησ."""
        x = Digits(self)
        step_sensitivity = x.step_size * x.sensitivity / x.n_records
        return NoisyContraction(self.contraction(), step_sensitivity, x.step_size * x.sigma)

    def claimed_mu(self, x: Numbers) -> Real:
        """√((1 - c^t)/(1 + c^t)·(1 + c)/(1 - c))·L/(nσ)."""
        c = self.factor(x)
        power = c**x.steps
        return x.sqrt((1 - power) / (1 + power) * (1 + c) / (1 - c)) * self.own_mu(x)

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """By shifted interpolation with the best shifts, which are the printed ones."""
        if averaged(self):
            return self.composed_mu(x)
        composed = self.contraction() == 1
        mu = x.computed(
            self.descent().mu(Participation(self.steps)),
            lambda: x.sqrt(x.steps) * self.own_mu(x) if composed else self.claimed_mu(x),
        )
        return mu, "shifted interpolation in f-DP", {"contraction": self.factor(x)}

    def attained(self) -> Bound:
        """Quadratics, m or M the curvature across the run: an exact Gaussian law, no wall needed."""
        if averaged(self):
            return self.averaged_instance(passes=self.steps, gap=1, tail=1)
        mu = self.descent().mu(Participation(self.steps))
        return quadratic_instance(self, mu, Uses(0, self.steps, 1, 1), projected=False)
