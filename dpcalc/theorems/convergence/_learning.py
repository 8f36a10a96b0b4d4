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

from dpcalc.numerics.precise import Real, context, mpf
from dpcalc.numerics.search import minimise


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
        lam, delta = mpf(strength), mpf(self.failure_probability)
        lost = (lam * mpf(self.reference_norm) + mpf(self.tilt)) ** 2 / (2 * lam)
        room = mpf(self.tolerance) - lost
        if room <= 0:
            return mpf(math.inf)
        by_markov = 2 / (lam * delta * room)
        ctx = context()
        spread = 2 + ctx.sqrt(-2 * ctx.log(delta))
        by_differences = (mpf(self.curvature) + lam) * spread**2 / (2 * lam**2 * room)
        return min(by_markov, by_differences)

    def best_strength(self) -> float:
        """A regularisation strength that needs few records; any one is valid."""
        middle = math.log(self.tolerance / self.reference_norm**2)

        def cost(x: float) -> float:
            needed = self.records(math.exp(x))
            return float(context().log(needed)) if needed < math.inf else math.inf

        return math.exp(minimise(cost, middle - 12, middle + 2)[0])
