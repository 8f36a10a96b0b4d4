"""What noisy descent on a bounded domain reveals at least: instances on an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcalc.accounting.iteration.confined_walk import ConfinedWalk
from dpcalc.accounting.iteration.sampled_interval import SampledConfinedWalk
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
    walked = _Walked.of(theorem, diameter, round_down(theorem.own_unit()))
    uses = {"steps": steps, "gap": gap, "tail": tail}
    walks: list[Callable[[float], float]] = []
    if walked.between_walls:
        walks.append(WalledWalk(width=walked.width, shift=walked.sensitivity / 2, **uses))
    walks.append(
        ConfinedWalk(
            width=walked.width, step_sensitivity=walked.sensitivity, least=walked.least,
            most=walked.most, **uses,
        )
    )  # fmt: skip
    return walked.revealed(walks)


def sampled_interval_instance(
    theorem: NoisyDescent, diameter: float, *, steps: int, batch_size: int, n_records: int
) -> Bound | None:
    """The same for batches drawn at random in every step, no gradient above L.

    Args:
        theorem: a result on a bounded domain.
        diameter: D.
        steps: T.
        batch_size: b.
        n_records: n.
    """
    walked = _Walked.of(theorem, diameter, round_down(theorem.own_unit()))
    rate = round_down(mpf(batch_size) / n_records)
    walks: list[Callable[[float], float]] = []
    if walked.between_walls:
        walks.append(
            WalledWalk(width=walked.width, shift=walked.sensitivity / 2, steps=steps, rate=rate)
        )
    walks.append(
        SampledConfinedWalk(
            width=walked.width, step_sensitivity=walked.sensitivity, least=walked.least,
            most=walked.most, steps=steps, rate=rate, batch_size=batch_size,
        )
    )  # fmt: skip
    return walked.revealed(walks)


@dataclass(frozen=True, slots=True)
class _Walked:
    """An interval in units of a step's noise, and the factors that a step may have."""

    width: float
    sensitivity: float
    least: float
    most: float
    between_walls: bool

    @classmethod
    def of(cls, theorem: NoisyDescent, diameter: float, sensitivity: float) -> _Walked:
        eta = mpf(theorem.step_size)
        width = round_down(mpf(diameter) / (eta * mpf(theorem.sigma)))
        return cls(
            width,
            sensitivity,
            max(round_up(1 - eta * mpf(theorem.smoothness)), 0.0),
            min(round_down(1 - eta * mpf(theorem.curvature())), 1.0),
            theorem.curvature() <= 0 and NARROWEST <= width <= WIDEST,
        )

    def revealed(self, walks: list[Callable[[float], float]]) -> Bound | None:
        """The most that a walk reveals; None if nothing."""
        profile = PrivacyProfile(Largest(tuple(walks)), "threshold test")
        if profile.delta(0.0) == 0:
            return None
        numbers = {"width": self.width, "step_sensitivity": self.sensitivity}
        return Bound(profile, numbers, "one threshold, losses on an interval")
