"""Steps that may expand: losses that are smooth but not convex, or steps longer than 2/smoothness.

Statement
    With c >= 1 and a record used every l steps, at most l - 1 of them after the last use, the points
    before its uses lie on a convex chain, so every use is paid in the steps up to the next one:
    ``μ² = (s/ω)²((E-1)/S(l) + 1/S(k))`` for E uses and k steps from the last to the end, both included,
    ``S(n) = Σ_{i<n} c^(-2i)``. If the gaps are not known all uses but the last are paid at once.
    On a domain of diameter D the runs may start D apart at any step.
Source
    docs/theorems/shifted-interpolation.md, losses that are not convex.
Rounding
    Sixty digits; only inverse powers of c occur, so nothing cancels in long runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcalc.accounting.iteration.descent import Participation
from dpcalc.numerics.precise import Real, mpf


@dataclass(frozen=True, slots=True)
class Expanding:
    """One differing record in noisy descent whose steps multiply distances by at most c >= 1.

    Attributes:
        expansion: c.
        step_sensitivity: s.
        noise: ω.
    """

    expansion: Real
    step_sensitivity: Real
    noise: Real

    def weight(self, steps: int) -> Real:
        """S(steps)."""
        x = 1 / mpf(self.expansion) ** 2
        return mpf(steps) if x == 1 else (1 - x**steps) / (1 - x)

    def mu_squared(self, participation: Participation) -> Real:
        """μ² from a common start; the tail is at most the gap."""
        regular = participation.last_gap is None
        earlier = (participation.count - 1) / (
            self.weight(participation.gap) if regular else mpf(1)
        )
        return (self.step_sensitivity / self.noise) ** 2 * (
            earlier + 1 / self.weight(participation.steps_after)
        )

    def mu_squared_bounded(self, participation: Participation, diameter: Real) -> Real:
        """The least of that and of starts a diameter apart, before the last use or just after it."""
        found = [self.mu_squared(participation)]
        apart, c = mpf(diameter) / self.noise, mpf(self.expansion)
        after, lead = participation.steps_after - 1, participation.before_last - 1
        if after:
            found.append((apart * c) ** 2 / self.weight(after))
        if lead and participation.count > 1:
            paid = self.weight(lead) / c**2
            last = (self.step_sensitivity / self.noise) ** 2 / self.weight(
                participation.steps_after
            )
            found.append(apart**2 / paid + last)
            whole, total = self.weight(lead + participation.steps_after) / c**2, apart
            total += self.step_sensitivity / self.noise / c ** (lead + 1)
            if total * paid <= apart * whole:
                # One straight line stays below the distance that is there before the last use.
                found.append(total**2 / whole)
        return min(found)
