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
    The last iterate (x_T, y_T), all that the paper's algorithms put out, is a function of the
    transcript: what is certified for the transcript holds for it.
Attained
    Linear losses. *Transcript:* equality. *Last iterate, dual from zero:* for g = 0 x_T is
    ``x₀ - (η/γ)Σ(∇f + P_t)``, again equality; from a noised gradient x_T shows the T noisy gradients.
    *Last iterate, dual from the data:* for ``g = (k/2)|y|²``, A = I, B = -I, x₀ = 0 and a step size
    η → 0, x_T → 0 and y_T → ``(ρ/(k + ρ))(k/(k + ρ))^{T-1}u₀``, all noise being of order η: no finite
    ε holds for all step sizes. For g = λ|y|₁ and T = 1, y_1 shows u₀; for T > 1 and λ → 0, x_T is as
    for g = 0, and whether u₀ can show more is not known.
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
from dpcalc.theorems.parameters import choice, count, number, release
from dpcalc.vocabulary import Adjacency, Bearing, Release, Status

if TYPE_CHECKING:
    from dpcalc.numerics.precise import Real


RELEASES = (Release.EVERY_ITERATE, Release.LAST_ITERATE)


def _open_unit(name: str, value: float) -> float:
    if value in (0, 1):
        raise InvalidInput(f"{name} needs a number above 0 and below 1; got {value:g}; try 0.5")
    return checks.probability(name, value)


def _from_data(theorem: DPADMM) -> bool:
    return theorem.dual_start == "data"


def _whole(theorem: DPADMM) -> bool:
    return theorem.release == Release.EVERY_ITERATE


def _hidden(theorem: DPADMM) -> bool:
    """Whether nobody knows what the release shows of an initial dual computed from the data."""
    return not _whole(theorem) and theorem.regularizer == "l1" and theorem.rounds > 1


def _replaced(theorem: DPADMM) -> bool:
    return theorem.adjacency == Adjacency.REPLACE_ONE


@dataclass(frozen=True, kw_only=True, slots=True)
class DPADMM(Theorem):
    """Gaussian noise on the full gradient; all of x, y and the dual are released, or the end."""

    key: ClassVar[str] = "dp-admm"
    title: ClassVar[str] = "Gradient-perturbed ADMM (DP-ADMM, DP-AccADMM)"
    reference: ClassVar[str] = "Shang et al. 2021, theorem 1, definition 3, lemma 1"
    statement: ClassVar[str] = (
        "(ε, δ)-DP after T iterations if σ² = c²αT/(2n²εμ), α = ln(1/δ)/((1-μ)ε) + 1, 0 < μ < 1"
    )
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    status: ClassVar[Status] = Status.FALSE_SOMEWHERE
    noise: ClassVar[str] = "sigma"
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The initial dual -(1/ρ)(Aᵀ)†∇f(x₀) is computed from the data without noise and decides "
            "the first y-update: releasing it, or any transcript that contains it, has no finite ε. "
            "The proof charges only the noisy gradients.",
            Bearing.PROOF_FAILS,
            lambda theorem: _from_data(theorem) and _whole(theorem),
        ),
        Finding(
            "The initial dual is computed from the data without noise, and y_T depends on it; the "
            "proof charges only the noisy gradients. For quadratic g and small step sizes what y_T "
            "shows of it stays while the noise of (x_T, y_T) vanishes: no finite ε holds for all "
            "step sizes.",
            Bearing.PROOF_FAILS,
            lambda theorem: _from_data(theorem) and not _whole(theorem) and not _hidden(theorem),
        ),
        Finding(
            "Definition 2 lets neighbours differ in one entry. Replacing a record moves the gradient "
            "by up to 2c/n, the proof uses c/n.",
            Bearing.PROOF_FAILS,
            _replaced,
        ),
        Finding(
            "The initial dual is computed from the data without noise, and the proof does not charge "
            "it. For g = λ|y|₁ the dual is clipped to λ/ρ in every round; what (x_T, y_T) still shows "
            "of its start has no known bound.",
            Bearing.PROOF_FAILS,
            lambda theorem: _from_data(theorem) and _hidden(theorem),
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
    release: Release = release(
        "what the adversary sees: every iterate (the transcript) or the last one, (x_T, y_T), alone",
        RELEASES,
    )
    regularizer: str = choice(
        "the g that the claim is made for: any convex function, as the theorem says, or λ|y|₁, as in "
        "the paper's experiments",
        ("any", "l1"),
        default="any",
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
                "the initial dual is computed from the data without noise",
            )
        mu = round_up(self._mu(self._noisy_gradients()))
        numbers = {"mu": mu, "sensitivity": round_up(self._sensitivity()), "sigma": self.sigma}
        return Bound(GDP(mu), numbers, "exact Gaussian composition")

    def attained(self) -> Bound:
        """What linear losses leak, for the worst g and step size; see the module."""
        self.require(Scope.CERTIFIED)
        if _from_data(self) and not _hidden(self):
            return Bound(GDP(math.inf), {"mu": math.inf}, "linear losses, small step size")
        seen = self._noisy_gradients() if _whole(self) else self.rounds
        mu = round_down(self._mu(seen))
        return Bound(GDP(mu), {"mu": mu}, f"linear losses, {self.release}")

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ by the printed formula."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        eps, mu = mpf(epsilon), mpf(self.split)
        order = -context().log(mpf(delta)) / ((1 - mu) * eps) + 1
        square = self._unit() * order / (eps * mu)
        return self.replace(sigma=round_up(context().sqrt(square)))

    def suggestion(self, epsilon: float, delta: float) -> str:
        """A data-independent initial dual."""
        if _from_data(self):
            return "dual-start zero or noised: the printed initial dual is released without noise"
        return Theorem.suggestion(self, epsilon, delta)

    def calibration_tolerance(self) -> float:
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

    def _noisy_gradients(self) -> int:
        """Those that the transcript shows."""
        return self.rounds + (1 if self.dual_start == "noised" else 0)

    def _mu(self, shown: int) -> Real:
        """μ of so many noisy gradients."""
        return context().sqrt(shown) * self._sensitivity() / mpf(self.sigma)

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
        shown = t + 1 if self.dual_start == "noised" else t
        certified = sympy.oo if _from_data(self) else sympy.sqrt(shown) * factor * c / (n * s)
        return (
            Formula("prescribed.sigma", prescribed, values),
            Formula("certified.mu", certified, values),
        )
