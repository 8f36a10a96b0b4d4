"""Noisy gradient descent over batches in cyclic order, several passes.

Statement
    With m-strongly convex, M-smooth losses whose gradients move by at most L if a record is
    replaced, E passes over l batches of b records, ``x ← Π(x - η((1/b)Σ∇f_i(x) + N(0, σ²I)))``, are
    μ-GDP with ``μ = √(1 + c^(2l-2)(1-c²)/(1-c^l)²·(1-c^(l(E-1)))/(1+c^(l(E-1))))·L/(bσ)``,
    c = max(|1 - ηm|, |1 - ηM|).
    L = sensitivity, b = batch_size, l = n_batches, E = passes, η = step_size, σ = sigma,
    m = strong_convexity, M = smoothness.
Source
    Bok, Su and Altschuler 2024, noisy cyclic gradient descent; for convex losses (c = 1) the limit
    1 + (E-1)/l under the root.
Certified
    The cheapest shifts, for the record's own position, a fixed or a random order: never above the
    claim, below it where the last use is better paid together with the earlier ones.
Rounding
    Sixty digits, then up; for random orders the sum over positions is rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc.accounting.iteration.quadratics import Uses
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
from dpcalc.vocabulary import Bearing, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyCGD(CyclicDescent):
    """Cyclic batches, several passes; the last iterate is released."""

    key: ClassVar[str] = "noisy-cgd"
    title: ClassVar[str] = "Noisy gradient descent over cyclic batches, several passes"
    reference: ClassVar[str] = "Bok, Su and Altschuler 2024, noisy cyclic gradient descent"
    statement: ClassVar[str] = (
        "μ-GDP, μ = √(1 + c^(2l-2)(1-c²)/(1-c^l)²·(1-c^(l(E-1)))/(1+c^(l(E-1))))·L/(bσ)"
    )
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "The printed shifts pay the last use of the record on its own. Where earlier uses weigh "
            "more, sharing the noise of the last step among all is cheaper.",
            Bearing.LOOSE,
            lambda theorem: theorem.merges(),
        ),
        Finding(
            "Optimal among all shifts for the worst position: the printed formula is the cheapest "
            "allocation here.",
            Bearing.REMARK,
            lambda theorem: (
                theorem.order == "fixed" and theorem.contraction() <= 1 and not theorem.merges()
            ),
        ),
        Finding(
            "The claim is for the worst position in the order; a record whose batch comes earlier is "
            "protected by the steps after it.",
            Bearing.LOOSE,
            lambda theorem: theorem.position is not None and theorem.position < theorem.n_batches,
        ),
        Finding(
            "For a random order the positions' profiles are averaged; in a new order each pass all "
            "passes but the last are counted at their worst.",
            Bearing.LOOSE,
            lambda theorem: theorem.order != "fixed",
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        STRONGLY_CONVEX,
        SENSITIVITY,
        PUBLIC,
        HIDDEN,
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
    )
    example: ClassVar[Mapping[str, Any]] = {
        "sensitivity": 1,
        "batch_size": 50,
        "n_batches": 10,
        "passes": 12,
        "step_size": 0.25,
        "smoothness": 2,
        "strong_convexity": 0.125,
        "sigma": 0.1,
    }

    def _printed(self) -> Real:
        c, batches, rest = self.contraction(), self.n_batches, self.n_batches * (self.passes - 1)
        if c == 1:
            square = 1 + mpf(self.passes - 1) / batches
        else:
            ratio = (1 - c**rest) / (1 + c**rest)
            square = 1 + c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2 * ratio
        return context().sqrt(square) * self.unit()

    def merges(self) -> bool:
        """Whether it is cheaper not to pay the last use on its own, in the worst position."""
        if self.contraction() > 1:
            return False
        return bool(self.mu_left(1) < self._printed() * (1 - mpf("1e-40")))

    def claimed(self) -> Bound:
        """The printed μ, for the worst position."""
        self.require(Scope.CLAIMED)
        mu = round_up(self._printed())
        return Bound(GDP(mu), {"mu": mu}, "printed formula")

    def certified(self) -> Bound:
        """The cheapest shifts for the record's position, or averaged over random positions."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        guarantee, numbers = self.guaranteed()
        method = "shifted interpolation in f-DP, cheapest shifts"
        if self.expanding() is not None:
            method += EXPANDED
        if self.order != "fixed":
            method += ", joint convexity over positions"
        return Bound(guarantee, numbers, method)

    def attained(self) -> Bound | None:
        """Quadratics and linear changes: an exact Gaussian law."""
        if self.order != "fixed":
            return None
        tail = self.visits().tail
        uses = Uses(self.n_batches - tail, self.passes, self.n_batches, tail)
        if averaged(self):
            return self.averaged_instance(
                passes=uses.passes, gap=uses.gap, tail=uses.tail, lead=uses.lead
            )
        return self.quadratic_instance(uses)

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed μ gives ε."""
        self.require(Scope.CLAIMED)
        unit = self.replace(sigma=1.0)._printed()  # noqa: SLF001 # another instance of this class
        return self.replace(sigma=sigma_for_mu(unit, epsilon, delta))

    def symbolic(self) -> tuple[Formula, ...]:
        """μ as printed and, for a fixed order, as certified."""
        if averaged(self) or self.contraction() > 1:
            return ()
        import sympy

        lip, s, b, eta = sympy.symbols("L sigma b eta", positive=True)
        c, values = contraction_of(self)
        values |= {
            "L": self.sensitivity,
            "sigma": self.sigma,
            "b": float(self.batch_size),
            "eta": self.step_size,
        }
        batches, passes = sympy.Integer(self.n_batches), sympy.Integer(self.passes)
        square = 1 + (passes - 1) / batches
        if c != 1:
            rest = c ** (batches * (passes - 1))
            ratio = c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2
            square = 1 + ratio * (1 - rest) / (1 + rest)
        found = [Formula("claimed.mu", sympy.sqrt(square) * lip / (b * s), values)]
        if self.order == "fixed":
            mu = certified_mu(
                self.descent(), self.visits(), contraction=c, jump=eta * lip / b, noise=eta * s
            )
            found.append(Formula("certified.mu", mu, values))
        return tuple(found)
