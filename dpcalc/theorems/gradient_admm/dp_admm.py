"""DP-ADMM and DP-AccADMM: full-gradient ADMM with Gaussian noise on every gradient.

Statement
    With ``σ² = c²αT/(2n²εμ)``, ``α = ln(1/δ)/((1-μ)ε) + 1`` and any μ in (0, 1), T iterations are
    (ε, δ)-differentially private.
    c = gradient_bound (the largest norm of a record's gradient), n = n_records, T = rounds,
    μ = split, σ = sigma.
Source
    Shang, Xu, Liu, Liu, Shen and Gong 2021, theorem 1 with lemma 1 (conversion) and definition 3.
Certified
    With an initial dual that does not depend on the data, the transcript is T adaptive Gaussian
    mechanisms, exactly μ_G-GDP with ``μ_G = √T·Δ/σ``; Δ = c/n for add/remove with n fixed, 2c/n for
    replace-one. The initial dual as printed is a noiseless function of the data, and the first
    y-update shows it: no finite ε. From a noised gradient it costs one more release.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ClaimedCurve
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope, Theorem
from dpcalc.theorems.parameters import choice, count, number
from dpcalc.vocabulary import Adjacency, Bearing, Release, Status

if TYPE_CHECKING:
    from dpcalc.numerics.precise import Real


def _open_unit(name: str, value: float) -> float:
    if value in (0, 1):
        raise InvalidInput(f"{name} needs a number above 0 and below 1; got {value:g}; try 0.5")
    return checks.probability(name, value)


def _from_data(theorem: DPADMM) -> bool:
    return theorem.dual_start == "data"


def _replaced(theorem: DPADMM) -> bool:
    return theorem.adjacency == Adjacency.REPLACE_ONE


@dataclass(frozen=True, kw_only=True, slots=True)
class DPADMM(Theorem):
    """Gaussian noise on the full gradient; all of x, y and the dual are released."""

    key: ClassVar[str] = "dp-admm"
    title: ClassVar[str] = "Gradient-perturbed ADMM (DP-ADMM, DP-AccADMM)"
    reference: ClassVar[str] = "Shang et al. 2021, theorem 1, definition 3, lemma 1"
    statement: ClassVar[str] = (
        "(ε, δ)-DP after T iterations if σ² = c²αT/(2n²εμ), α = ln(1/δ)/((1-μ)ε) + 1, 0 < μ < 1"
    )
    release: ClassVar[Release] = Release.EVERY_ITERATE
    status: ClassVar[Status] = Status.FALSE_SOMEWHERE
    noise: ClassVar[str] = "sigma"
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The initial dual -(1/ρ)(Aᵀ)†∇f(x₀) is computed from the data without noise and decides "
            "the first y-update: releasing it, or any transcript that contains it, has no finite ε. "
            "The proof charges only the noisy gradients.",
            Bearing.PROOF_FAILS,
            _from_data,
        ),
        Finding(
            "Definition 2 lets neighbours differ in one entry. Replacing a record moves the gradient "
            "by up to 2c/n, the proof uses c/n.",
            Bearing.PROOF_FAILS,
            _replaced,
        ),
        Finding(
            "The transcript is a Gaussian mechanism, whose exact law is known; the Rényi conversion "
            "with a fixed split gives away more than half of ε at δ = 1e-3.",
            Bearing.LOOSE,
            lambda theorem: not _from_data(theorem) and not _replaced(theorem),
        ),
        Finding(
            "Definition 3's σ = Δ√(2 ln(1.25/δ))/ε is proved for ε <= 1 only, a restriction it does "
            "not state; it first fails between ε = 5.75 (δ = 0.1) and 9.85 (δ = 1e-10).",
            Bearing.REMARK,
        ),
        Finding(
            "Assumption 2 (A of full row rank) fails for the paper's own A = [W; I], and its "
            "experiments use γ = 1 where γ >= ηρ‖AᵀA‖ + 1 is needed.",
            Bearing.REMARK,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        Assumption(
            "gradient-bound",
            "gradient_bound bounds the norm of every possible record's gradient; it is not the "
            "maximum over the data.",
        ),
        Assumption(
            "public-parameters",
            "The starting point, step sizes, matrices and n_records do not depend on the data.",
        ),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "n_records": 32561,
        "rounds": 100,
        "gradient_bound": 1,
        "sigma": 0.01,
        "adjacency": "add-remove",
        "dual_start": "zero",
    }

    n_records: int = count("records, n")
    rounds: int = count("iterations, T")
    gradient_bound: float = number("largest norm of a record's gradient, c")
    sigma: float = number("standard deviation of the noise per coordinate, σ")
    split: float = number("the paper's free μ in (0, 1)", check=_open_unit, default=0.5)
    adjacency: str = choice(
        "neighbouring relation",
        (Adjacency.ADD_REMOVE.value, Adjacency.REPLACE_ONE.value),
        default=Adjacency.REPLACE_ONE.value,
    )
    dual_start: str = choice(
        "where the initial dual comes from: the data as printed (then ε = ∞), zero, or a gradient "
        "with noise",
        ("data", "zero", "noised"),
        default="data",
    )
    attest: Iterable[str] = dataclasses.field(default=())

    def claimed(self) -> Bound:
        """ε solves ``με² - kε - kL/(1-μ) = 0`` with k = c²T/(2n²σ²), L = ln(1/δ)."""
        self.require(Scope.CLAIMED)
        curve = ClaimedCurve(self._claimed_epsilon, {"sigma": self.sigma, "split": self.split})
        return Bound(curve, {"sigma": self.sigma}, "printed formula")

    def certified(self) -> Bound:
        """The exact Gaussian law of the noisy gradients, if the initial dual is not a leak."""
        self.require(Scope.CERTIFIED)
        if _from_data(self):
            return Bound(
                GDP(math.inf),
                {"mu": math.inf, "sigma": self.sigma},
                "the initial dual is released without noise",
            )
        mu = round_up(self._mu())
        numbers = {"mu": mu, "sensitivity": round_up(self._sensitivity()), "sigma": self.sigma}
        return Bound(GDP(mu), numbers, "exact Gaussian composition")

    def attained(self) -> Bound:
        """Linear losses with opposite gradients make every bound here an equality."""
        self.require(Scope.CERTIFIED)
        mu = math.inf if _from_data(self) else round_down(self._mu())
        return Bound(GDP(mu), {"mu": mu}, "linear losses, transcript of all iterates")

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ by the printed formula."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        eps, mu = mpf(epsilon), mpf(self.split)
        order = -context().log(mpf(delta)) / ((1 - mu) * eps) + 1
        square = self._unit() * order / (eps * mu)
        return self.replace(sigma=round_up(context().sqrt(square)))

    def remedy(self, epsilon: float, delta: float) -> str:
        """A data-independent initial dual."""
        if _from_data(self):
            return "dual-start zero or noised: the printed initial dual is released without noise"
        return Theorem.remedy(self, epsilon, delta)

    def noise_tolerance(self) -> float:
        """The last double: the bound is exact."""
        return 0.0

    def _unit(self) -> Real:
        """c²T/(2n²)."""
        return mpf(self.gradient_bound) ** 2 * self.rounds / (2 * mpf(self.n_records) ** 2)

    def _claimed_epsilon(self, delta: float) -> float:
        ctx, mu = context(), mpf(self.split)
        k = self._unit() / mpf(self.sigma) ** 2
        logarithm = -ctx.log(mpf(delta))
        return float((k + ctx.sqrt(k**2 + 4 * mu * k * logarithm / (1 - mu))) / (2 * mu))

    def _sensitivity(self) -> Real:
        return mpf(self.gradient_bound) * (2 if _replaced(self) else 1) / self.n_records

    def _mu(self) -> Real:
        releases = self.rounds + (1 if self.dual_start == "noised" else 0)
        return context().sqrt(releases) * self._sensitivity() / mpf(self.sigma)

    def symbolic(self) -> tuple[Formula, ...]:
        """The prescribed variance and μ of the transcript."""
        import sympy

        c, n, t, s, eps, delta, mu = sympy.symbols("c n T sigma epsilon delta mu", positive=True)
        order = sympy.log(1 / delta) / ((1 - mu) * eps) + 1
        values = {
            "c": self.gradient_bound,
            "n": float(self.n_records),
            "T": float(self.rounds),
            "sigma": self.sigma,
            "mu": self.split,
        }
        prescribed = sympy.sqrt(c**2 * order * t / (2 * n**2 * eps * mu))
        factor = 2 if _replaced(self) else 1
        releases = t + 1 if self.dual_start == "noised" else t
        certified = sympy.oo if _from_data(self) else sympy.sqrt(releases) * factor * c / (n * s)
        return (
            Formula("prescribed.sigma", prescribed, values),
            Formula("certified.mu", certified, values),
        )
