"""How many records make a regularised linear classifier nearly as good as a reference.

With n independent records, a convex loss of slope at most 1 and curvature at most c, features of
norm at most 1, and f̂ the minimiser of the mean loss + ``(λ/2)|f|² + b·f`` with b independent of the
records and |b| <= B, two bounds of ``gap = J(f̂) - min J`` (J the expectation) are used.

Replacing one record moves f̂ by at most 2/(λn), so ``E gap <= 2/(λn)``.
(a) By Markov's inequality ``gap <= 2/(λnδ)`` with probability 1 - δ.
(b) ``h = |f̂ - argmin J|`` has ``E h² <= (2/λ) E gap`` and bounded differences 2/(λn), so
``h <= (2 + √(2 ln(1/δ)))/(λ√n)`` with probability 1 - δ (McDiarmid), and ``gap <= (c + λ)h²/2``.

Either way the expected loss is at most that of the reference plus ``(λR + B)²/(2λ) + gap``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.numerics.precise import context, mpf
from dpcalc.numerics.search import minimise
from dpcalc.theorems.numbers import Digits, Numbers, Real


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A regularised linear classifier and what is asked of it.

    Attributes:
        reference_norm: R, norm of the reference classifier.
        tolerance: how much worse than the reference its expected loss may be.
        failure_probability: δ.
        curvature: c, the largest second derivative of the loss.
        tilt: B, a bound of the norm of the linear perturbation; 0 for none.
    """

    reference_norm: float
    tolerance: float
    failure_probability: float
    curvature: float
    tilt: float = 0.0

    def records(self, strength: float) -> Real:
        """Records that suffice for a regularisation strength λ; infinite if none do."""
        return self.needed(Digits(self), strength) if self.possible(strength) else mpf(math.inf)

    def possible(self, strength: float) -> bool:
        """Whether the tolerance leaves room for the gap."""
        return bool(self._room(Digits(self), strength) > 0)

    def needed(self, x: Numbers, strength: float) -> Real:
        """The smaller of the two numbers of records, where a number suffices."""
        lam, delta = x.named("lambda", strength), x.named("delta", self.failure_probability)
        room = self._room(x, strength)
        by_markov = 2 / (lam * delta * room)
        spread = 2 + x.sqrt(2 * x.log(1 / delta))
        by_differences = (x.named("c", self.curvature) + lam) * spread**2 / (2 * lam**2 * room)
        return x.min(by_markov, by_differences)

    def _room(self, x: Numbers, strength: float) -> Real:
        """``τ - (λR + B)²/(2λ)``."""
        lam, norm = x.named("lambda", strength), x.named("R", self.reference_norm)
        tilt = x.named("B", self.tilt)
        return x.named("tau", self.tolerance) - (lam * norm + tilt) ** 2 / (2 * lam)

    def best_strength(self) -> float:
        """A regularisation strength that needs few records; any one is valid."""
        middle = math.log(self.tolerance / self.reference_norm**2)

        def cost(x: float) -> float:
            needed = self.records(math.exp(x))
            return float(context().log(needed)) if needed < math.inf else math.inf

        return math.exp(minimise(cost, middle - 12, middle + 2)[0])
