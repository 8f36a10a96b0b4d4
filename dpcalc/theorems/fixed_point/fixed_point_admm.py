"""ADMM as a noisy fixed-point iteration, all records in every step.

Statement
    (α, 8αKγ²L²/(n²σ²))-RDP after K steps, L = sensitivity/2

    For minimising (1/n)Σf_i(x) + g(x) with convex, L-Lipschitz f_i a step is
    ``x = prox_γg(z), z ← z + 2λ(prox_γf(2x - z) - x + ξ/2)``, ξ ~ N(0, σ²I).
Source
    Cyffers, Bellet and Basu 2023, private ADMM, central setting

    The constant is that of composing the steps, each of sensitivity 4λγL/n against noise λσ; it was not
    checked in print.
Certified
    A step is a composition of reflected resolvents, averaged: it expands no distance, and contracts by
    ``c = 1 - λ + λδ``, ``δ = 2max(1/(1 + γm), γM/(1 + γM)) - 1``, for m-strongly convex, M-smooth
    f_i. Replacing a record moves it by at most ``s = 2λγΔ/(n(1 + γm))``. So z after K steps is μ-GDP
    with ``μ = √((1 - c^K)/(1 + c^K)·(1 + c)/(1 - c))·s/(λσ)``, √K·s/(λσ) for c = 1; the sequence of
    all z, and every function of them, is √K·s/(λσ)-GDP.
Attained
    Linear f_i and g = 0 for c = 1, quadratics of curvature m where γ²mM <= 1: equality.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.accounting.iteration import NoisyContraction, Participation
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import context, mpf
from dpcalc.theorems.authoring import (
    Numbers,
    Real,
    Theorem,
    assume,
    count,
    finding,
    number,
    release,
    theorem,
)
from dpcalc.theorems.averages import COMPOSED
from dpcalc.theorems.numbers import Digits
from dpcalc.vocabulary import Release


def _relaxation(name: str, value: float) -> float:
    if not 0 < value <= 1:
        raise InvalidInput(f"{name} needs a number above 0 and at most 1; got {name}={value:g}")
    return value


def _contracts(theorem: FixedPointADMM) -> bool:
    return theorem.release == Release.LAST_ITERATE and theorem.contraction() < 1


@theorem(
    status="loose",
    noise="sigma",
    adjacency="replace-one",
    example={
        "sensitivity": 2,
        "n_records": 1000,
        "steps": 100,
        "prox_step": 1,
        "relaxation": 0.5,
        "strong_convexity": 0.125,
        "smoothness": 2,
        "sigma": 0.05,
        "release": "last iterate",
    },
)
class FixedPointADMM(Theorem):
    """Proximal steps on all records with Gaussian noise on the shared variable z."""

    findings = (
        finding(
            "The steps are Gaussian mechanisms, so the same number holds as a Gaussian trade-off, "
            "which converts to a smaller ε. Linear losses attain it.",
            "loose",
        ),
        finding(
            "Strongly convex records contract every step and move it by 1/(1 + γm) less; with the last "
            "iterate alone released the budget stops growing with the steps.",
            "loose",
            _contracts,
        ),
        finding(
            "The formula was not checked in print: it is that of composing the steps.",
            "remark",
        ),
        finding(
            "The paper's federated and decentralised versions update one user's block at a time. Such "
            "a step can expand distances and puts no noise on the other blocks, so amplification by "
            "iteration does not carry over; the composition of a user's own steps does.",
            "remark",
        ),
    )
    assumptions = (
        assume(
            "convex",
            "Every record's loss is convex (strong_convexity-strongly convex and smoothness-smooth "
            "where they are given), and so is the regulariser.",
        ),
        assume(
            "gradient-difference",
            "The (sub)gradients of a record's loss and of its replacement differ by at most "
            "sensitivity everywhere: 2L for L-Lipschitz losses.",
        ),
        assume("exact-minimiser", "Both proximal maps are computed exactly, without clipping."),
        assume(
            "public-parameters",
            "The starting point, the step sizes, the regulariser and n_records do not depend on the "
            "data.",
        ),
        assume(
            "noisy-variable",
            "Only z, or what is computed from it, is released: the inner minimiser carries no noise.",
        ),
    )

    sensitivity: float = number("largest change of a record's gradient if it is replaced, 2L")
    n_records: int = count("records, all used in every step", "n")
    steps: int = count("steps", "K")
    prox_step: float = number("step of the proximal maps", "gamma")
    sigma: float = number("standard deviation of the noise per coordinate", "sigma")
    relaxation: float = number("relaxation, λ in (0, 1]", "lambda", check=_relaxation, default=1.0)
    strong_convexity: float | None = number(
        "strong convexity of every record's loss, m (convex unless given)", "m", default=None
    )
    smoothness: float | None = number(
        "smoothness of every record's loss, M (none unless given)", "M", default=None
    )
    release: Release = release(
        "what is seen: every z, the last one, or the mean of all",
        "every iterate",
        "last iterate",
        "average of iterates",
    )

    def _check_together(self) -> None:
        if self.smoothness is not None and (self.strong_convexity or 0.0) > self.smoothness:
            raise InvalidInput(
                "strong_convexity needs to be at most smoothness; got "
                f"strong_convexity={self.strong_convexity:g}, smoothness={self.smoothness:g}"
            )

    def curvature(self) -> Real:
        """The least eigenvalue of a Hessian, m."""
        return mpf(self.strong_convexity or 0.0)

    def factor(self, x: Numbers) -> Real:
        """1 - λ + λδ: what a step multiplies distances by, at most."""
        if self.smoothness is None:
            return x.given(1)
        curved = 1 / (1 + x.prox_step * (x.strong_convexity or 0))
        flat = x.prox_step * x.smoothness / (1 + x.prox_step * x.smoothness)
        return 1 - x.relaxation + x.relaxation * (2 * x.max(curved, flat) - 1)

    def contraction(self) -> Real:
        """The same with sixty digits."""
        return self.factor(Digits(self))

    def descent(self) -> NoisyContraction:
        """Every step moves z by s against noise λσ."""
        x = Digits(self)
        moved = x.prox_step * x.sensitivity / x.n_records
        step_sensitivity = 2 * x.relaxation * moved / (1 + x.prox_step * self.curvature())
        return NoisyContraction(self.contraction(), step_sensitivity, x.relaxation * x.sigma)

    def claimed_rho(self, x: Numbers) -> Real:
        """The printed Rényi divergence per order, 2K(γΔ/(nσ))²."""
        gap = x.named("Delta", self.sensitivity)
        return 2 * x.steps * (x.prox_step * gap / (x.n_records * x.sigma)) ** 2

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """Steps composed, or shifted interpolation for the last iterate."""
        chain = self.descent()
        if self.release != Release.LAST_ITERATE:
            composed = context().sqrt(self.steps) * chain.step_sensitivity / chain.noise
            mu = x.computed(composed, lambda: self._composed(x))
            return mu, "exact Gaussian composition" if self._whole() else COMPOSED, {}
        mu = x.computed(chain.mu(Participation(self.steps)), lambda: self._interpolated(x))
        return mu, "shifted interpolation in f-DP", {"contraction": self.factor(x)}

    def _composed(self, x: Numbers) -> Real:
        """√K·s/(λσ)."""
        curved = 1 + x.prox_step * (x.strong_convexity or 0)
        moved = 2 * x.prox_step * x.named("Delta", self.sensitivity) / curved
        return x.sqrt(x.steps) * moved / (x.n_records * x.sigma)

    def _interpolated(self, x: Numbers) -> Real:
        """√((1 - c^K)/(1 + c^K)·(1 + c)/(1 - c))·s/(λσ)."""
        if self.contraction() == 1:
            return self._composed(x)
        c = self.factor(x)
        ratio = (1 - c**x.steps) / (1 + c**x.steps) * (1 + c) / (1 - c)
        return x.sqrt(ratio) * self._composed(x) / x.sqrt(x.steps)

    def attained_mu(self, x: Numbers) -> tuple[Real, str]:
        """Linear losses, or quadratics of the smallest curvature, with g = 0: a Gaussian law."""
        chain, factor = self.descent(), self._factor()
        if self._whole():
            mu = context().sqrt(self.steps) * chain.step_sensitivity / chain.noise
        elif self.release == Release.LAST_ITERATE:
            mu = _exact(chain, factor, self.steps)
        else:
            law = Averaged(chain.step_sensitivity, chain.noise, factor, factor)
            mu = context().sqrt(law.mu_squared(passes=self.steps, gap=1, tail=1, lead=0))
        return mu, "quadratics of the smallest curvature, g = 0"

    def _whole(self) -> bool:
        return self.release == Release.EVERY_ITERATE

    def _factor(self) -> Real:
        """What a step multiplies z by if every loss is quadratic with the smallest curvature."""
        step, m = mpf(self.prox_step), self.curvature()
        return 1 - mpf(self.relaxation) * 2 * step * m / (1 + step * m)


def _exact(chain: NoisyContraction, factor: Real, steps: int) -> Real:
    """μ of the law after steps that multiply by a factor and jump, each with its noise."""
    if factor == 1:
        return chain.step_sensitivity * context().sqrt(steps) / chain.noise
    total = (1 - factor**steps) / (1 - factor)
    variance = mpf(steps) if factor == -1 else (1 - factor ** (2 * steps)) / (1 - factor**2)
    return chain.step_sensitivity * abs(total) / (chain.noise * context().sqrt(variance))
