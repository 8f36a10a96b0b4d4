"""What the results on cyclic batches share: l batches of b records, E passes over them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

from dpcalc.accounting.iteration import Expanding, NoisyContraction, Participation, mixed_positions
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import context
from dpcalc.theorems.authoring import Numbers, Real, choice, count, number, theorem
from dpcalc.theorems.averages import averaged
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    NoisyDescent,
    position_within,
)
from dpcalc.theorems.noisy_gradient_descent._formulas import last_iterate_mu
from dpcalc.theorems.numbers import Digits, NotAFormula
from dpcalc.theorems.parameters import weak_convexity


@theorem(
    adjacency="neighbouring-functions",
)
class CyclicDescent(NoisyDescent):
    """Batches of equal size used in turn, pass after pass."""

    sensitivity: float = number("largest change of a record's gradient if it is replaced", "L")
    batch_size: int = count("records of a batch", "b")
    n_batches: int = count("batches, each used once a pass, l (1: full batch)", "l")
    passes: int = count("passes over the batches", "E")
    strong_convexity: float | None = number(
        "strong convexity of every record's loss, m (convex unless given)", default=None
    )
    weak_convexity: float = weak_convexity()
    order: Literal["fixed", "shuffled-once", "reshuffled"] = choice(
        "order of the batches: the same in every pass, one random order kept, or a new one each pass",
        default="fixed",
    )
    position: int | None = count(
        "place of the record's batch in a fixed order (the last, the worst, unless given)",
        default=None,
    )

    def _check_together(self) -> None:
        super()._check_together()
        position_within(self.position, self.n_batches)
        if self.position is not None and self.order != "fixed":
            raise InvalidInput(f"position goes with --order fixed; got --order {self.order}")

    def own_mu(self, x: Numbers) -> Real:
        """L/(bσ)."""
        return x.sensitivity / (x.batch_size * x.sigma)

    def uses(self) -> int:
        """One a pass."""
        return self.passes

    def steps(self, x: Numbers) -> NoisyContraction:
        """The record's batch moves an iterate by ηL/b against noise ησ."""
        step_sensitivity = x.step_size * x.sensitivity / x.batch_size
        return NoisyContraction(self.factor(x), step_sensitivity, x.step_size * x.sigma)

    def descent(self) -> NoisyContraction:
        """The same with sixty digits."""
        return self.steps(Digits(self))

    def participation(self, left: int | None = None) -> Participation:
        """When the record's batch is used, with a number of steps left in the last pass."""
        if left is None:
            left = 1 if self.position is None else self.n_batches + 1 - self.position
        if self.order == "reshuffled":
            # Earlier passes at their worst: last in the order. Then the last pass decides.
            return Participation(self.passes, self.n_batches, left, 0, self.n_batches + 1 - left)
        return Participation(self.passes, self.n_batches, left)

    def mu_left(self, left: int) -> Real:
        """μ with a number of steps left after the last use, that one included."""
        expanding = self.expanding()
        if expanding is not None:
            return context().sqrt(expanding.mu_squared(self.participation(left)))
        return self.descent().mu(self.participation(left))

    def mu_in_turn(self) -> Callable[[int], Real]:
        """The same for one position after the other."""
        return self.mu_left

    def expanding(self) -> Expanding | None:
        """The bound's form if a step may expand."""
        found = self.descent()
        if found.contraction <= 1:
            return None
        return Expanding(found.contraction, found.step_sensitivity, found.noise)

    @abstractmethod
    def method(self) -> str:
        """How a bound for one position is found."""

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """μ for the record's position in a fixed order, or for every function of all iterates."""
        if averaged(self):
            return self.composed_mu(x)
        if self.order != "fixed":
            raise NotAFormula
        return self.position_mu(x), self.method(), {"contraction": self.factor(x)}

    def position_mu(self, x: Numbers) -> Real:
        """By the cheapest shifts."""
        participation = self.participation()
        if self.contraction() > 1:
            return x.computed(self.mu_left(participation.steps_after))
        return last_iterate_mu(x, self.descent(), self.steps(x), participation)

    def certified(self) -> Bound:
        """For the record's position, or averaged over random positions."""
        if self.order == "fixed" or averaged(self):
            return super().certified()
        self.require(Scope.CERTIFIED)
        mus, shares = mixed_positions(self.mu_in_turn(), self.n_batches)
        numbers = {"largest_mu": max(mus), "smallest_mu": min(mus)}
        method = self.method() + ", joint convexity over positions"
        return Bound(GaussianMixture(mus, shares), numbers, method)

    def calibration_tolerance(self) -> float:
        """The last double for a fixed order; what a sum over positions is worth otherwise."""
        return 0.0 if self.order == "fixed" else 1e-12
