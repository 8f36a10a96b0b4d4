"""Gradient-perturbed ADMM (DP-ADMM, DP-AccADMM).

Statement
    (ε, δ)-DP after T iterations if σ² = c²αT/(2n²εμ), α = ln(1/δ)/((1-μ)ε) + 1, 0 < μ < 1
Source
    Shang et al. 2021, theorem 1, definition 3, lemma 1
Certified
    With an initial dual that does not depend on the data, the transcript is T adaptive Gaussian
    mechanisms, exactly μ_G-GDP with ``μ_G = √T·Δ/σ``; Δ = c/n for add/remove with n fixed, 2c/n for
    replace-one. The initial dual as printed is a noiseless function of the data, and the first
    y-update shows it: no finite ε. From a noised gradient it costs one more release.
    The last iterate (x_T, y_T), all that the paper's algorithms put out, is a function of the
    transcript: what is certified for the transcript holds for it.
Attained
    Linear losses reach it in the transcript, and in the last iterate if the dual starts from zero;
    from the data no finite ε holds for all step sizes. docs/theorems/dp-admm.md has the instances.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from typing import Literal

from dpcalc import checks
from dpcalc.theorems.authoring import (
    Numbers,
    Real,
    Theorem,
    assume,
    choice,
    count,
    finding,
    number,
    release,
    theorem,
)
from dpcalc.vocabulary import Release


@theorem(
    status="false for some settings",
    noise="sigma",
    example={
        "n_records": 32561,
        "rounds": 100,
        "gradient_bound": 1,
        "sigma": 0.01,
        "adjacency": "add-remove",
        "dual_start": "zero",
    },
)
class DPADMM(Theorem):
    """Gaussian noise on the full gradient; all of x, y and the dual are released, or the end."""

    findings = (
        finding(
            "The initial dual -(1/ρ)(Aᵀ)†∇f(x₀) is computed from the data without noise and decides "
            "the first y-update: releasing it, or any transcript that contains it, has no finite ε. "
            "The proof charges only the noisy gradients.",
            "proof fails",
            lambda t: t.dual_start == "data" and t.release == "every iterate",
        ),
        finding(
            "The initial dual is computed from the data without noise, and y_T depends on it; the "
            "proof charges only the noisy gradients. For quadratic g and small step sizes what y_T "
            "shows of it stays while the noise of (x_T, y_T) vanishes: no finite ε holds for all "
            "step sizes.",
            "proof fails",
            lambda t: t.dual_start == "data" and t.release == "last iterate" and not t.clipped(),
        ),
        finding(
            "Definition 2 lets neighbours differ in one entry. Replacing a record moves the gradient "
            "by up to 2c/n, the proof uses c/n.",
            "proof fails",
            lambda t: t.adjacency == "replace-one",
        ),
        finding(
            "The initial dual is computed from the data without noise, and the proof does not charge "
            "it. For g = λ|y|₁ the dual is clipped to λ/ρ in every round; what (x_T, y_T) still shows "
            "of its start has no known bound.",
            "proof fails",
            lambda t: t.dual_start == "data" and t.clipped(),
        ),
        finding(
            "The transcript is a Gaussian mechanism, whose exact law is known; the Rényi conversion "
            "with a fixed split gives away more than half of ε at δ = 1e-3.",
            "loose",
            lambda t: t.dual_start != "data" and t.adjacency == "add-remove",
        ),
        finding(
            "Definition 3's σ = Δ√(2 ln(1.25/δ))/ε is proved for ε <= 1 only, a restriction it does "
            "not state; it first fails between ε = 5.75 (δ = 0.1) and 9.85 (δ = 1e-10).",
            "remark",
        ),
        finding(
            "Assumption 2 (A of full row rank) fails for the paper's own A = [W; I], and its "
            "experiments use γ = 1 where γ >= ηρ‖AᵀA‖ + 1 is needed.",
            "remark",
        ),
    )
    assumptions = (
        assume(
            "gradient-bound",
            "gradient_bound bounds the norm of every possible record's gradient; it is not the "
            "maximum over the data.",
        ),
        assume(
            "public-parameters",
            "The starting point, step sizes, matrices and n_records do not depend on the data.",
        ),
    )

    n_records: int = count("records", "n")
    rounds: int = count("iterations", "T")
    gradient_bound: float = number("largest norm of a record's gradient", "c")
    sigma: float = number("standard deviation of the noise per coordinate", "sigma")
    split: float = number("the paper's free μ in (0, 1)", "mu", check=checks.open_unit, default=0.5)
    adjacency: Literal["add-remove", "replace-one"] = choice(
        "neighbouring relation", default="replace-one"
    )
    dual_start: Literal["data", "zero", "noised"] = choice(
        "where the initial dual comes from: the data as printed (then ε = ∞), zero, or a gradient "
        "with noise",
        default="data",
    )
    release: Release = release(
        "what the adversary sees: every iterate (the transcript) or the last one, (x_T, y_T), alone",
        "every iterate",
        "last iterate",
    )
    regularizer: Literal["any", "l1"] = choice(
        "the g that the claim is made for: any convex function, as the theorem says, or λ|y|₁, as in "
        "the paper's experiments",
        default="any",
    )

    def clipped(self) -> bool:
        """Whether g clips the dual, so that nobody knows what the last iterate shows of its start."""
        return self.release == "last iterate" and self.regularizer == "l1" and self.rounds > 1

    def claimed_epsilon(self, x: Numbers, delta: Real) -> Real:
        """The positive root of ``με² - kε - kL/(1-μ)``, k = c²T/(2n²σ²), L = ln(1/δ)."""
        k = x.gradient_bound**2 * x.rounds / (2 * x.n_records**2) / x.sigma**2
        logarithm = x.log(1 / delta)
        return (k + x.sqrt(k**2 + 4 * x.split * k * logarithm / (1 - x.split))) / (2 * x.split)

    def prescribed_noise(self, x: Numbers, epsilon: Real, delta: Real) -> Real:
        """σ by the printed formula."""
        ratio = x.gradient_bound / x.n_records
        return ratio * x.sqrt(x.rounds * printed_factor(x, epsilon, delta, x.split))

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """The exact Gaussian law of the noisy gradients, if the initial dual is not a leak."""
        if self.dual_start == "data":
            return (
                x.inf,
                "the initial dual is computed from the data without noise",
                {"sigma": x.sigma},
            )
        numbers = {"sensitivity": self._sensitivity(x), "sigma": x.sigma}
        return self._mu(x, "every iterate"), "exact Gaussian composition", numbers

    def attained_mu(self, x: Numbers) -> tuple[Real, str]:
        """What linear losses leak, for the worst g and step size; see the module."""
        if self.dual_start == "data" and not self.clipped():
            return x.inf, "linear losses, small step size"
        return self._mu(x, self.release), f"linear losses, {self.release}"

    def _sensitivity(self, x: Numbers) -> Real:
        return x.gradient_bound * (2 if self.adjacency == "replace-one" else 1) / x.n_records

    def _mu(self, x: Numbers, release: str) -> Real:
        """μ of the noisy gradients that a release shows: a noised initial dual is one more."""
        start = self.dual_start == "noised" and release == "every iterate"
        return x.sqrt(x.rounds + (1 if start else 0)) * self._sensitivity(x) / x.sigma

    def suggestion(self, epsilon: float, delta: float) -> str:
        """A data-independent initial dual."""
        if self.dual_start == "data":
            return "dual-start zero or noised: the printed initial dual is released without noise"
        return super().suggestion(epsilon, delta)


def printed_factor(x: Numbers, epsilon: Real, delta: Real, split: Real) -> Real:
    """σ²/T over (c/n)²: ``α/(2εμ)`` for the order α of the printed proof."""
    return (x.log(1 / delta) / ((1 - split) * epsilon) + 1) / (2 * epsilon * split)
