"""From one notion of privacy to another, by the exact or best known formula."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.pure import PureDP
from dpcalc.guarantees.renyi import RDP, ZCDP
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import context, mpf, normal_quantile, round_up
from dpcalc.numerics.search import largest_where


@own_arithmetic
def to_pure(guarantee: Guarantee) -> PureDP:
    """Only pure differential privacy has a finite ε at δ = 0."""
    epsilon = guarantee.epsilon(0.0)
    if math.isinf(epsilon):
        raise InvalidInput(
            f"pure differential privacy does not follow from {guarantee.notion}; "
            "try --to approx with --delta"
        )
    return PureDP(epsilon)


@own_arithmetic
def to_zcdp(guarantee: Guarantee) -> ZCDP:
    """ρ: μ²/2 from μ-GDP, exactly; ε·tanh(ε/2) from ε-DP.

    For randomised response ``ln M(s) = g(s + ½) - g(½)``, g(u) = ln cosh(εu). As a function of u² g is
    concave with slope ε·tanh(ε/2) at u = ½, so ``ln M(s) <= ε tanh(ε/2)·s(s + 1)``, with equality in
    the limit of order 1 (Harrison and Manurangsi 2025).
    """
    if isinstance(guarantee, MixedReleases):
        guarantee = guarantee.divergences
    if isinstance(guarantee, ZCDP):
        return guarantee
    if isinstance(guarantee, GDP):
        return ZCDP(
            round_up(mpf(guarantee.mu) ** 2 / 2) if math.isfinite(guarantee.mu) else math.inf
        )
    epsilon = guarantee.epsilon(0.0)
    if math.isinf(epsilon):
        raise _impossible("zcdp", guarantee, "pure or gdp")
    eps = mpf(epsilon)
    return ZCDP(round_up(eps * context().tanh(eps / 2)))


@own_arithmetic
def to_gdp(guarantee: Guarantee) -> GDP:
    """μ from ε-DP: 2Φ⁻¹(e^ε/(1 + e^ε)).

    The trade-off curve of randomised response is a polygon with its corner on the diagonal; a convex
    curve below its corners is below its sides, so the smallest Gaussian curve passes through the
    corner.
    """
    if isinstance(guarantee, GDP):
        return guarantee
    epsilon = guarantee.epsilon(0.0)
    if math.isinf(epsilon):
        raise _impossible("gdp", guarantee, "pure")
    # Φ⁻¹(1 - c) = -Φ⁻¹(c), which keeps its digits for large ε.
    return GDP(round_up(-2 * normal_quantile(1 / (1 + context().exp(mpf(epsilon))))))


@own_arithmetic
def to_rdp(guarantee: Guarantee) -> RDP:
    """The curve of Rényi divergences that a guarantee implies."""
    if math.isinf(guarantee.renyi(1.0001)):
        raise _impossible("rdp", guarantee, "pure, zcdp or gdp")
    curve: Callable[[float], float] = guarantee.renyi
    return RDP(curve, f"from {guarantee.notion}")


def _impossible(target: str, guarantee: Guarantee, sources: str) -> InvalidInput:
    return InvalidInput(
        f"{target} does not follow from {guarantee.notion}; it follows from {sources}; "
        "try --to approx with --delta"
    )


def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ that the zCDP conversion turns into (ε, δ)."""
    high = max(1.0, epsilon)
    while ZCDP(high).epsilon(delta) <= epsilon:
        high *= 2
    return largest_where(lambda rho: ZCDP(rho).epsilon(delta) <= epsilon, 0.0, high)
