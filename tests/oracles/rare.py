"""δ of many rounds of a rare table, summed over how often each rare outcome happens; no code of dpcalc."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import mp, mpf


def rare_table_delta(
    p: Sequence[float], q: Sequence[float], rounds: int, epsilon: float, most: int = 24
) -> tuple[mpf, mpf]:
    """Bounds of E_P[(1 - e^{ε-S})₊], the first outcome common, two others rare.

    Terms with more than ``most`` rare outcomes are left out below and counted whole above: their
    probability is at most (n·r)^(most+1)/(most+1)! for rare outcomes of probability r together.
    """
    with mp.workdps(60):
        p0, p1, p2 = (mpf(x) for x in p)
        q0, q1, q2 = (mpf(x) for x in q)
        p0, q0 = 1 - p1 - p2, 1 - q1 - q2  # what the tables mean, exactly
        total, e = mpf(0), mpf(epsilon)
        for i in range(min(most, rounds) + 1):
            for j in range(min(most, rounds) - i + 1):
                rest = rounds - i - j
                ways = mp.binomial(rounds, i) * mp.binomial(rounds - i, j)
                gain = p1**i * p2**j * p0**rest - mp.exp(e) * q1**i * q2**j * q0**rest
                total += ways * max(gain, mpf(0))
        left = (rounds * (p1 + p2)) ** (most + 1) / mp.factorial(most + 1)
        return +total, total + left
