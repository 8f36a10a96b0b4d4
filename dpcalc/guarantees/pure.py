"""Pure and approximate differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.tradeoff_ends import in_closed_form, missed_at_least
from dpcalc.numerals import at_least
from dpcalc.numerics.precise import Real, context, mpf, round_up

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.accounting.losses.density_pair import PrivacyLoss
    from dpcalc.guarantees.base import Directions


@dataclass(frozen=True, slots=True)
class PureDP(Guarantee):
    """ε-differential privacy. Its worst case is randomised response.

    Source: ``δ(ε) = (e^{ε₀} - e^ε)/(1 + e^{ε₀})`` and the Rényi divergence of randomised response,
    ``β(α) = ln[(sinh αε₀ - sinh (α-1)ε₀)/sinh ε₀]/(α-1)``; both are attained.
    Rounding: sixty digits, then up.

    Example::

        from dpcalc import PureDP
        print(PureDP(0.5).delta(0.1))

    Args:
        bound: ε₀, 0 or above; infinity promises nothing.
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    notion: ClassVar[str] = "pure"
    bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", checks.non_negative_or_infinite("epsilon", self.bound))

    def epsilon(self, delta: float) -> float:
        """ln(e^{ε₀} - δ(1 + e^{ε₀})), which is ε₀ at δ = 0."""
        return ApproxDP(self.bound, 0.0).epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """The profile of randomised response."""
        return ApproxDP(self.bound, 0.0).delta(epsilon)

    def parameters(self) -> Mapping[str, float]:
        """ε₀."""
        return {"epsilon": self.bound}

    def renyi(self, order: float) -> float:
        """The divergence of randomised response, at most ε₀ and at most αε₀²/2."""
        checks.above_one("order", order)
        if self.bound in (0.0, math.inf):
            return self.bound
        ctx, alpha, eps = context(), mpf(order), mpf(self.bound)
        # (sinh αε - sinh (α-1)ε)/sinh ε = cosh((α-½)ε)/cosh(ε/2), less 1 without cancellation
        excess = 2 * ctx.sinh(alpha * eps / 2) * ctx.sinh((alpha - 1) * eps / 2)
        log_moment = ctx.log1p(excess / ctx.cosh(eps / 2))
        return min(at_least(self.bound), round_up(log_moment / (alpha - 1)))

    def losses(self) -> Directions | None:
        """Randomised response."""
        return ApproxDP(self.bound, 0.0).losses()

    def tradeoff(self, false_positive_rate: float) -> float:
        """max(0, 1 - e^{ε₀}·fpr, e^{-ε₀}(1 - fpr))."""
        return ApproxDP(self.bound, 0.0).tradeoff(false_positive_rate)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The same, rounded down and up."""
        return ApproxDP(self.bound, 0.0).tradeoff_brackets(false_positive_rates)

    def closed_group(self, size: int) -> PureDP:
        """ε₀ grows with the size of the group."""
        bound = round_up(mpf(self.bound) * size) if math.isfinite(self.bound) else self.bound
        return PureDP(bound)


@dataclass(frozen=True, slots=True)
class ApproxDP(Guarantee):
    """(ε, δ)-differential privacy for one pair (ε₀, δ₀).

    Its worst case reveals the record with probability δ₀ and is randomised response otherwise, so
    smaller ε follow at larger δ: ``δ(ε) = δ₀ + (1-δ₀)(e^{ε₀} - e^ε)/(1 + e^{ε₀})``.

    Source: Kairouz, Oh and Viswanath 2015. Rounding: sixty digits, then outward.

    Example::

        from dpcalc import ApproxDP
        print(ApproxDP(1, 1e-6).epsilon(1e-5))

    Args:
        bound: ε₀, 0 or above.
        failure: δ₀ in [0, 1].
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    notion: ClassVar[str] = "approx"
    bound: float
    failure: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", checks.non_negative_or_infinite("epsilon", self.bound))
        object.__setattr__(self, "failure", checks.probability("delta", self.failure))

    def epsilon(self, delta: float) -> float:
        """Infinite below δ₀, ε₀ at δ₀, smaller above it."""
        delta = checks.delta(delta)
        if delta < self.failure:
            return math.inf
        if not math.isfinite(self.bound) or delta == self.failure:
            return self.bound
        ctx, eps0 = context(), mpf(self.bound)
        share = (mpf(delta) - self.failure) / (1 - mpf(self.failure))
        inside = 1 - share * (1 + ctx.exp(-eps0))
        if inside <= 0:
            return 0.0
        return max(0.0, min(self.bound, round_up(eps0 + ctx.log(inside))))

    def delta(self, epsilon: float) -> float:
        """δ₀ from ε₀ on, more below it."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        ctx, eps0 = context(), mpf(self.bound)  # not the double next to it
        if mpf(epsilon) >= eps0:
            return self.failure
        if self.bound == math.inf:
            return 1.0
        rest = -ctx.expm1(mpf(epsilon) - eps0) / (1 + ctx.exp(-eps0))
        return min(1.0, round_up(self.failure + (1 - mpf(self.failure)) * rest))

    def parameters(self) -> Mapping[str, float]:
        """ε₀ and δ₀."""
        return {"epsilon": self.bound, "delta": self.failure}

    def losses(self) -> Directions | None:
        """Randomised response that fails with probability δ₀."""
        from dpcalc.accounting.losses import RandomisedResponseLoss, constant_loss, disclosure

        if self.failure >= 1 or self.bound == math.inf:
            return (((constant_loss(), 1),),)
        parts: list[tuple[PrivacyLoss, int]] = []
        if self.bound > 0:
            parts.append((RandomisedResponseLoss.of({at_least(self.bound): 1}), 1))
        if self.failure > 0:
            parts.append((disclosure(self.failure), 1))
        return (tuple(parts),)

    def tradeoff(self, false_positive_rate: float) -> float:
        """max(0, 1 - δ₀ - e^{ε₀}·fpr, e^{-ε₀}(1 - δ₀ - fpr))."""
        rate = mpf(checks.probability("false_positive_rate", false_positive_rate))
        return missed_at_least(self._missed(rate), rate, self.failure)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The same, rounded down and up."""
        return in_closed_form(self._missed, false_positive_rates, self.failure)

    def _missed(self, rate: Real) -> Real:
        keep = 1 - mpf(self.failure)
        if self.bound == math.inf:
            return mpf(0)
        if rate == 0:
            return keep
        grown = context().exp(mpf(self.bound))
        return max(keep - grown * rate, (keep - rate) / grown)
