"""What noisy descent on a bounded domain reveals at least: instances on an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcalc.accounting.iteration.confined_walk import ConfinedWalk
from dpcalc.accounting.iteration.walled_walk import NARROWEST, WIDEST, WalledWalk
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.numerics.precise import mpf, round_down, round_up
from dpcalc.theorems.base import Bound
from dpcalc.theorems.noisy_gradient_descent._base import NoisyDescent


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest of several lower bounds of a profile."""

    bounds: tuple[Callable[[float], float], ...]

    def __call__(self, epsilon: float) -> float:
        """δ(ε) is at least this."""
        return max(bound(epsilon) for bound in self.bounds)


def interval_instance(
    theorem: NoisyDescent, diameter: float, *, steps: int, gap: int, tail: int
) -> Bound | None:
    """What the last iterate leaks for linear losses or quadratics, whichever is more; None if nothing.

    Args:
        theorem: a result on a bounded domain.
        diameter: D.
        steps: T.
        gap: steps from one use of the record to the next.
        tail: steps from the last use to the end, both included.
    """
    eta = mpf(theorem.step_size)
    width = round_down(mpf(diameter) / (eta * mpf(theorem.sigma)))
    sensitivity = round_down(theorem.own_unit())
    walks: list[Callable[[float], float]] = []
    if theorem.curvature() <= 0 and NARROWEST <= width <= WIDEST:
        walks.append(
            WalledWalk(width=width, shift=sensitivity / 2, steps=steps, gap=gap, tail=tail)
        )
    least = max(round_up(1 - eta * mpf(theorem.smoothness)), 0.0)
    most = min(round_down(1 - eta * mpf(theorem.curvature())), 1.0)
    walks.append(
        ConfinedWalk(
            width=width, step_sensitivity=sensitivity, least=least, most=most, steps=steps, gap=gap,
            tail=tail,
        )
    )  # fmt: skip
    profile = PrivacyProfile(Largest(tuple(walks)), "threshold test")
    if profile.delta(0.0) == 0:
        return None
    numbers = {"width": width, "step_sensitivity": sensitivity}
    return Bound(profile, numbers, "one threshold, losses on an interval")
