"""What the mean of all iterates reveals: exact laws of quadratic instances, as lower bounds.

Statement
    ``x_t = a_t x_{t-1} + s_t + ω Z_t`` and the mean of x_1..x_T have Gaussian laws. Noise of step j
    enters the mean D_j/T times, ``D_j = 1 + a_{j+1}D_{j+1}``, so the mean is exactly μ-GDP with
    ``μ² = (Σ_{uses} s D_j)²/(ω² Σ_j D_j²)``. No bound on a mean can be below it, and it may be as large
    as composing all uses: the last iterate's bounds do not hold for a mean.
Source
    docs/theorems/shifted-interpolation.md, averages.
Rounding
    Sixty digits.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcalc.accounting.iteration.scalar import Stretch
from dpcalc.numerics.precise import Real, mpf

_SWITCHES = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 150, 300, 1000, 10_000)


@dataclass(frozen=True, slots=True)
class Averaged:
    """Iterations of which the mean is released.

    Attributes:
        step_sensitivity: s, how far one use of the record moves an iterate.
        noise: ω, per coordinate.
        least: the least factor that a step may multiply by; negative if it may turn.
        most: the largest.
    """

    step_sensitivity: Real
    noise: Real
    least: Real
    most: Real

    def mu_squared(self, *, passes: int, gap: int, tail: int, lead: int = 0) -> Real:
        """The largest μ² of the mean over when steps change from keeping to forgetting.

        Args:
            passes: uses of the record.
            gap: steps from one use to the next.
            tail: steps from the last use to the end, both included.
            lead: steps before the first use.
        """
        longest = max(gap, tail) - 1
        switches = {min(switch, longest) for switch in (*_SWITCHES, longest)}
        return max(self._law(passes, gap, tail, lead, switch) for switch in switches)

    def last_mu_squared(self, *, passes: int, gap: int, tail: int, lead: int = 0) -> Real:
        """The same for the last iterate, its steps after a use keeping or expanding all through."""
        forget = min(max(self.least, mpf(0)), self.most)
        own = self.most if passes > 1 else forget
        begin, keep = self._step(own, self.step_sensitivity), self._step(self.most)
        run = self._step(forget if passes == 1 else self.most).repeated(lead)
        run = run.then(begin.then(keep.repeated(gap - 1)).repeated(passes - 1))
        run = run.then(begin).then(keep.repeated(tail - 1))
        return run.shift[0] ** 2 / run.spread[0]

    def _law(self, passes: int, gap: int, tail: int, lead: int, switch: int) -> Real:
        """Steps keep for ``switch`` steps after a use and then forget; own ones keep if all do."""
        forget = min(max(self.least, mpf(0)), self.most)
        own = self.most if switch >= gap - 1 > 0 else forget

        def block(length: int) -> Stretch:
            kept = min(switch, length - 1)
            begin = self._step(own, self.step_sensitivity).then(
                self._step(self.most).repeated(kept)
            )
            return begin.then(self._step(forget).repeated(length - 1 - kept))

        run = self._step(forget).repeated(lead).then(block(gap).repeated(passes - 1))
        run = run.then(block(tail))
        return run.shift[1] ** 2 / run.spread[2]

    def _step(self, factor: Real, step_sensitivity: Real | int = 0) -> Stretch:
        """X and the sum of all x so far."""
        square = self.noise**2
        return Stretch(
            (factor, mpf(0), factor, mpf(1)),
            (step_sensitivity, step_sensitivity),
            (square, square, square),
        )
