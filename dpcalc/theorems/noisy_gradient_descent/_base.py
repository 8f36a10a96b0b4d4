"""What the results on noisy gradient descent share: parameters, promises and checks.

One step: ``x ← Π(x - η(g + Z))``, g the gradient of one record, a batch or all records, Z normal
with standard deviation σ per coordinate, Π the projection on a convex domain (or none). Only the
last x is released.
"""

from __future__ import annotations

from abc import abstractmethod

from dpcalc import checks
from dpcalc.accounting.iteration import Expanding, Participation, contraction_factor
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import context, mpf, round_down
from dpcalc.theorems.authoring import (
    Numbers,
    Real,
    Theorem,
    assume,
    finding,
    number,
    theorem,
)
from dpcalc.theorems.averages import COMPOSED, last_or_average
from dpcalc.theorems.base import Bound
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.step_size import expands
from dpcalc.vocabulary import Release


def _beyond_the_paper(theorem: NoisyDescent) -> str | None:
    weak = theorem.weakness()
    if weak > 0:
        return f"the paper takes convex losses; got weak_convexity={weak:g}"
    return expands(theorem)


EXPANDED = ", every use paid up to the next: a step may expand"

CONVEX = assume(
    "convex",
    "Every record's loss is smoothness-smooth and convex, or, where weak_convexity is given, weakly "
    "convex with that constant.",
)
STRONGLY_CONVEX = assume(
    "strongly-convex",
    "Every record's loss is smoothness-smooth and strong_convexity-strongly convex (convex if that is "
    "not given, or, where weak_convexity is given, weakly convex with that constant).",
)
LIPSCHITZ = assume(
    "lipschitz",
    "Every possible record's gradient has norm at most lipschitz everywhere in the domain.",
)
DIFFERENCES = assume(
    "gradient-differences",
    "The gradients of any two possible records differ by at most 2·lipschitz everywhere, as for "
    "Lipschitz losses with a strongly convex part that all records share.",
)
SENSITIVITY = assume(
    "gradient-difference",
    "The gradients of a record and its replacement differ by at most sensitivity everywhere "
    "(two quadratics do not, without clipping or a bounded domain).",
)
PUBLIC = assume(
    "public-parameters",
    "The starting point, the domain, the step size and the order of use do not depend on the data.",
)
HIDDEN = assume(
    "hidden-iterates", "Nothing but the release is seen, and every step draws fresh noise."
)
NO_EXPANSION = assume("step-size", "The step size is at most 2/smoothness.", "both", expands)
NO_EXPANSION_CLAIMED = assume(
    "step-size",
    "Losses are convex and the step size is at most 2/smoothness.",
    "claimed",
    _beyond_the_paper,
)

CONVEXITY_UNUSED = finding(
    "Strongly convex losses are not used by the claim.", "loose", lambda t: t.curvature() > 0
)


@theorem(
    noise="sigma",
    adjacency="replace-one",
)
class NoisyDescent(Theorem):
    """Noisy gradient descent of which the last iterate, or the mean of all, is released."""

    step_size: float = number("step size", "eta")
    smoothness: float = number("smoothness of every record's loss", check=checks.non_negative)
    sigma: float = number("standard deviation of the noise on the gradient per coordinate", "sigma")
    release: Release = last_or_average()

    def curvature(self) -> float:
        """The least eigenvalue of a Hessian: strong convexity, or minus the weak one."""
        return float(getattr(self, "strong_convexity", None) or 0.0) - self.weakness()

    def weakness(self) -> float:
        """The losses' weak convexity, 0 if they are convex."""
        return float(getattr(self, "weak_convexity", 0.0))

    def contraction(self) -> Real:
        """What a gradient step multiplies distances by, at most."""
        return contraction_factor(self.step_size, self.smoothness, self.curvature())

    def factor(self, x: Numbers) -> Real:
        """The contraction max(|1 - ηm|, |1 - ηM|) as a formula."""
        found = self.contraction()
        if found == 1:
            return x.given(1)
        if self.weakness() > 0:
            return x.computed(found)
        low, high = x.named("m", self.curvature()), x.named("M", self.smoothness)
        return x.max(abs(1 - x.step_size * low), abs(1 - x.step_size * high))

    @abstractmethod
    def own_mu(self, x: Numbers) -> Real:
        """The μ of one use of the record, its iterate released."""

    def uses(self) -> int:
        """How often the record is used."""
        return 1

    def own_unit(self) -> Real:
        """The μ of one use with sixty digits."""
        return self.own_mu(Digits(self))

    def mu_with_left(self, steps: int) -> Real:
        """μ of a record used once with this many steps left, its own included."""
        unit = self.own_unit()
        c = max(self.contraction(), mpf(1))
        return context().sqrt(Expanding(c, unit, mpf(1)).mu_squared(Participation(1, steps, steps)))

    def composed_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """What holds for every function of all iterates, averages among them."""
        count = x.named("uses", self.uses())
        return self.own_mu(x) * x.sqrt(count), COMPOSED, {"uses": count}

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
        law = Averaged(self.own_unit() * noise, noise, least, most)
        found = law.mu_squared(passes=passes, gap=gap, tail=tail, lead=lead)
        mu = round_down(context().sqrt(found))
        return Bound(GDP(mu), {"mu": mu}, "the mean's exact law for quadratics, no projection")

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


class OnePass(NoisyDescent):
    """Every record is used once, in an order; declared further: ``n_records``, ``position``."""

    __slots__ = ()

    n_records: int
    position: int | None

    def _check_together(self) -> None:
        super()._check_together()
        position_within(self.position, self.n_records)

    def steps_left(self) -> int:
        """Steps from the record's own to the last, both included."""
        return 1 if self.position is None else self.n_records + 1 - self.position


def position_within(position: int | None, count: int) -> None:
    """Raise `InvalidInput` if a record's position is beyond the last."""
    if position is not None and position > count:
        raise InvalidInput(f"position needs to be at most {count}; got position={position}")
