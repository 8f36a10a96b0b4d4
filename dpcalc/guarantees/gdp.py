"""Gaussian differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.accounting.gaussian import gaussian_delta, gaussian_epsilon
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.tradeoff_ends import in_closed_form, missed_at_least
from dpcalc.numerals import at_least
from dpcalc.numerics.precise import Real, mpf, normal_cdf, normal_quantile, round_up

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.guarantees.base import Directions


@dataclass(frozen=True, slots=True)
class GDP(Guarantee):
    """μ-Gaussian differential privacy: no easier to attack than N(0, 1) against N(μ, 1).

    Source: Dong, Roth and Su 2022. Exact for the Gaussian mechanism, μ = √T·Δ/σ.
    Rounding: sixty digits, then outward.

    Example::

        from dpcalc import GDP
        print(GDP(1).epsilon(1e-5))

    Args:
        mu: 0 or above; infinity promises nothing.
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    notion: ClassVar[str] = "gdp"
    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.non_negative_or_infinite("mu", self.mu))

    def epsilon(self, delta: float) -> float:
        """The exact ε(δ) of the Gaussian mechanism."""
        return gaussian_epsilon(self.mu, checks.delta(delta))

    def delta(self, epsilon: float) -> float:
        """The exact δ(ε) of the Gaussian mechanism."""
        return gaussian_delta(self.mu, checks.non_negative_or_infinite("epsilon", epsilon))

    def parameters(self) -> Mapping[str, float]:
        """μ."""
        return {"mu": self.mu}

    def renyi(self, order: float) -> float:
        """αμ²/2, exactly."""
        checks.above_one("order", order)
        return round_up(mpf(order) * mpf(self.mu) ** 2 / 2) if math.isfinite(self.mu) else math.inf

    def losses(self) -> Directions | None:
        """N(μ, 1) against N(0, 1)."""
        from dpcalc.accounting.losses import GaussianLoss, constant_loss

        if self.mu == math.inf:
            return (((constant_loss(), 1),),)
        return (((GaussianLoss(at_least(self.mu)), 1),) if self.mu > 0 else (),)

    def tradeoff(self, false_positive_rate: float) -> float:
        """Φ(Φ⁻¹(1 - fpr) - μ), exactly."""
        rate = mpf(checks.probability("false_positive_rate", false_positive_rate))
        return missed_at_least(self._missed(rate), rate)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The same, rounded down and up."""
        return in_closed_form(self._missed, false_positive_rates)

    def _missed(self, rate: Real) -> Real:
        if self.mu == math.inf or rate in (0, 1):
            return mpf(1) if rate == 0 and self.mu < math.inf else mpf(0)
        return normal_cdf(-normal_quantile(rate) - mpf(self.mu))

    def closed_group(self, size: int) -> GDP:
        """μ grows with the size of the group."""
        mu = round_up(mpf(self.mu) * size) if math.isfinite(self.mu) else self.mu
        return GDP(mu)
