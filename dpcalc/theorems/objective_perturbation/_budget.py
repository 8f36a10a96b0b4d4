"""What a budget asks of a network's noisy rounds: the rate of the noise, or other parameters."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any, TypeVar

from dpcalc.errors import AssumptionViolated, Infeasible, InvalidInput
from dpcalc.theorems.authoring import Theorem
from dpcalc.theorems.schedule import Schedule

T = TypeVar("T", bound=Theorem)

_SILENT = 1e-300
"""A noise rate that costs nothing."""
_STEPS = 41
"""How often a parameter is doubled or halved before it is given up."""


def largest_rate(theorem: T, beta: float) -> T:
    """The instance with the largest noise rate whose printed β is at most this; β is affine in it.

    Raises:
        Infeasible: if β is larger without the noise term.
    """
    at_zero = _printed_beta(theorem.with_noise_level(_SILENT))
    if not at_zero < beta:
        raise Infeasible(
            f"the printed formula charges {at_zero:.6g} even without the noise term; the budget is "
            f"{beta:.6g}; try a larger penalty, fewer rounds or a smaller loss weight"
        )
    slope = _printed_beta(theorem.with_noise_level(1.0)) - at_zero
    level = (beta - at_zero) / slope
    found = theorem.with_noise_level(level)
    while _printed_beta(found) > beta:
        level = math.nextafter(level * (1 - 1e-15), 0.0)
        found = theorem.with_noise_level(level)
    return found


def _printed_beta(theorem: Theorem) -> float:
    return theorem.claimed().numbers["beta"]


def feasible_changes(theorem: Theorem, epsilon: float, delta: float) -> str:
    """Which penalty, loss weight or number of rounds leaves room in a budget; empty if none does."""
    silent = theorem.with_noise_level(_SILENT)
    tries: list[str] = []
    for name, direction in (("penalty", 2.0), ("loss_weight", 0.5), ("rounds", 0.5)):
        found = _first_feasible(silent, name, direction, epsilon, delta)
        if found is not None:
            tries.append(f"{name.replace('_', '-')} {found:.4g}")
    return " or ".join(tries)


def _first_feasible(
    theorem: Theorem, name: str, factor: float, epsilon: float, delta: float
) -> float | None:
    """A value of one parameter at which no noise term would leave room in the budget.

    The first in a geometric sequence along which ε falls, found with twice its logarithm of trials.
    """
    start: Any = getattr(theorem, name)
    first: float = start.first if isinstance(start, Schedule) else start
    fits: dict[float, bool | None] = {}

    def value(step: int) -> float:
        scaled = first * factor**step
        return max(1, int(scaled)) if name == "rounds" else scaled

    def ends(step: int) -> bool:
        """Whether the budget has room there, or the theorem does not hold."""
        there = value(step)
        if there not in fits:
            given = start.scaled(there) if isinstance(start, Schedule) else there
            try:
                guarantee = theorem.replace(**{name: given}).certified().guarantee
                fits[there] = guarantee.epsilon(delta) < 0.9 * epsilon
            except (InvalidInput, AssumptionViolated):
                fits[there] = None
        return fits[there] is not False

    far = 1
    while far < _STEPS and not ends(far):
        far *= 2
    step = bisect_left(range(_STEPS), True, lo=far // 2 + 1, hi=min(far, _STEPS), key=ends)
    return float(value(step)) if fits.get(value(step)) else None
