"""Noisy gradient descent on a bounded domain: privacy that stops growing with the passes.

Statement
    On a convex domain of diameter D, with convex M-smooth losses whose gradients move by at most L if
    a record is replaced and η <= 2/M, E >= Db/(ηL) passes over l batches of b records are μ-GDP with
    ``μ = (1/σ)√((L/b)² + 3LD/(ηbl) + (L²/(b²l))⌈Db/(ηL)⌉)``; full batch (l = 1), without the first
    term.
    D = diameter, L = sensitivity, b = batch_size, l = n_batches, E = passes, η = step_size,
    σ = sigma, M = smoothness.
Source
    Bok, Su and Altschuler 2024, constrained noisy gradient descent, full and cyclic batches.
Certified
    The cheapest shifts over the best number of last uses, starting as far apart as the domain allows;
    any position, strongly convex losses as well. For the full batch about 4LD/(ηb) under the root.
Rounding
    Sixty digits, then up; any number of uses gives a valid bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc.checks import no_bound_without
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    EXPANDED,
    HIDDEN,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    SENSITIVITY,
    STRONGLY_CONVEX,
    sigma_for_mu,
)
from dpcalc.theorems.noisy_gradient_descent._cyclic import CyclicDescent
from dpcalc.theorems.noisy_gradient_descent._formulas import certified_mu, contraction_of
from dpcalc.theorems.parameters import number
from dpcalc.vocabulary import Bearing, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyCGDConstrained(CyclicDescent):
    """Full or cyclic batches on a bounded domain; the last iterate is released."""

    key: ClassVar[str] = "noisy-cgd-constrained"
    title: ClassVar[str] = "Noisy gradient descent on a bounded domain, full or cyclic batches"
    reference: ClassVar[str] = (
        "Bok, Su and Altschuler 2024, constrained noisy gradient descent, full and cyclic batches"
    )
    statement: ClassVar[str] = (
        "μ-GDP, μ = (1/σ)√((L/b)² + 3LD/(ηbl) + (L²/(b²l))⌈Db/(ηL)⌉) if E >= Db/(ηL)"
    )
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The printed constants come from rounding the number of steps up; the best number of "
            "steps, counted from just after a use of the record, gives less.",
            Bearing.LOOSE,
            lambda theorem: theorem.n_batches > 1 or not theorem.whole(),
        ),
        Finding(
            "For fewer passes than Db/(ηL) the claim is that of composing the passes, √E·L/(bσ).",
            Bearing.LOOSE,
            lambda theorem: not theorem.saturated(),
        ),
        Finding(
            "The claim is for the worst position in a fixed order; for a random order the positions' "
            "profiles are averaged.",
            Bearing.LOOSE,
            lambda theorem: theorem.order != "fixed",
        ),
        Finding(
            "Strongly convex losses are not used by the claim.",
            Bearing.LOOSE,
            lambda theorem: theorem.curvature() > 0,
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        Assumption("bounded-domain", "Every step projects on a convex set of that diameter."),
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )
    example: ClassVar[Mapping[str, Any]] = {
        "diameter": 1,
        "sensitivity": 1,
        "batch_size": 50,
        "n_batches": 20,
        "passes": 2000,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 0.1,
    }

    diameter: float = number(
        "diameter of the domain, D",
        check=no_bound_without("inf", "(no bounded domain) try noisy-cgd"),
    )

    def mu_left(self, left: int) -> Real:
        """μ with a number of steps left, over the best number of last uses."""
        expanding = self.expanding()
        if expanding is not None:
            visits, width = self.visits(left), mpf(self.diameter)
            return context().sqrt(expanding.mu_squared_bounded(visits, width))
        return self.descent().mu_bounded(self.visits(left), mpf(self.diameter))[0]

    def mu_in_turn(self) -> Callable[[int], Real]:
        """The same for one position after the other, each search begun where the last one ended."""
        if self.expanding() is not None:
            return self.mu_left
        descent, width, near = self.descent(), mpf(self.diameter), None

        def mu(left: int) -> Real:
            nonlocal near
            found, near = descent.mu_bounded(self.visits(left), width, near)
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

    def _printed(self) -> Real:
        unit = mpf(self.sensitivity) / self.batch_size
        composed = self.passes * unit**2
        if not self.saturated():
            return context().sqrt(composed) / mpf(self.sigma)
        batches, eta = self.n_batches, mpf(self.step_size)
        square = 3 * unit * mpf(self.diameter) / (eta * batches)
        square += unit**2 / batches * context().ceil(self._threshold())
        square += unit**2 if batches > 1 else 0
        return context().sqrt(min(square, composed)) / mpf(self.sigma)

    def claimed(self) -> Bound:
        """The printed μ, or that of composition if that is smaller."""
        self.require(Scope.CLAIMED)
        mu = round_up(self._printed())
        return Bound(GDP(mu), {"mu": mu}, "printed formula")

    def certified(self) -> Bound:
        """The cheapest shifts over the best number of last uses."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        guarantee, numbers = self.guaranteed()
        method = "shifted interpolation in f-DP, best number of uses"
        if self.expanding() is not None:
            return Bound(guarantee, numbers, method + EXPANDED)
        if self.order == "fixed":
            _, counted = self.descent().mu_bounded(self.visits(), mpf(self.diameter))
            return Bound(guarantee, {**numbers, "counted_uses": float(counted)}, method)
        return Bound(guarantee, numbers, method + ", joint convexity over positions")

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed μ gives ε."""
        self.require(Scope.CLAIMED)
        unit = self.replace(sigma=1.0)._printed()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=sigma_for_mu(unit, epsilon, delta))

    def symbolic(self) -> tuple[Formula, ...]:
        """μ as printed and as certified, with the number of uses that the numbers choose."""
        if averaged(self) or self.contraction() > 1:
            return ()
        import sympy

        lip, s, b, eta, diam, e, batches = sympy.symbols("L sigma b eta D E l", positive=True)
        c, values = contraction_of(self)
        values |= {
            "L": self.sensitivity,
            "sigma": self.sigma,
            "b": float(self.batch_size),
            "eta": self.step_size,
            "D": self.diameter,
            "E": float(self.passes),
            "l": float(self.n_batches),
        }
        printed = e * (lip / b) ** 2
        if self.saturated():
            first = (lip / b) ** 2 if self.n_batches > 1 else 0
            rest = 3 * diam * lip / (eta * b * batches)
            rest += lip**2 / (b**2 * batches) * sympy.ceiling(diam * b / (eta * lip))
            printed = sympy.Min(printed, first + rest)
        claimed = Formula("claimed.mu", sympy.sqrt(printed) / s, values)
        if self.order != "fixed":
            return (claimed,)
        visits, descent = self.visits(), self.descent()
        _, counted = descent.mu_bounded(visits, mpf(self.diameter))
        all_counted = counted == visits.count
        mu = certified_mu(
            descent,
            visits if all_counted else visits.latest(counted),
            contraction=c,
            jump=eta * lip / b,
            noise=eta * s,
            start=0 if all_counted else diam,
            start_value=0.0 if all_counted else self.diameter,
        )
        return (claimed, Formula("certified.mu", mu, values))
