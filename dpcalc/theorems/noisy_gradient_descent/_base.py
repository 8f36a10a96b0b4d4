"""What the results on noisy gradient descent share: parameters, promises and checks.

One step: ``x ← Π(x - η(g + Z))``, g the gradient of one record, a batch or all records, Z normal
with standard deviation σ per coordinate, Π the projection on a convex domain (or none). Only the
last x is released.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dpcalc import checks
from dpcalc.accounting.iteration import Expanding, Visits, contraction_factor
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.accounting.iteration.quadratics import Uses, last_mu_squared
from dpcalc.checks import told_apart
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import COMPOSED, RELEASES
from dpcalc.theorems.base import Assumption, Bound, Scope, Theorem
from dpcalc.theorems.parameters import number, release
from dpcalc.vocabulary import Adjacency, Release


def _expands(theorem: NoisyDescent) -> str | None:
    limit = 2 / theorem.smoothness if theorem.smoothness > 0 else math.inf
    if theorem.step_size > limit:
        largest, given = told_apart(limit, theorem.step_size)
        return (
            f"a gradient step does not expand only for step_size <= 2/smoothness = {largest}; "
            f"got step_size={given}"
        )
    return None


def _beyond_the_paper(theorem: NoisyDescent) -> str | None:
    weak = theorem.weakness()
    if weak > 0:
        return f"the paper takes convex losses; got weak_convexity={weak:g}"
    return _expands(theorem)


EXPANDED = ", every use paid up to the next: a step may expand"

CONVEX = Assumption(
    "convex",
    "Every record's loss is smoothness-smooth and convex, or weak_convexity-weakly convex.",
)
STRONGLY_CONVEX = Assumption(
    "strongly-convex",
    "Every record's loss is smoothness-smooth and strong_convexity-strongly convex "
    "(convex if none is given, or weak_convexity-weakly convex).",
)
LIPSCHITZ = Assumption(
    "lipschitz",
    "Every possible record's gradient has norm at most lipschitz everywhere in the domain.",
)
DIFFERENCES = Assumption(
    "gradient-differences",
    "The gradients of any two possible records differ by at most 2·lipschitz everywhere, as for "
    "Lipschitz losses with a strongly convex part that all records share.",
)
SENSITIVITY = Assumption(
    "gradient-difference",
    "The gradients of a record and its replacement differ by at most sensitivity everywhere "
    "(two quadratics do not, without clipping or a bounded domain).",
)
PUBLIC = Assumption(
    "public-parameters",
    "The starting point, the domain, the step size and the order of use do not depend on the data.",
)
HIDDEN = Assumption(
    "hidden-iterates", "Nothing but the release is seen, and every step draws fresh noise."
)
NO_EXPANSION = Assumption(
    "step-size", "The step size is at most 2/smoothness.", Scope.BOTH, _expands
)
NO_EXPANSION_CLAIMED = Assumption(
    "step-size",
    "Losses are convex and the step size is at most 2/smoothness.",
    Scope.CLAIMED,
    _beyond_the_paper,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyDescent(Theorem):
    """Noisy gradient descent of which the last iterate, or the mean of all, is released."""

    releases: ClassVar[tuple[Release, ...]] = RELEASES
    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    noise: ClassVar[str] = "sigma"

    step_size: float = number("step size, η")
    smoothness: float = number("smoothness of every record's loss", check=checks.non_negative)
    sigma: float = number("standard deviation of the noise on the gradient per coordinate, σ")
    release: Release = release(
        "what is seen: the last iterate, or the mean of all iterates", RELEASES
    )
    attest: Iterable[str] = dataclasses.field(default=())

    def curvature(self) -> float:
        """The least eigenvalue of a Hessian: strong convexity, or minus the weak one."""
        return float(getattr(self, "strong_convexity", None) or 0.0) - self.weakness()

    def weakness(self) -> float:
        """The losses' weak convexity, 0 if they are convex."""
        return float(getattr(self, "weak_convexity", 0.0))

    def contraction(self) -> Real:
        """What a gradient step multiplies distances by, at most."""
        return contraction_factor(self.step_size, self.smoothness, self.curvature())

    @abstractmethod
    def own_uses(self) -> tuple[Real, int]:
        """The μ of one use of the record, its iterate released, and how many there are."""

    def mu_with_left(self, steps: int) -> Real:
        """μ of a record used once with so many steps left, its own included."""
        unit = self.own_uses()[0]
        c = max(self.contraction(), mpf(1))
        return context().sqrt(Expanding(c, unit, mpf(1)).mu_squared(Visits(1, steps, steps)))

    def composed_uses(self) -> Bound:
        """What holds for every function of all iterates, averages among them."""
        unit, uses = self.own_uses()
        mu = round_up(unit * context().sqrt(uses))
        return Bound(GDP(mu), {"mu": mu, "uses": float(uses)}, COMPOSED)

    def averaged_instance(
        self, *, passes: int, gap: int, tail: int, lead: int = 0, linear: bool = False
    ) -> Bound:
        """What the mean of all iterates leaks for quadratics and linear changes, exactly.

        Args:
            passes: uses of the record.
            gap: steps from one use to the next.
            tail: steps from the last use to the end, both included.
            lead: steps before the first use.
            linear: whether only linear losses are within the assumptions.
        """
        eta = mpf(self.step_size)
        noise = eta * mpf(self.sigma)
        most = mpf(1) if linear else 1 - eta * mpf(self.curvature())
        least = mpf(1) if linear else 1 - eta * mpf(self.smoothness)
        law = Averaged(self.own_uses()[0] * noise, noise, least, most)
        found = law.mu_squared(passes=passes, gap=gap, tail=tail, lead=lead)
        mu = round_down(context().sqrt(found))
        return Bound(GDP(mu), {"mu": mu}, "the mean's exact law for quadratics, no projection")

    def quadratic_instance(self, uses: Uses) -> Bound:
        """What the last iterate leaks for quadratics of the worst curvatures found, exactly."""
        eta = mpf(self.step_size)
        square = last_mu_squared(
            unit=self.own_uses()[0],
            least=1 - eta * mpf(self.smoothness),
            most=1 - eta * mpf(self.curvature()),
            uses=uses,
        )
        mu = round_down(context().sqrt(square))
        return Bound(GDP(mu), {"mu": mu}, "quadratics of changing curvature, no projection")

    def calibration_tolerance(self) -> float:
        """The last double: the bounds are closed forms."""
        return 0.0

    def _check_together(self) -> None:
        weak, strong = self.weakness(), getattr(self, "strong_convexity", None) or 0.0
        if weak > 0 < strong:
            raise InvalidInput(
                f"losses are weakly or strongly convex; got weak_convexity={weak:g} and "
                f"strong_convexity={strong:g}; leave out one"
            )
        if weak > self.smoothness:
            raise InvalidInput(
                "weak_convexity needs to be at most smoothness; got "
                f"weak_convexity={weak:g}, smoothness={self.smoothness:g}"
            )
        if self.curvature() > self.smoothness:
            raise InvalidInput(
                "strong_convexity needs to be at most smoothness; got "
                f"strong_convexity={self.curvature():g}, smoothness={self.smoothness:g}"
            )


def position_within(position: int | None, count: int) -> None:
    """Raise `InvalidInput` if a record's position is beyond the last."""
    if position is not None and position > count:
        raise InvalidInput(f"position needs to be at most {count}; got position={position}")


def sigma_for_rho(rho_at_one: Real, rho: float) -> Real:
    """σ that makes ρ = rho_at_one/σ² equal to a target."""
    return context().sqrt(rho_at_one / rho)


def sigma_for_mu(mu_at_one: Real, epsilon: float, delta: float) -> float:
    """σ that makes μ = mu_at_one/σ give (ε, δ), by the exact Gaussian profile.

    Raises:
        InvalidInput: for a budget out of range.
    """
    from dpcalc.accounting.gaussian import gaussian_mu

    checks.positive("epsilon", epsilon)
    checks.proper_delta(delta)
    return round_up(mu_at_one / mpf(gaussian_mu(epsilon, delta)))
