"""Noisy gradient descent of which only the last iterate is released.

Statement
    ``x ← Π(φ(x) + noise)``, φ a gradient step that multiplies distances by at most c, Π a projection
    on a convex set, noise of standard deviation ω per coordinate. A step that uses the differing
    record moves φ(x) by at most s. The last iterate is μ-GDP, μ² the least ``Σ a_t²/ω²`` over
    shifts a_t with ``z_t = c z_{t-1} + s_t - a_t >= 0`` and z_T = 0.
Source
    Bok, Su and Altschuler 2024 (shifted interpolation); docs/theorems/shifted-interpolation.md
    proves it without densities and finds the best shifts for records used several times.
Rounding
    Sixty digits throughout; callers round once, up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any

from dpcalc.accounting.iteration.minorant import Point, convex_minorant, total_cost
from dpcalc.numerics.precise import Real, context, mpf

_STEEP, _LEAST_POWER = 1 - 1e-7, 1e-100
"""Up to this contraction, and from this power of it on, differences of doubles keep eight digits."""

_SURE = 1e-5
"""Costs that differ by this share in doubles differ."""


def contraction_factor(step_size: float, smoothness: float, strong_convexity: float = 0.0) -> Real:
    """max(|1 - ηm|, |1 - ηM|): what a gradient step multiplies distances by, at most.

    Exact for every m-strongly convex, M-smooth function, and for Hessians in [m, M] if m is negative;
    at most 1 if and only if m >= 0 and η <= 2/M.
    """
    eta = mpf(step_size)
    return max(abs(1 - eta * mpf(strong_convexity)), abs(1 - eta * mpf(smoothness)))


@dataclass(frozen=True, slots=True)
class Participation:
    """When the steps use the differing record.

    Attributes:
        count: how often, E.
        gap: steps from one use to the next, l.
        steps_after: steps from the last use to the end, both included.
        steps_before: counted steps before the first use (they matter only after a start apart).
        last_gap: steps from the last use but one to the last, if not ``gap``.
    """

    count: int
    gap: int = 1
    steps_after: int = 1
    steps_before: int = 0
    last_gap: int | None = None

    @property
    def before_last(self) -> int:
        """Steps from the last use but one to the last use."""
        return self.gap if self.last_gap is None else self.last_gap

    def steps_until(self, use: int) -> int:
        """Counted steps before the visit with this number, from 1."""
        if use == self.count and use > 1:
            return self.steps_before + self.gap * (use - 2) + self.before_last
        return self.steps_before + self.gap * (use - 1)

    @property
    def steps(self) -> int:
        """All counted steps."""
        return (
            self.steps_until(self.count) if self.count else self.steps_before
        ) + self.steps_after

    def breakpoints(self) -> list[int]:
        """The visits before which the cheapest allocation may bend.

        Between the first and the last but one the points lie on a concave chain.
        """
        return sorted({v for v in (1, self.count - 1, self.count) if 1 <= v <= self.count})

    def latest(self, count: int) -> Participation:
        """Only the last ``count`` visits, from just after the one before them."""
        if count == 0:
            return replace(self, count=0, steps_before=0, steps_after=self.steps_after - 1)
        steps_before = (self.before_last if count == 1 else self.gap) - 1
        return replace(self, count=count, steps_before=steps_before)


@dataclass(frozen=True, slots=True)
class NoisyContraction:
    """One differing record in noisy gradient descent.

    Attributes:
        contraction: c, from 0 to 1.
        step_sensitivity: s: how far one use of the record may move an iterate.
        noise: ω: the standard deviation, per coordinate, of the noise that reaches an iterate.
    """

    contraction: Real
    step_sensitivity: Real
    noise: Real

    def mu(self, participation: Participation, start: Real = 0) -> Real:
        """μ of the last iterate if the runs are ``start`` apart before the counted steps."""
        points = self.points(participation, start)
        return context().sqrt(total_cost(points, convex_minorant(points)))

    def points(self, participation: Participation, start: Real = 0) -> list[Point]:
        """(Σw, Σu) before each landmark and at the end, from the origin on."""
        c = self.contraction
        return sample_profile(
            c, self.step_sensitivity, self.noise, mpf(start), participation, _geometric
        )

    def mu_bounded(
        self, participation: Participation, diameter: Real, near: int | None = None
    ) -> tuple[Real, int]:
        """The least μ over how many of the last visits to count, all points within a diameter.

        Counting starts with the runs as far apart as the domain allows, or from their common start
        if all visits count. Every number gives a valid bound, so the search may miss the best.

        Args:
            participation: when the record is used.
            diameter: of the domain.
            near: a number that is nearly the best, such as that of a similar run.

        Returns:
            μ and the number of visits counted.
        """

        @cache
        def at(count: int) -> Real:
            if count == participation.count:
                return self.mu(participation)
            latest = participation.latest(count)
            return self.mu(latest, diameter) if latest.steps else mpf("inf")

        costs = _Costs(at, self._roughly(participation, diameter))
        best = 0
        if participation.count:
            most = participation.count - 1
            # A last gap of its own makes the first two numbers differ in kind from the others.
            regular = 0 if participation.last_gap is None else min(2, most)
            if near is None:
                best = _integer_minimum(costs, regular, most)
            else:
                best = _downhill(costs, max(near, regular), most)
            best = costs.least(*range(regular), best)
        best = best if costs.less(best, participation.count) else participation.count
        return at(best), best

    def _roughly(self, participation: Participation, diameter: Real) -> Callable[[int], float]:
        """The same μ² in doubles; not a number where those do not tell."""
        c, s, noise = float(self.contraction), float(self.step_sensitivity), float(self.noise)
        width, steep = float(diameter), c == 1 or 0 < c <= _STEEP

        @cache
        def at(count: int) -> float:
            every = count == participation.count
            latest = participation if every else participation.latest(count)
            if not steep or not latest.steps or c**latest.steps < _LEAST_POWER:
                return math.nan
            try:
                start = 0.0 if every else width
                points = sample_profile(c, s, noise, start, latest, _geometric_double)
                return float(total_cost(points, convex_minorant(points)))
            except OverflowError:  # a square that is no double
                return math.nan

        return at


@dataclass(frozen=True, slots=True)
class _Costs:
    """Costs of numbers of visits, compared in doubles where those differ surely.

    Attributes:
        exact: with sixty digits.
        rough: squared, in doubles; not a number where those do not tell.
    """

    exact: Callable[[int], Real]
    rough: Callable[[int], float]

    def less(self, one: int, other: int) -> bool:
        """Whether the first costs less."""
        first, second = self.rough(one), self.rough(other)
        if abs(first - second) > _SURE * max(first, second):
            return first < second
        return bool(self.exact(one) < self.exact(other))

    def least(self, *counts: int) -> int:
        """The first that costs least."""
        return reduce(lambda best, other: other if self.less(other, best) else best, counts)


def sample_profile(
    c: Any,
    step_sensitivity: Any,
    noise: Any,
    start: Any,
    participation: Participation,
    geometric: Callable[[Any, int], Any],
) -> list[Any]:
    """The points whose convex minorant is the cheapest allocation, in any arithmetic.

    Args:
        c: contraction.
        step_sensitivity: s.
        noise: ω.
        start: distance before the counted steps.
        participation: when the record is used.
        geometric: (x, k) -> 1 + x + ... + x^(k-1).
    """
    total = participation.steps
    breakpoints = participation.breakpoints()
    found = [
        _point(c, step_sensitivity, noise, start, participation, use, geometric)
        for use in breakpoints
    ]
    weight = noise**2 * geometric(c**2, total)
    height = start * c**total
    if participation.count:
        height += _distances(c, step_sensitivity, participation, participation.count + 1, geometric)
    return [(0 * noise, 0 * step_sensitivity), *found, (weight, height)]


def _point(
    c: Any,
    step_sensitivity: Any,
    noise: Any,
    start: Any,
    participation: Participation,
    use: int,
    geometric: Any,
) -> tuple[Any, Any]:
    steps, total = participation.steps_until(use), participation.steps
    weight = noise**2 * c ** (2 * (total - steps)) * geometric(c**2, steps)
    return weight, start * c**total + _distances(c, step_sensitivity, participation, use, geometric)


def _distances(
    c: Any, step_sensitivity: Any, participation: Participation, use: int, geometric: Any
) -> Any:
    """Σu over the visits before one, all carried to the end of the run."""
    regular = min(use - 1, participation.count - 1 if participation.count > 1 else 1)
    first = participation.steps - participation.steps_before - 1 - participation.gap * (regular - 1)
    total = (
        step_sensitivity * c**first * geometric(c**participation.gap, regular)
        if regular > 0
        else 0 * step_sensitivity
    )
    if participation.count > 1 and use > participation.count:
        total += step_sensitivity * c ** (participation.steps_after - 1)
    return total


def _geometric(x: Real, count: int) -> Real:
    return mpf(count) if x == 1 else (1 - x**count) / (1 - x)


def _geometric_double(x: float, count: int) -> float:
    return float(count) if x == 1 else (1 - x**count) / (1 - x)


def _downhill(costs: _Costs, near: int, high: int) -> int:
    """A minimiser within 0..high of costs that first fall, then rise, one step at a time."""
    best = min(near, high)
    for step in (-1, 1):
        while 0 <= best + step <= high and costs.less(best + step, best):
            best += step
    return best


def _integer_minimum(costs: _Costs, low: int, high: int) -> int:
    """A minimiser of costs that first fall, then rise."""
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if costs.less(right, left):
            low = left
        else:
            high = right
    return costs.least(*range(low, high + 1))
