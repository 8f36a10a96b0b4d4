"""Exact laws of noisy descent on quadratics whose curvature differs from step to step.

Statement
    ``x_t = a_t x_{t-1} + s_t + ω Z_t`` with factors a_t of one's choice between those of the largest
    and the least curvature; runs that differ in the s_t are Gaussian with equal variances. Steps
    before the record's first use forget; so do some before its last one, so that earlier uses and
    earlier noises do not drown it. The last use may move another coordinate, in which every earlier
    step forgets.
Source
    docs/theorems/shifted-interpolation.md, what an instance attains: why a loss may have a curvature
    of its own in every step.
Rounding
    In the arithmetic of what is given: doubles for the search, sixty digits for the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcalc.numerics.precise import Real

_MOST_FORGETTING = 24
_SHARES = (1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.0)


@dataclass(frozen=True, slots=True)
class Line:
    """Some steps in one coordinate: z ← factor·z + shift, variance v ← factor²·v + spread."""

    factor: Any
    shift: Any
    spread: Any

    def then(self, later: Line) -> Line:
        """This one, then a later one."""
        f = later.factor
        return Line(
            f * self.factor, f * self.shift + later.shift, f * f * self.spread + later.spread
        )

    def repeated(self, count: int) -> Line:
        """This many times, by doubling."""
        found, square = Line(1, 0, 0), self
        while count:
            if count & 1:
                found = found.then(square)
            square, count = square.then(square) if count > 1 else square, count >> 1
        return found


@dataclass(frozen=True, slots=True)
class Uses:
    """When the record is used: steps before the first, from one to the next, and from the last on."""

    lead: int
    passes: int
    gap: int
    tail: int


@dataclass(frozen=True, slots=True)
class Quadratics:
    """Steps of noise 1 that multiply by factors between two; a use moves by 1.

    Attributes:
        forget: the factor nearest to 0.
        keep: the one farthest from it.
    """

    forget: Any
    keep: Any

    def worst(self, uses: Uses) -> tuple[int, float]:
        """How many steps before the last use forget, and by what share the one before them keeps."""
        rough = Quadratics(float(self.forget), float(self.keep))
        longest = min(uses.gap - 1, _MOST_FORGETTING) if uses.passes > 1 else 0
        shares = _SHARES if uses.passes > 1 else _SHARES[:1]
        tried = [(n, share) for n in range(longest + 1) for share in shares]
        return max(tried, key=lambda choice: rough.mu_squared(uses, *choice))

    def mu_squared(self, uses: Uses, forgetting: int, share: float) -> Any:
        """μ² of the last iterate, a use's jump as large as the noise."""
        tail = self._step(self.keep).repeated(uses.tail - 1)
        lead = self._step(self.forget).repeated(uses.lead)
        if uses.passes == 1:
            law = lead.then(self._step(self.forget, 1)).then(tail)
            return law.shift**2 / law.spread
        return self._weighed(uses, lead, tail, forgetting, share)

    def _weighed(self, uses: Uses, lead: Line, tail: Line, forgetting: int, share: float) -> Any:
        """Several uses; the last one along the others, across them, or in between."""
        own, keep, forget = (
            self._step(self.keep, 1), self._step(self.keep), self._step(self.forget),
        )  # fmt: skip
        early = lead.then(self._step(self.forget, 1))
        early = early.then(keep.repeated(uses.gap - 1).then(own).repeated(uses.passes - 2))
        # Of the steps after the last use but one, the last use among them, the last ones forget.
        partly = self._step(self.forget + (self.keep - self.forget) * share)
        kept = uses.gap - 1 - forgetting
        between = keep.repeated(kept).then(partly).then(forget.repeated(forgetting))
        along = early.then(between).then(tail)
        last = tail.factor
        steps = uses.lead + uses.gap * (uses.passes - 1)
        across = forget.repeated(steps).then(self._step(self.forget, 1)).then(tail)
        side = across.shift**2 / across.spread
        weight = last * last / along.spread
        cosine: Any = 1
        if side > weight:
            cosine = min(along.shift * last / along.spread / (side - weight), 1)
        return (along.shift + last * cosine) ** 2 / along.spread + side * (1 - cosine * cosine)

    def _step(self, factor: Any, jump: int = 0) -> Line:
        return Line(factor, jump, 1)


def last_mu_squared(*, unit: Real, least: Real, most: Real, uses: Uses) -> Real:
    """The largest μ² of the last iterate found.

    Args:
        unit: a use's jump over the noise of a step.
        least: the factor of the largest curvature.
        most: that of the least; the absolutely larger of the two is what keeps.
        uses: when the record is used.
    """
    forget = min(max(least, 0 * most), most)
    keep = most if abs(most) >= abs(least) or uses.passes > 1 else abs(least)
    model = Quadratics(forget, keep)
    return unit * unit * model.mu_squared(uses, *model.worst(uses))
