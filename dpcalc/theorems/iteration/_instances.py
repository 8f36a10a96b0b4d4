"""What gradient ADMM really leaks: the worst one-dimensional quadratic instance found.

The law of an instance is exact; which instance is worst is searched roughly, as any attains what it
attains. A has the singular vector of the instance among its own; other directions stay still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.accounting.iteration.average import Averaged
from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
from dpcalc.accounting.iteration.worst_run import worst_law
from dpcalc.numerics.precise import Real, mpf

if TYPE_CHECKING:
    from dpcalc.theorems.iteration._gradient_admm import GradientADMM

_KEPT = np.concatenate([np.geomspace(1e-6, 0.1, 41), np.linspace(0.1, 0.999, 60)[1:]])
_ZOOMS = 4
_SWITCHES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True, slots=True)
class Uses:
    """When the differing user takes part: passes, iterations between them and after the last."""

    passes: int
    gap: int
    tail: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """The other users' curvatures: one for the first after an iteration of the user, another later."""

    early: float
    late: float
    switch: int


def worst_mu_squared(theorem: GradientADMM, uses: Uses) -> Real:
    """The largest μ² among the instances tried.

    Args:
        theorem: sizes of A, steps and noise, curvatures.
        uses: when the user takes part.
    """
    if uses.passes == 1:
        return single_use(theorem, uses.tail)
    curvature = theorem.curvature()
    curvatures = np.linspace(curvature, theorem.smoothness, 5).tolist()
    patterns = [Pattern(h, h, 0) for h in dict.fromkeys(curvatures)]
    ends = curvature, theorem.smoothness
    longest = min(uses.gap, uses.tail) - 1
    for switch in (x for x in _SWITCHES if x < longest and ends[0] < ends[1]):
        patterns += [Pattern(*ends, switch), Pattern(*ends[::-1], switch)]
    found = [
        _over_regularisers(theorem, uses, pattern, value)
        for value in {theorem.min_singular_value, theorem.operator_norm}
        for pattern in patterns
    ]
    if not theorem.square:
        found += [_law(theorem, uses, p, 0.0, mpf(1) / 2).mu_squared_of_x() for p in patterns]
    return max(found)


def single_use(theorem: GradientADMM, iterations: int) -> Real:
    """Other users' curvatures and that of g chosen for every iteration; walks in the kernel of A."""
    found = []
    for value in {theorem.min_singular_value, theorem.operator_norm}:
        step_sensitivity, noise = _scales(theorem, value)
        sectors = theorem.sectors(value, wide=False)
        found.append(worst_law(sectors, iterations, step_sensitivity, noise).surely_revealed())
    if not theorem.square:
        walk = Averaged(
            *_scales(theorem, 0.0), mpf(0), 1 - mpf(theorem.step_size) * mpf(theorem.curvature())
        )
        found.append(walk.last_mu_squared(passes=1, gap=iterations, tail=iterations))
    return max(found)


def _scales(theorem: GradientADMM, value: float) -> tuple[Real, Real]:
    """How far the user's iteration moves x along a singular value, and the noise that reaches x."""
    eta = mpf(theorem.step_size)
    damped = 1 + eta * mpf(theorem.penalty) * mpf(value) ** 2
    noise = mpf(theorem.sigma)
    if theorem.noise_in == "gradient":
        noise = noise * eta / damped
    return eta * mpf(theorem.sensitivity) / damped, noise


def _over_regularisers(theorem: GradientADMM, uses: Uses, pattern: Pattern, value: float) -> Real:
    """The largest μ² over r, for one singular value."""
    least = theorem.least_kept(value)
    low = float(least)
    tried = np.clip(low + (1 - low) * _KEPT, max(low, 1e-6), 1 - 1e-9)
    best, width = float(tried[0]), 0.0
    for _ in range(_ZOOMS):
        with np.errstate(all="ignore"):
            heights = _law(theorem, uses, pattern, value, tried, exact=False).mu_squared()
        at = int(np.nanargmax(heights))
        best = float(tried[at])
        width = float(tried[min(at + 1, len(tried) - 1)] - tried[max(at - 1, 0)])
        tried = np.clip(best + width * np.linspace(-0.5, 0.5, 41), max(low, 1e-6), 1 - 1e-9)
    return _law(theorem, uses, pattern, value, max(mpf(best), least)).surely_revealed()


def _law(
    theorem: GradientADMM,
    uses: Uses,
    pattern: Pattern,
    value: float,
    kept: Real,
    *,
    exact: bool = True,
) -> Stretch:
    number = mpf if exact else float
    eta = number(theorem.step_size)
    pull = eta * number(theorem.penalty) * number(value) ** 2
    step_sensitivity, noise = (number(x) for x in _scales(theorem, value))
    return ScalarADMM(pull, kept, step_sensitivity, noise).run(
        1 - eta * number(pattern.early),
        1 - eta * number(pattern.late),
        switch=pattern.switch,
        passes=uses.passes,
        gap=uses.gap,
        tail=uses.tail,
    )
