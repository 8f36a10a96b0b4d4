"""Amplification by iteration in f-DP: what a last iterate reveals about an earlier step.

Statement
    Let Markov kernels K_1..K_T act on a space with a positively homogeneous gauge N. If the noise can
    be shared so that N(difference) shrinks by ℓ_j in kernel j, and the outputs of K_j from two points
    are no easier to tell apart than N(0, 1) from N(√c_j·N(difference), 1), then the output of the
    chain from z and z' is μ-GDP with ``μ² = N(z-z')² / Σ_j 1/(c_j Λ_j²)``, Λ_j = ℓ_1···ℓ_{j-1}.
    In gradient ADMM a kernel is one iteration between a part of the noise before it and a part of
    the noise after it, so k iterations, the user's own included, make k - 1 kernels.
Source
    docs/theorems/amplification-by-iteration.md proves it and all constants;
    docs/theorems/shifted-interpolation.md covers several passes.
Rounding
    All functions return sixty-digit numbers; callers round once, up. How noises are divided is
    searched in doubles: every division gives a valid bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.iteration.descent import NoisyContraction, Participation
from dpcalc.accounting.iteration.expanding import Expanding
from dpcalc.accounting.iteration.optimal_shifts import optimal_shifts
from dpcalc.accounting.iteration.shares import best_shares
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up

Reals = NDArray[np.float64]

_CHAIN = 48
"""Iterations up to which every noise is divided on its own; in longer runs a middle pair repeats."""
_SCHEDULE = 96
"""The same where the user takes part several times."""
_ROUNDS = 5
"""How often shifts and divisions are improved in turn."""
_SPREAD = 1e7
_LEAST = 1e-9


def largest_eigenvalue(a: Any, b: Any, d: Any) -> Any:
    """The larger eigenvalue of [[a, b], [b, d]], in any arithmetic."""
    return (a + d + ((a - d) ** 2 + 4 * b**2) ** 0.5) / 2


@dataclass(frozen=True, slots=True)
class Direction:
    """What a kernel costs along one singular direction of A, in units of 1/σ².

    With shares w and x of the two noises a difference (a, b) costs ``first·b²/w + q(a + b)²``,
    ``q = second·max(floor, damping/x)``, subject to ``p·a² + d·b² <= N²``.
    """

    p: Real
    d: Real
    first: Real
    second: Real
    damping: Real
    floor: Real

    def worth(self, w: Any, x: Any, larger: Any = max) -> Any:
        """1/(the cost of N² = 1): 0 if a share is 0; in any arithmetic."""
        ratio = self.d / self.p
        q = self.second * w * larger(self.floor * x, self.damping)
        top = largest_eigenvalue(q * ratio, q * ratio**0.5, self.first * x + q)
        return self.d * w * x / (top + (top == 0))

    def rough(self) -> Direction:
        """In doubles, for searches; the unit is left out."""
        ratio = _in_range(self.d / self.p)
        return Direction(1.0, ratio, *(_in_range(v) for v in self._rest()))

    def _rest(self) -> tuple[Real, Real, Real, Real]:
        return self.first, self.second, self.damping, self.floor


@dataclass(frozen=True, slots=True)
class Kernels:
    """Iterations that amplify, one kernel each.

    Attributes:
        start: N² of the difference that the user's iteration makes, before its noise.
        contraction: L, the factor on N² of one iteration, 1 if it only does not expand, above 1 if
            it may.
        directions: of which the worst counts.
    """

    start: Real
    contraction: Real
    directions: tuple[Direction, ...]

    def worth(self, w: Real, x: Real) -> Real:
        """1/λ: N² over the kernel's μ², times the noise variance."""
        w, x = mpf(w), mpf(x)
        return min(direction.worth(w, x) for direction in self.directions)

    def _constant(self, share: float) -> Real:
        """The worth of a kernel between two noises divided alike."""
        return self.worth(share, 1 - mpf(share))

    def rough_worth(self, w: Reals, x: Reals) -> Reals:
        """The same in doubles, over arrays and in another unit."""
        unit = max(_in_range(d.p) for d in self.directions)
        found = [
            d.rough().worth(w, x, np.maximum) * (_in_range(d.p) / unit) for d in self.directions
        ]
        return np.asarray(np.min(found, axis=0))

    def mu_squared(self, sigma: float, iterations: int) -> Real:
        """μ² of the last iterate after ``iterations`` >= 2, the user's own included."""
        return self.start / (mpf(sigma) ** 2 * self.weight(iterations))

    def weight(self, iterations: int) -> Real:
        """Σ_t L^(1-t)/λ_t over the kernels of a single use, 2 iterations or more."""
        return _weight(self, iterations)

    def best_weight(self, iterations: int) -> Real:
        """The same, worked out again."""
        return max(self._overlapping(iterations), self._pairs(iterations))

    def _overlapping(self, iterations: int) -> Real:
        """By the best shares; in a long run the division of two noises in the middle is repeated."""
        count = min(iterations, _CHAIN - iterations % 2)
        plan = _plan(self, count)
        decay, pairs = self.contraction, (iterations - count) // 2
        if not pairs:
            return plan.all / decay ** (iterations - 2)
        more = plan.repeated * _geometric(decay**2, pairs)
        total = (plan.before * decay ** (2 * pairs) + more) * decay**plan.left + plan.after
        return total / decay ** (iterations - 2)

    def _pairs(self, iterations: int) -> Real:
        """By undivided noises: every other kernel has all of two."""
        pairs, spare = divmod(iterations, 2)
        total = self.worth(1, 1) * _geometric(1 / self.contraction**2, pairs)
        return total / self.contraction if spare else total

    def repeated_mu_squared(self, sigma: float, *, passes: int, gap: int, tail: int) -> Real:
        """μ² of the last iterate if the user takes part several times.

        A kernel is a step of `NoisyContraction` in the gauge N; pairs of iterations with undivided
        noises are steps as well, and the best of both counts.

        Args:
            sigma: standard deviation of the noise.
            passes: how often the user takes part.
            gap: iterations from one own to the next.
            tail: iterations from the last own to the end, both included, 2 or more.
        """
        if passes == 1:
            return self.mu_squared(sigma, tail)
        root = context().sqrt
        noise = mpf(sigma) * root(self._constant(_equal_share(self)))
        step_sensitivity, participation = root(self.start), Participation(passes, gap, tail - 1)
        if self.contraction > 1:
            found = [
                Expanding(root(self.contraction), step_sensitivity, noise).mu_squared(participation)
            ]
        else:
            found = [
                NoisyContraction(root(self.contraction), step_sensitivity, noise).mu(participation)
                ** 2
            ]
        if gap >= 2 and self.contraction <= 1:
            # In a pass of odd length the spare iteration follows the user's own and contracts.
            spare = self.contraction if gap % 2 and tail % 2 else mpf(1)
            descent = NoisyContraction(
                self.contraction, root(self.start * spare), mpf(sigma) * root(self.worth(1, 1))
            )
            found.append(descent.mu(Participation(passes, gap // 2, tail // 2)) ** 2)
        steps = gap * (passes - 1) + tail
        if steps <= _SCHEDULE and self.contraction**steps < _SPREAD:
            found.append(self._scheduled(sigma, passes, gap, tail))
        return min(found)

    def _scheduled(self, sigma: float, passes: int, gap: int, tail: int) -> Real:
        """Shifts and divisions of the noises for this schedule, improved in turn."""
        steps = gap * (passes - 1) + tail - 1
        jumps = np.zeros(steps)
        jumps[: gap * (passes - 1) + 1 : gap] = 1.0
        contraction = round_up(context().sqrt(self.contraction))
        shares = np.full(steps + 1, _equal_share(self))
        shares[0], shares[-1] = 1.0, 0.0
        unit, best = self.worth(1, 1), mpf("inf")
        for turn in range(_ROUNDS):
            worths = [self.worth(w, 1 - mpf(x)) for w, x in pairwise(shares.tolist())]
            noises = [round_down(context().sqrt(worth / unit)) for worth in worths]
            found = optimal_shifts(jumps, contraction, noises)
            best = min(best, mpf(float(found.mu[0])) ** 2)
            shifts = found.shifts[0] / found.shifts.max()
            shares = best_shares(self._saved, shifts**2, shares if turn else None)
            shares[1:-1] = np.clip(shares[1:-1], _LEAST, 1 - _LEAST)
        return best * self.start / (mpf(sigma) ** 2 * unit)

    def _saved(self, w: Reals, x: Reals) -> Reals:
        """Minus the cost of a kernel, in doubles."""
        return np.asarray(-1.0 / np.maximum(self.rough_worth(w, x), 1e-280))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the kernels of a single use are worth together, by good shares.

    Attributes:
        shares: θ_1..θ_k.
        all: the sum over all kernels.
        before: that up to the middle one.
        repeated: that of the two which a longer run repeats in the middle.
        after: that of the ``left`` kernels behind the middle.
    """

    shares: tuple[float, ...]
    all: Real
    before: Real
    repeated: Real
    after: Real
    left: int


@lru_cache(maxsize=4096)
def _plan(kernels: Kernels, iterations: int) -> _Plan:
    """Good shares of a single use, and what the kernels are worth with them."""
    decay, powers = float(kernels.contraction), np.arange(iterations - 2, -1, -1.0)
    weights = decay ** (powers if decay <= 1 else powers - powers[0])
    shares = tuple(best_shares(kernels.rough_worth, weights).tolist())
    worths = [kernels.worth(w, 1 - mpf(x)) for w, x in pairwise(shares)]
    middle = min(iterations // 2, len(worths) - 1)
    exact = kernels.contraction
    back = kernels.worth(shares[middle + 1], 1 - mpf(shares[middle]))
    before = _discounted(worths[: middle + 1], exact)
    after = _discounted(worths[middle + 1 :], exact)
    left = len(worths) - middle - 1
    whole, repeated = before * exact**left + after, back * exact + worths[middle]
    return _Plan(shares, whole, before, repeated, after, left)


def _discounted(worths: Sequence[Real], decay: Real) -> Real:
    """The sum, every worth times the decay for each that comes after it."""
    total = mpf(0)
    for worth in worths:
        total = total * decay + worth
    return total


@lru_cache(maxsize=256)
def _weight(kernels: Kernels, iterations: int) -> Real:
    """Kept, since a search for the noise asks for the same again: it holds for every σ."""
    return kernels.best_weight(iterations)


def _equal_share(kernels: Kernels) -> float:
    """A good share if all are the same."""
    grid = np.linspace(0.0, 1.0, 2001)
    return float(grid[np.argmax(kernels.rough_worth(grid, 1 - grid))])


def _geometric(x: Real, count: int) -> Real:
    """1 + x + ... + x^(count-1)."""
    return mpf(count) if x == 1 else (1 - x**count) / (1 - x)


def _in_range(value: Real) -> float:
    """A double for a search, whose squares and products stay finite."""
    return float(min(max(value, mpf("1e-70")), mpf("1e70"))) if value else 0.0
