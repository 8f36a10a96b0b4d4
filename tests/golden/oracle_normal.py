"""δ(ε) of one objective-perturbed update with normal noise, by quadrature of its definition in mpmath.

docs/theorems/objective-perturbation.md, theorem a: R(k) for k >= 1, one record removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf

from tests.golden.oracle_profiles import Table


def linked(a: Any, kappa: Any) -> Any:
    """G(A): the maximum over s in [0, 1] of sA + ln(1 + κs(1-s)).

    Where the derivative vanishes, κA s² + κ(2 - A)s = A + κ.
    """
    if a >= kappa:
        return a
    middle = kappa * (2 - a)
    s = 2 * (a + kappa) / (middle + mp.sqrt(middle**2 + 4 * kappa * a * (a + kappa)))
    return s * a + mp.log1p(kappa * s * (1 - s))


def crossing(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where an increasing or decreasing function vanishes."""
    return mp.findroot(f, (low, high), solver="illinois", tol=mpf(10) ** -(2 * mp.dps - 8))


def removal(mu: Any, kappa: Any, epsilon: Any) -> Any:
    """R(e^ε) = E (1 - e^{-A})₊ (1 - e^{ε-G})₊ / (1 - e^{-G}), A ~ N(μ²/2, μ²); G = A from κ on."""
    start = mpf(0)
    if linked(start, kappa) < epsilon:
        start = crossing(lambda a: linked(a, kappa) - epsilon, start, epsilon)

    def term(z: Any) -> Any:
        a = mu * mu / 2 + mu * z
        g = linked(a, kappa)
        return mp.npdf(z) * mp.expm1(-a) * mp.expm1(epsilon - g) / -mp.expm1(-g)

    first, free = ((x - mu * mu / 2) / mu for x in (start, max(start, kappa)))
    bent = mp.quad(term, mp.linspace(first, free, 4), method="gauss-legendre")
    return bent + mp.ncdf(-free) - mp.exp(epsilon) * mp.ncdf(-free - mu)


def removed(mu: Any, kappa: Any, delta: Any) -> Any:
    """The ε at which R is δ."""
    with mp.workdps(30):
        return crossing(
            lambda e: mp.log(removal(mu, kappa, e) / delta), mpf("0.05"), 12 * mu + kappa / 4
        )


def kifer(p: Table) -> tuple[Any, dict[str, Any]]:
    """Printed: σ²ε² = ζ²(8 ln(2/δ) + 4ε), and ε >= 2β/λ; the defaults ζ = 1, β = 1/4."""
    s2, logarithm = p["sigma"] ** 2, mp.log(2 / p["delta"])
    root = (2 + mp.sqrt(4 + 8 * s2 * logarithm)) / s2
    claim = max(root, mpf(1) / 2 / p["regularization"])
    return removed(1 / p["sigma"], 1 / p["regularization"], p["delta"]), {"epsilon": claim}


def redberg(p: Table) -> tuple[Any, dict[str, Any]]:
    """Printed: 2H(ε - C) with C = -ln(1 - β/λ), or its continuation; the defaults L = 1, β = 1/4."""
    mu, cost = 1 / p["sigma"], -mp.log(1 - mpf(1) / 4 / p["regularization"])

    def normal(x: Any) -> Any:
        return mp.ncdf(mu / 2 - x / mu) - mp.exp(x) * mp.ncdf(-mu / 2 - x / mu)

    def printed(epsilon: Any) -> Any:
        rest, half = epsilon - cost, mu * mu / 2
        if rest >= half:
            return 2 * normal(rest)
        growth = mp.exp(rest - half)
        return 1 - growth + 2 * growth * normal(half)

    return removed(mu, 1 / p["regularization"], p["delta"]), {"epsilon": printed}
