"""δ(ε) of rounds of approximate differential privacy by all that can happen; no code of dpcalc."""

from __future__ import annotations

import itertools

from mpmath import mp, mpf


def failing_responses(rounds: list[tuple[float, float, int]], epsilon: float) -> mpf:
    """δ(ε) of rounds that reveal all with probability δ₀ and are randomised response otherwise."""
    with mp.workdps(60):
        survived, total = mpf(1), mpf(0)
        for _, failure, n in rounds:
            survived *= (1 - mpf(failure)) ** n
        for flips in itertools.product(*(range(n + 1) for _, _, n in rounds)):
            mass, loss = survived, mpf(0)
            for k, (e, _, n) in zip(flips, rounds, strict=True):
                truth = 1 / (1 + mp.exp(-mpf(e)))
                mass *= mp.binomial(n, k) * truth**k * (1 - truth) ** (n - k)
                loss += (2 * k - n) * mpf(e)
            total += mass * max(1 - mp.exp(mpf(epsilon) - loss), mpf(0))
        return +(1 - survived + total)
