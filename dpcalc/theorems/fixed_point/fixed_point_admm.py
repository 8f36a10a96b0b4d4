"""ADMM as a noisy fixed-point iteration, all records in every step (central setting).

Statement
    For minimising (1/n)Σf_i(x) + g(x) with convex, L-Lipschitz f_i, K steps of
    ``x = prox_γg(z), z ← z + 2λ(prox_γf(2x - z) - x + ξ/2)``, ξ ~ N(0, σ²I), are
    (α, 8αKγ²L²/(n²σ²))-RDP.
    2L = sensitivity, n = n_records, K = steps, γ = prox_step, λ = relaxation, σ = sigma.
Source
    Cyffers, Bellet and Basu 2023, private ADMM in the central setting. The constant is that of
    composing the steps, each of sensitivity 4λγL/n against noise λσ; it was not checked in print.
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

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc import checks
from dpcalc.accounting.iteration import Descent, Visits
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.guarantees.conversion import rho_for
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import COMPOSED
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.parameters import count, number, release
from dpcalc.theorems.statements import Assumption, Bound, Finding, Formula, Scope
from dpcalc.vocabulary import Adjacency, Bearing, Release, Status

RELEASES = (Release.EVERY_ITERATE, Release.LAST_ITERATE, Release.AVERAGE)


def _relaxation(name: str, value: float) -> float:
    if not 0 < value <= 1:
        raise InvalidInput(f"{name} needs a number above 0 and at most 1; got {name}={value:g}")
    return value


def _contracts(theorem: FixedPointADMM) -> bool:
    return theorem.release == Release.LAST_ITERATE and theorem.contraction() < 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedPointADMM(Theorem):
    """Proximal steps on all records with Gaussian noise on the shared variable z."""

    key: ClassVar[str] = "fixed-point-admm"
    title: ClassVar[str] = "ADMM as a noisy fixed-point iteration, all records in every step"
    reference: ClassVar[str] = "Cyffers, Bellet and Basu 2023, private ADMM, central setting"
    statement: ClassVar[str] = "(α, 8αKγ²L²/(n²σ²))-RDP after K steps, L = sensitivity/2"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    noise: ClassVar[str] = "sigma"
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The steps are Gaussian mechanisms, so the same number holds as a Gaussian trade-off, "
            "which converts to a smaller ε. Linear losses attain it.",
            Bearing.LOOSE,
        ),
        Finding(
            "Strongly convex records contract every step and move it by 1/(1 + γm) less; with the last "
            "iterate alone released the budget stops growing with the steps.",
            Bearing.LOOSE,
            _contracts,
        ),
        Finding(
            "The formula was not checked in print: it is that of composing the steps.",
            Bearing.REMARK,
        ),
        Finding(
            "The paper's federated and decentralised versions update one user's block at a time. Such "
            "a step can expand distances and puts no noise on the other blocks, so amplification by "
            "iteration does not carry over; the composition of a user's own steps does.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        Assumption(
            "convex",
            "Every record's loss is convex (strong_convexity-strongly convex and smoothness-smooth "
            "where they are given), and so is the regulariser.",
        ),
        Assumption(
            "gradient-difference",
            "The (sub)gradients of a record's loss and of its replacement differ by at most "
            "sensitivity everywhere: 2L for L-Lipschitz losses.",
        ),
        Assumption("exact-minimiser", "Both proximal maps are computed exactly, without clipping."),
        Assumption(
            "public-parameters",
            "The starting point, the step sizes, the regulariser and n_records do not depend on the "
            "data.",
        ),
        Assumption(
            "noisy-variable",
            "Only z, or what is computed from it, is released: the inner minimiser carries no noise.",
        ),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "sensitivity": 2,
        "n_records": 1000,
        "steps": 100,
        "prox_step": 1,
        "relaxation": 0.5,
        "strong_convexity": 0.125,
        "smoothness": 2,
        "sigma": 0.05,
        "release": "last iterate",
    }

    sensitivity: float = number("largest change of a record's gradient if it is replaced, 2L")
    n_records: int = count("records, all used in every step, n")
    steps: int = count("steps, K")
    prox_step: float = number("step of the proximal maps, γ")
    sigma: float = number("standard deviation of the noise per coordinate, σ")
    relaxation: float = number("relaxation, λ in (0, 1]", check=_relaxation, default=1.0)
    strong_convexity: float | None = number(
        "strong convexity of every record's loss, m (convex unless given)", default=None
    )
    smoothness: float | None = number(
        "smoothness of every record's loss, M (none unless given)", default=None
    )
    release: Release = release("what is seen: every z, the last one, or the mean of all", RELEASES)
    attest: Iterable[str] = dataclasses.field(default=())

    def _check_together(self) -> None:
        if self.smoothness is not None and (self.strong_convexity or 0.0) > self.smoothness:
            raise InvalidInput(
                "strong_convexity needs to be at most smoothness; got "
                f"strong_convexity={self.strong_convexity:g}, smoothness={self.smoothness:g}"
            )

    def curvature(self) -> Real:
        """The least eigenvalue of a Hessian, m."""
        return mpf(self.strong_convexity or 0.0)

    def contraction(self) -> Real:
        """What a step multiplies distances by, at most."""
        if self.smoothness is None:
            return mpf(1)
        step, relaxed = mpf(self.prox_step), mpf(self.relaxation)
        curved = 1 / (1 + step * self.curvature())
        flat = step * mpf(self.smoothness) / (1 + step * mpf(self.smoothness))
        return 1 - relaxed + relaxed * (2 * max(curved, flat) - 1)

    def descent(self) -> Descent:
        """Every step moves z by s against noise λσ."""
        step, relaxed = mpf(self.prox_step), mpf(self.relaxation)
        moved = step * mpf(self.sensitivity) / self.n_records
        jump = 2 * relaxed * moved / (1 + step * self.curvature())
        return Descent(self.contraction(), jump, relaxed * mpf(self.sigma))

    def _rho(self) -> Real:
        ratio = mpf(self.prox_step) * mpf(self.sensitivity) / (self.n_records * mpf(self.sigma))
        return 2 * self.steps * ratio**2

    def claimed(self) -> Bound:
        """The printed Rényi bound, linear in the order."""
        self.require(Scope.CLAIMED)
        rho = round_up(self._rho())
        return Bound(ZCDP(rho), {"rho": rho}, "printed formula")

    def certified(self) -> Bound:
        """μ-GDP: steps composed, or shifted interpolation for the last iterate."""
        self.require(Scope.CERTIFIED)
        chain = self.descent()
        if self.release == Release.LAST_ITERATE:
            mu = round_up(chain.mu(Visits(self.steps)))
            numbers = {"mu": mu, "contraction": round_up(chain.contraction)}
            return Bound(GDP(mu), numbers, "shifted interpolation in f-DP")
        mu = round_up(context().sqrt(self.steps) * chain.jump / chain.noise)
        return Bound(
            GDP(mu), {"mu": mu}, "exact Gaussian composition" if self._whole() else COMPOSED
        )

    def attained(self) -> Bound:
        """Linear losses, or quadratics of the smallest curvature, with g = 0: a Gaussian law."""
        chain, factor = self.descent(), self._factor()
        if self._whole():
            mu = context().sqrt(self.steps) * chain.jump / chain.noise
        elif self.release == Release.LAST_ITERATE:
            mu = _exact(chain, factor, self.steps)
        else:
            law = Averaged(chain.jump, chain.noise, factor, factor)
            mu = context().sqrt(law.mu_squared(passes=self.steps, gap=1, tail=1, lead=0))
        found = round_down(mu)
        return Bound(GDP(found), {"mu": found}, "quadratics of the smallest curvature, g = 0")

    def _whole(self) -> bool:
        return self.release == Release.EVERY_ITERATE

    def _factor(self) -> Real:
        """What a step multiplies z by if every loss is quadratic with the smallest curvature."""
        step, m = mpf(self.prox_step), self.curvature()
        return 1 - mpf(self.relaxation) * 2 * step * m / (1 + step * m)

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed divergence, converted at the best order, gives ε."""
        self.require(Scope.CLAIMED)
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        unit = self.replace(sigma=1.0)._rho()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=round_up(context().sqrt(unit / rho_for(epsilon, delta))))

    def calibration_tolerance(self) -> float:
        """The last double: the bounds are closed forms."""
        return 0.0

    def symbolic(self) -> tuple[Formula, ...]:
        """ρ as printed, and μ as certified."""
        import sympy

        gap, step, n, k, s, m = sympy.symbols("Delta gamma n K sigma m", positive=True)
        values = {
            "Delta": self.sensitivity,
            "gamma": self.prox_step,
            "n": float(self.n_records),
            "K": float(self.steps),
            "sigma": self.sigma,
            "m": self.strong_convexity or 0.0,
        }
        claim = Formula("claimed.rho", 2 * k * (step * gap / (n * s)) ** 2, values)
        unit = 2 * step * gap / ((1 + step * m) * n * s)
        if self.release != Release.LAST_ITERATE or self.contraction() == 1:
            return (claim, Formula("certified.mu", sympy.sqrt(k) * unit, values))
        relaxed, flat = sympy.symbols("lambda M", positive=True)
        ends = 1 / (1 + step * m), step * flat / (1 + step * flat)
        c = 1 - relaxed + relaxed * (2 * sympy.Max(*ends) - 1)
        values = {**values, "lambda": self.relaxation, "M": float(self.smoothness or 0.0)}
        mu = sympy.sqrt((1 - c**k) / (1 + c**k) * (1 + c) / (1 - c)) * unit
        return (claim, Formula("certified.mu", mu, values))


def _exact(chain: Descent, factor: Real, steps: int) -> Real:
    """μ of the law after steps that multiply by a factor and jump, each with its noise."""
    if factor == 1:
        return chain.jump * context().sqrt(steps) / chain.noise
    total = (1 - factor**steps) / (1 - factor)
    variance = mpf(steps) if factor == -1 else (1 - factor ** (2 * steps)) / (1 - factor**2)
    return chain.jump * abs(total) / (chain.noise * context().sqrt(variance))
