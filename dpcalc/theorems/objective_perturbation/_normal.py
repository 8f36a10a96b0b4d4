"""What the results on objective perturbation with normal noise share: parameters, bound and instance.

One update minimises ``Σ L(y xᵀf) + (λ/2)|f|² + r(f) + bᵀf`` exactly, r convex, b ~ N(0, σ²I), and
releases the minimiser. Further updates may choose r from what was released: they compose adaptively.
"""

from __future__ import annotations

import math
from typing import Literal

from dpcalc.accounting.enclosure import TOLERANCE
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import mpf, round_down, round_up
from dpcalc.theorems.authoring import Theorem, assume, choice, count, finding, number, theorem
from dpcalc.theorems.base import Bound, Formula, Scope
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.numbers import Digits, Numbers, Real, Symbols
from dpcalc.theorems.objective_perturbation._assumptions import PROMISES
from dpcalc.theorems.objective_perturbation._rounds import NormalNoise, Round, Rounds, composed
from dpcalc.theorems.parameters import schedule
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency


def _several(theorem: NormalObjective) -> str | None:
    if theorem.rounds > 1:
        return f"the printed bound is for one update; got rounds={theorem.rounds}; try rounds 1"
    return None


def _exchanged(theorem: NormalObjective) -> str | None:
    if theorem.adjacency != "add-remove":
        return (
            "the printed bound is read for one record more or less; got "
            f"adjacency={theorem.adjacency}; try add-remove"
        )
    return None


ONE_RECORD = assume(
    "one-record",
    "Neighbours differ in one record that is present or absent.",
    "claimed",
    _exchanged,
)

ONE_UPDATE = assume("one-update", "There is one update.", "claimed", _several)

MARGIN_PROMISES = (
    assume(
        "record-bounds",
        "A record's loss is a convex, twice differentiable function of one linear form of f; its "
        "gradient has norm at most gradient_bound, its second derivative along the form's direction "
        "is at most the curvature. For the logistic loss with weight w and rows of norm at most R: "
        "wR and wR²/4.",
    ),
    *(p for p in PROMISES if p.key not in ("row-norms", "loss", "public-parameters")),
    assume(
        "public-parameters",
        "Noise, regularisation, weights and starting points do not depend on the data.",
    ),
)
"""What only the caller can vouch for."""

TIED = finding(
    "For the logistic loss the gradient and the curvature of a record are tied, and outcomes with a "
    "large loss have little curvature: the law of the update costs hardly more than its noise.",
    "loose",
    lambda t: t.loss == "logistic",
)


@theorem(
    releases="every iterate",
    noise="sigma",
)
class NormalObjective(Theorem):
    """Exact minimisers of objectives with a normal linear term; all of them are released."""

    regularization: Schedule = schedule(
        "strong convexity of all but the records' losses, λ; per update"
    )
    sigma: Schedule = schedule(
        "standard deviation of the linear noise per coordinate, σ; per update"
    )
    rounds: int = count("updates, each of which may depend on those before it", default=1)
    gradient_bound: float = number("largest norm of one record's gradient, L or ζ", default=1.0)
    curvature: float | None = number(
        "largest second derivative of one record's loss, β (1/4 for the logistic loss with gradients "
        "of norm at most 1)",
        default=None,
    )
    loss: Literal["logistic", "general"] = choice("loss function", default="logistic")
    adjacency: Literal["add-remove", "replace-one"] = choice(
        "neighbouring relation",
        default="add-remove",
    )

    def _check_together(self) -> None:
        if self.curvature is None:
            if self.loss == "general" or self.gradient_bound != 1:
                raise InvalidInput(
                    "curvature is needed unless the loss is logistic and gradient_bound is 1; got "
                    f"loss={self.loss!r}, gradient_bound={self.gradient_bound:g}; for the logistic "
                    "loss with weight w and rows of norm R it is wR²/4, gradient_bound wR"
                )
            object.__setattr__(self, "curvature", 0.25)
        self.sigma.rounds("sigma", self.rounds, 1)
        self.regularization.rounds("regularization", self.rounds, 1)

    @property
    def largest_curvature(self) -> float:
        """β."""
        return 0.25 if self.curvature is None else self.curvature

    def certified(self) -> Bound:
        """Updates compose adaptively by the laws of their losses."""
        self.require(Scope.CERTIFIED)
        noise = NormalNoise(self.loss == "logistic", Adjacency(self.adjacency))
        numbers = {"noise_mu": round_up(self.noise_mu(Digits(self)))}
        return Bound(composed(self._updates(), noise), numbers, "law of the update, composed")

    def attained(self) -> Bound:
        """Records whose losses are linear where the minimisers are: Gaussian mechanisms."""
        self.require(Scope.CERTIFIED)
        mu = round_down(self.noise_mu(Digits(self)))
        return Bound(GDP(mu), {"noise_mu": mu}, "losses in their linear part")

    def noise_mu(self, x: Numbers) -> Real:
        """μ of the moved noise alone: √Σ(g/σ)², twice that where one record replaces another."""
        if self.sigma.constant:
            square = x.named("T", self.rounds) / x.named("sigma", self.sigma.first) ** 2
        else:
            square = sum((n / x.given(sigma) ** 2 for (sigma,), n in self._sigmas()), x.given(0))
        return self._records() * x.named("L", self.gradient_bound) * x.sqrt(square)

    def _records(self) -> int:
        return 2 if self.adjacency == "replace-one" else 1

    def _sigmas(self) -> list[tuple[tuple[float, ...], int]]:
        return self.sigma.rounds("sigma", self.rounds, 1)

    def _updates(self) -> Rounds:
        """μ and κ of every update, rounded up; κ of a tied loss is that at s(1-s) = 1."""
        share = mpf(self.largest_curvature) * (4 if self.loss == "logistic" else 1)
        stiff = self.regularization.rounds("regularization", self.rounds, 1)
        sigmas = self._sigmas()
        if len(stiff) == 1:
            stiff = [(stiff[0][0], n) for _, n in sigmas]
        elif len(sigmas) == 1:
            sigmas = [(sigmas[0][0], n) for _, n in stiff]
        return tuple(
            (
                Round(
                    math.inf,
                    round_up(mpf(self.gradient_bound) / mpf(sigma)),
                    round_up(share / mpf(stiffness)),
                ),
                n,
            )
            for ((sigma,), n), ((stiffness,), _) in zip(sigmas, stiff, strict=True)
        )

    def calibration_tolerance(self) -> float:
        """What an enclosure is worth."""
        return TOLERANCE

    def shown_noise(self) -> Formula:
        """`noise_mu` in symbols, or with the numbers of a schedule."""
        x = Symbols(self)
        return shown("certified.noise_mu", self.noise_mu(x), x)
