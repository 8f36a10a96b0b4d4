"""Privacy profiles in closed form, in as many digits as mpmath is set to; no code of dpcalc is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpmath import mp, mpf

Table = Mapping[str, Any]
Found = tuple[Callable[[Any], Any], dict[str, Any]]
"""δ as a function of ε, and the printed quantities."""


def gaussian(mu: Any) -> Callable[[Any], Any]:
    """δ(ε) of N(0, 1) against N(μ, 1)."""
    return lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def sampled(mu: Any, share: Any) -> Callable[[Any], Any]:
    """γ δ_μ(ln(1 + (e^ε - 1)/γ)) (Balle, Barthe and Gaboardi 2018, theorem 11)."""
    return lambda e: share * gaussian(mu)(mp.log1p(mp.expm1(e) / share))


def mean(mus: Sequence[Any]) -> Callable[[Any], Any]:
    """The mixture with equal weights."""
    return lambda e: mp.fsum(gaussian(mu)(e) for mu in mus) / len(mus)


def inverse(delta: Callable[[Any], Any], at: Any) -> Any:
    """ε(δ) by bisection."""
    low, high = mpf(0), mpf(1)
    while delta(high) > at:
        low, high = high, 2 * high
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > at else (low, middle)
    return high


def responses(costs: Sequence[Any]) -> Callable[[Any], Any]:
    """δ(ε) of equally costly randomised responses, a binomial sum."""
    n, each = len(costs), costs[0]
    assert all(cost == each for cost in costs)
    p = 1 / (1 + mp.exp(-each))

    def delta(e: Any) -> Any:
        terms = ((k, (2 * k - n) * each) for k in range(n + 1))
        return mp.fsum(
            mp.binomial(n, k) * p**k * (1 - p) ** (n - k) * (-mp.expm1(e - loss))
            for k, loss in terms
            if loss > e
        )

    return delta
