"""What quadratics leak in their last iterate, with the walls of a domain and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.accounting.iteration.average import Averaged
from dpcalc.accounting.iteration.quadratics import Uses, last_mu_squared
from dpcalc.guarantees import GDP
from dpcalc.numerics.precise import context, mpf, round_down
from dpcalc.theorems.authoring import choice
from dpcalc.theorems.base import Bound

if TYPE_CHECKING:
    from dpcalc.theorems.authoring import Real
    from dpcalc.theorems.noisy_gradient_descent._base import NoisyDescent

EXCEEDS_ON_A_DOMAIN = (
    "a concrete instance exceeds the claim, in which steps project on a domain of their own; "
    "domain=none judges runs that never project."
)


def domain() -> Any:
    """The parameter of results whose worst instances need walls."""
    return choice(
        "what steps project on: any convex domain, as the result allows, or none; the instance that "
        "a claim is held against depends on it, the certified bound does not",
        default="any",
    )


def meets_walls(theorem: NoisyDescent, uses: Uses) -> bool:
    """Whether what the cheapest shifts charge is attained at walls only.

    A single straight line from the first step on needs none, and equal curvatures leave no room.
    """
    straight = uses.lead == 0 and (
        uses.passes == 1 or (uses.gap == 1 and theorem.contraction() <= 1)
    )
    return not straight and theorem.curvature() < theorem.smoothness


def quadratic_instance(theorem: NoisyDescent, mu: Real, uses: Uses, *, projected: bool) -> Bound:
    """What the last iterate leaks, exactly (docs/theorems/shifted-interpolation.md).

    Where all curvatures are equal, losses are alike everywhere, and so are the uses' moves.

    Args:
        theorem: the instance.
        mu: that of the cheapest shifts.
        uses: when the record is used.
        projected: whether steps may project on a domain.
    """
    least = 1 - mpf(theorem.step_size) * mpf(theorem.smoothness)
    method = "quadratics of changing direction, no projection"
    if theorem.curvature() == theorem.smoothness:
        law = Averaged(theorem.own_unit(), mpf(1), least, least)
        square = law.last_mu_squared(
            passes=uses.passes, gap=uses.gap, tail=uses.tail, lead=uses.lead
        )
        mu, method = context().sqrt(square), "quadratics of one curvature, no projection"
    elif meets_walls(theorem, uses) and projected:
        method = "quadratics on a domain, walls that forget"
    elif meets_walls(theorem, uses):
        most = 1 - mpf(theorem.step_size) * mpf(theorem.curvature())
        square = last_mu_squared(unit=theorem.own_unit(), least=least, most=most, uses=uses)
        mu, method = context().sqrt(square), "quadratics of changing curvature, no projection"
    lower = round_down(mu)
    return Bound(GDP(lower), {"mu": lower}, method)
