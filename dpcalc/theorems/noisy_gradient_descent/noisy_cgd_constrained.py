"""Noisy gradient descent on a bounded domain, full or cyclic batches.

Statement
    μ-GDP, μ = (1/σ)√((L/b)² + 3LD/(ηbl) + (L²/(b²l))⌈Db/(ηL)⌉) if E >= Db/(ηL)

    On a convex domain of diameter D, with convex M-smooth losses whose gradients move by at most L if
    a record is replaced and η <= 2/M, for E passes over l batches of b records; for the full batch
    (l = 1) without the first term.
    M = smoothness.
Source
    Bok, Su and Altschuler 2024, constrained noisy gradient descent, full and cyclic batches
Certified
    The cheapest shifts over the best number of last uses, starting as far apart as the domain allows;
    any position, strongly convex losses as well. For the full batch about 4LD/(ηb) under the root.
Rounding
    Sixty digits, then up; any number of uses gives a valid bound.
"""

from __future__ import annotations

from collections.abc import Callable

from dpcalc.checks import no_bound_without
from dpcalc.numerics.precise import context, mpf
from dpcalc.theorems.authoring import Numbers, Real, assume, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import (
    CONVEXITY_UNUSED,
    EXPANDED,
    HIDDEN,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    SENSITIVITY,
    STRONGLY_CONVEX,
)
from dpcalc.theorems.noisy_gradient_descent._cyclic import CyclicDescent
from dpcalc.theorems.noisy_gradient_descent._formulas import Start, last_iterate_mu
from dpcalc.theorems.noisy_gradient_descent._interval import interval_instance


@theorem(
    status="loose",
    example={
        "diameter": 1,
        "sensitivity": 1,
        "batch_size": 50,
        "n_batches": 20,
        "passes": 2000,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 0.1,
    },
)
class NoisyCGDConstrained(CyclicDescent):
    """Full or cyclic batches on a bounded domain; the last iterate is released."""

    findings = (
        finding(
            "The printed constants come from rounding the number of steps up; the best number of "
            "steps, counted from just after a use of the record, gives less.",
            "loose",
            lambda t: t.n_batches > 1 or not t.whole(),
        ),
        finding(
            "For fewer passes than Db/(ηL) the claim is that of composing the passes, √E·L/(bσ).",
            "loose",
            lambda t: not t.saturated(),
        ),
        finding(
            "The claim is for the worst position in a fixed order; for a random order the positions' "
            "profiles are averaged.",
            "loose",
            lambda t: t.order != "fixed",
        ),
        CONVEXITY_UNUSED,
    )
    assumptions = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        assume("bounded-domain", "Every step projects on a convex set of that diameter."),
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )

    diameter: float = number(
        "diameter of the domain",
        "D",
        check=no_bound_without("inf", "(no bounded domain) try noisy-cgd"),
    )

    def mu_left(self, left: int) -> Real:
        """μ with a number of steps left, over the best number of last uses."""
        expanding = self.expanding()
        if expanding is not None:
            participation, width = self.participation(left), mpf(self.diameter)
            return context().sqrt(expanding.mu_squared_bounded(participation, width))
        return self.descent().mu_bounded(self.participation(left), mpf(self.diameter))[0]

    def mu_in_turn(self) -> Callable[[int], Real]:
        """The same for one position after the other, each search begun where the last one ended."""
        if self.expanding() is not None:
            return self.mu_left
        descent, width, near = self.descent(), mpf(self.diameter), None

        def mu(left: int) -> Real:
            nonlocal near
            found, near = descent.mu_bounded(self.participation(left), width, near)
            return found

        return mu

    def _threshold(self) -> Real:
        """Db/(ηL)."""
        eta_l = mpf(self.step_size) * mpf(self.sensitivity)
        return mpf(self.diameter) * self.batch_size / eta_l

    def whole(self) -> bool:
        """Whether Db/(ηL) is an integer, where the full batch's constants are the best."""
        return bool(context().isint(self._threshold()))

    def saturated(self) -> bool:
        """Whether there are enough passes for the claim not to grow any more."""
        return bool(self.passes >= self._threshold())

    def claimed_mu(self, x: Numbers) -> Real:
        """The printed μ, or that of composition if that is smaller."""
        unit = x.sensitivity / x.batch_size
        composed = x.passes * unit**2
        if not self.saturated():
            return x.sqrt(composed) / x.sigma
        longest = x.ceil(x.diameter * x.batch_size / (x.step_size * x.sensitivity))
        square = 3 * unit * x.diameter / (x.step_size * x.n_batches)
        square += unit**2 / x.n_batches * longest
        square += unit**2 if self.n_batches > 1 else 0
        return x.sqrt(x.min(square, composed)) / x.sigma

    def attained(self) -> Bound | None:
        """Linear losses or quadratics on an interval."""
        if self.order != "fixed" or averaged(self):
            return None
        return interval_instance(
            self,
            self.diameter,
            steps=self.n_batches * self.passes,
            gap=self.n_batches,
            tail=self.participation().steps_after,
        )

    def method(self) -> str:
        """The cheapest shifts over the best number of last uses."""
        expands = EXPANDED if self.contraction() > 1 else ""
        return "shifted interpolation in f-DP, best number of uses" + expands

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """The same, with the number of uses."""
        mu, method, numbers = super().certified_mu(x)
        if averaged(self) or self.contraction() > 1:
            return mu, method, numbers
        _, counted = self.descent().mu_bounded(self.participation(), mpf(self.diameter))
        return mu, method, {**numbers, "counted_uses": x.named("counted", counted)}

    def position_mu(self, x: Numbers) -> Real:
        """Counted from just after a use of the record, as far apart as the domain allows."""
        if self.contraction() > 1:
            return super().position_mu(x)
        participation, descent = self.participation(), self.descent()
        _, counted = descent.mu_bounded(participation, mpf(self.diameter))
        if counted == participation.count:
            return super().position_mu(x)
        start = Start(mpf(self.diameter), x.diameter)
        return last_iterate_mu(x, descent, self.steps(x), participation.latest(counted), start)
