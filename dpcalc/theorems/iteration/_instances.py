"""What gradient ADMM really leaks: the worst one-dimensional quadratic instance found.

The law of an instance is exact; which instance is worst is searched roughly, as any attains what it
attains. A has the singular vector of the instance among its own; other directions stay still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
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
    """The other users' curvatures: one for the first after an own iteration, another later."""

    early: float
    late: float
    switch: int


def worst_mu_squared(
    theorem: GradientADMM, uses: Uses, *, curvature: float = 0.0, coupling: Real | None = None
) -> Real:
    """The largest μ² among the instances tried.

    Args:
        theorem: sizes of A, steps and noise.
        uses: when the user takes part.
        curvature: the least curvature of every f.
        coupling: s -> the least r for the singular value s, if g has to be curved; else 0.
    """
    curvatures = np.linspace(curvature, theorem.smoothness, 5).tolist()
    patterns = [Pattern(h, h, 0) for h in dict.fromkeys(curvatures)]
    ends = curvature, theorem.smoothness
    longest = min(uses.gap, uses.tail) - 1
    for switch in (x for x in _SWITCHES if x < longest and ends[0] < ends[1]):
        patterns += [Pattern(*ends, switch), Pattern(*ends[::-1], switch)]
    found = [
        _over_regularisers(theorem, uses, pattern, value, coupling)
        for value in {theorem.min_singular_value, theorem.operator_norm}
        for pattern in patterns
    ]
    if not theorem.square:
        found += [_law(theorem, uses, p, 0.0, mpf(1) / 2).mu_squared_of_x() for p in patterns]
    return max(found)


def _over_regularisers(
    theorem: GradientADMM, uses: Uses, pattern: Pattern, value: float, coupling: Real | None
) -> Real:
    """The largest μ² over r, for one singular value."""
    least = mpf(0) if coupling is None else coupling(value)
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
    return _law(theorem, uses, pattern, value, max(mpf(best), least)).mu_squared()


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
    damped = 1 + pull
    noise = number(theorem.sigma)
    if theorem.noise_in == "gradient":
        noise = noise * eta / damped
    jump = eta * number(theorem.sensitivity) / damped
    return ScalarADMM(pull, kept, jump, noise).run(
        1 - eta * number(pattern.early),
        1 - eta * number(pattern.late),
        switch=pattern.switch,
        passes=uses.passes,
        gap=uses.gap,
        tail=uses.tail,
    )
