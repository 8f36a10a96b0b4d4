"""What the results on cyclic batches share: l batches of b records, E passes over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from dpcalc.accounting.iteration import Descent, Expanding, Visits, mixed_positions
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.noisy_gradient_descent._base import (
    NoisyDescent,
    position_within,
)
from dpcalc.theorems.parameters import choice, count, number, weak_convexity
from dpcalc.vocabulary import Adjacency

ORDERS = ("fixed", "shuffled-once", "reshuffled")


@dataclass(frozen=True, kw_only=True, slots=True)
class CyclicDescent(NoisyDescent):
    """Batches of equal size used in turn, pass after pass."""

    adjacency: ClassVar[Adjacency] = Adjacency.NEIGHBOURING_FUNCTIONS

    sensitivity: float = number("largest change of a record's gradient if it is replaced, L")
    batch_size: int = count("records of a batch, b")
    n_batches: int = count("batches, each used once a pass, l (1: full batch)")
    passes: int = count("passes over the batches, E")
    strong_convexity: float | None = number(
        "strong convexity of every record's loss, m (convex unless given)", default=None
    )
    weak_convexity: float = weak_convexity()
    order: str = choice(
        "order of the batches: the same in every pass, one random order kept, or a new one each pass",
        ORDERS,
        default="fixed",
    )
    position: int | None = count(
        "place of the record's batch in a fixed order (the last, the worst, unless given)",
        default=None,
    )

    def _check_together(self) -> None:
        NoisyDescent._check_together(self)  # noqa: SLF001 # super() fails in dataclasses with slots
        position_within(self.position, self.n_batches)
        if self.position is not None and self.order != "fixed":
            raise InvalidInput(f"position goes with --order fixed; got --order {self.order}")

    def unit(self) -> Real:
        """L/(bσ): μ of one step."""
        return mpf(self.sensitivity) / (self.batch_size * mpf(self.sigma))

    def own_uses(self) -> tuple[Real, int]:
        """One step a pass."""
        return self.unit(), self.passes

    def descent(self) -> Descent:
        """The record's batch moves an iterate by ηL/b against noise ησ."""
        eta = mpf(self.step_size)
        jump = eta * mpf(self.sensitivity) / self.batch_size
        return Descent(self.contraction(), jump, eta * mpf(self.sigma))

    def visits(self, left: int | None = None) -> Visits:
        """When the record's batch is used, with a number of steps left in the last pass."""
        if left is None:
            left = 1 if self.position is None else self.n_batches + 1 - self.position
        if self.order == "reshuffled":
            # Earlier passes at their worst: last in the order. Then the last pass decides.
            return Visits(self.passes, self.n_batches, left, 0, self.n_batches + 1 - left)
        return Visits(self.passes, self.n_batches, left)

    def mu_left(self, left: int) -> Real:
        """μ with a number of steps left after the last use, that one included."""
        expanding = self.expanding()
        if expanding is not None:
            return context().sqrt(expanding.mu_squared(self.visits(left)))
        return self.descent().mu(self.visits(left))

    def mu_in_turn(self) -> Callable[[int], Real]:
        """The same for one position after the other."""
        return self.mu_left

    def expanding(self) -> Expanding | None:
        """The bound's form if a step may expand."""
        found = self.descent()
        if found.contraction <= 1:
            return None
        return Expanding(found.contraction, found.jump, found.noise)

    def guaranteed(self) -> tuple[Guarantee, dict[str, float]]:
        """The guarantee for the order, with its numbers."""
        if self.order == "fixed":
            mu = round_up(self.mu_left(self.visits().tail))
            return GDP(mu), {"mu": mu, "contraction": round_up(self.contraction())}
        mus, shares = mixed_positions(self.mu_in_turn(), self.n_batches)
        numbers = {"largest_mu": max(mus), "smallest_mu": min(mus)}
        return GaussianMixture(mus, shares), numbers

    def calibration_tolerance(self) -> float:
        """The last double for a fixed order; what a sum over positions is worth otherwise."""
        return 0.0 if self.order == "fixed" else 1e-12
