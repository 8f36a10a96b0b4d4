"""Claims about sampled batches that count the last steps and split their noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import Self

from dpcalc import checks
from dpcalc.accounting.enclosure import (
    TOLERANCE,
    find_root,
    relative_width,
    with_relative_width,
)
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit
from dpcalc.errors import Infeasible
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.best_count import BestCount
from dpcalc.numerics.precise import Real
from dpcalc.numerics.root import enclose_root
from dpcalc.theorems.authoring import theorem
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.noisy_gradient_descent._sampled import SampledDescent

_COARSE = 1e-3
"""Width of enclosures, and tolerance, with which the search for a printed noise begins."""


@theorem()
class SplitDescent(SampledDescent):
    """A claim that is a composition, for the best number of steps that are counted."""

    @abstractmethod
    def printed_split(self) -> NoiseSplit:
        """The printed split with the number of steps that makes a rough cost small."""

    def printed_shift(self, split: NoiseSplit) -> Real:
        """The printed μ of the shift."""
        return self.shift_mu(split)

    @abstractmethod
    def with_count(self, split: NoiseSplit, count: int) -> NoiseSplit:
        """The printed split with another number of counted steps."""

    def printed(self, count: int) -> Guarantee:
        """The printed composition for a number of counted steps."""
        split = self.with_count(self.printed_split(), count)
        return self.composed(split, self.printed_shift(split))[0]

    def claimed(self) -> Bound:
        """The printed composition, enclosed numerically, for the best number of counted steps.

        Its numbers are those for the number that a rough cost prefers.
        """
        self.require(Scope.CLAIMED)
        split = self.printed_split()
        _, numbers = self.composed(split, self.printed_shift(split))
        method = "printed composition, composed numerically, least over the counted steps"
        return Bound(self._printed_for_all(split), numbers, method)

    def best_count(self, split: NoiseSplit) -> BestCount:
        """The printed composition for every number of counted steps; a split begins the search."""
        return BestCount(self.printed, split.steps, 1, self.steps)

    def _printed_for_all(self, split: NoiseSplit) -> Guarantee:
        every = self.best_count(split)
        if not self.full():
            return every
        return self.printed(every.best(lambda bound: bound.parameters()["mu"]))  # all are Gaussian

    def certified(self) -> Bound:
        """The best split found, never above the printed one."""
        if self.violations_of_claim():
            return self.proved()
        split = self.printed_split()
        return self.proved(self._printed_for_all(split))

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed composition gives ε.

        Raises:
            Infeasible: if no σ within the doubles does.
        """
        self.require(Scope.CLAIMED)
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)

        def height(log_sigma: float, count: int | None) -> float:
            changed = self.replace(sigma=math.exp(log_sigma))
            found = changed.printed(count or changed.printed_split().steps).epsilon(delta)
            if found in (0.0, math.inf):
                return math.inf if found > 0 else -math.inf
            return math.log(found) - math.log(epsilon)

        start, count = math.log(self.sigma), None
        coarsely = partial(enclose_root, tolerance=_COARSE), _COARSE
        finely = partial(find_root, tolerance=TOLERANCE), relative_width()
        # The best number of steps does not need all digits.
        for search, width in (coarsely, coarsely, finely):
            with with_relative_width(width):
                root = search(partial(height, count=count), start, least=-600.0, most=600.0)
            if root.high == math.inf:
                raise Infeasible(f"no sigma makes the printed composition give epsilon={epsilon:g}")
            start, found = root.high, self.replace(sigma=math.exp(root.high))
            if search is coarsely[0]:
                count = found.best_count(found.printed_split()).best(
                    lambda bound: bound.epsilon(delta)
                )
        return found
