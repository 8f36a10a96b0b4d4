"""Releases of which some are known only through Rényi divergences, which add up.

The failure probabilities of approximate guarantees, and of losses that may be infinite, are kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.renyi import failure, renyi_given_finite
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import ApproxDP, PureDP
from dpcalc.guarantees.renyi import RDP, ZCDP, RenyiGuarantee
from dpcalc.numerics.precise import Real, any_of, mpf, round_down, round_up


@dataclass(frozen=True, slots=True)
class ApproximateRDP(Guarantee):
    """A Rényi guarantee that holds except with a probability.

    Args:
        base: what holds otherwise.
        failure: the probability, in [0, 1).
    """

    notion: ClassVar[str] = "rdp"
    base: RenyiGuarantee
    failure: float

    def epsilon(self, delta: float) -> float:
        """The base's ε at what is left of δ."""
        checks.delta(delta)
        share = self.share(delta)
        return math.inf if share is None else self.base.epsilon(share)

    def share(self, delta: float) -> float | None:
        """What is left of δ for the base, rounded down; None if nothing is."""
        if delta <= self.failure:
            return None
        share = float((mpf(delta) - self.failure) / (1 - mpf(self.failure)))
        return math.nextafter(share, 0.0)

    def delta(self, epsilon: float) -> float:
        """The failure probability plus the base's δ otherwise."""
        return self.with_failure(self.base.delta(epsilon))

    def with_failure(self, delta: float) -> float:
        """The δ of a base that may fail."""
        held = 1 - mpf(self.failure)
        return min(1.0, round_up(self.failure + held * delta))

    def tradeoff(self, false_positive_rate: float) -> float:
        """The base's, shrunk by what the failure reveals."""
        held, rate = self._shrunk(false_positive_rate)
        scaled = round_up(rate)
        return round_down(held * self.base.tradeoff(scaled)) if scaled < 1 else 0.0

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Both ends likewise."""
        return tuple(self._enclosed(rate) for rate in false_positive_rates)

    def _enclosed(self, false_positive_rate: float) -> Bracket:
        held, rate = self._shrunk(false_positive_rate)
        [base] = self.base.tradeoff_brackets([min(1.0, max(0.0, round_down(rate)))])
        return Bracket(self.tradeoff(false_positive_rate), round_up(held * base.upper), base.method)

    def _shrunk(self, rate: float) -> tuple[Real, Real]:
        held = 1 - mpf(self.failure)
        return held, mpf(checks.probability("false_positive_rate", rate)) / held

    def parameters(self) -> Mapping[str, float]:
        """The base's numbers and the failure probability."""
        return {**self.base.parameters(), "failure": self.failure}


@dataclass(frozen=True, slots=True)
class _FiniteLossRDP(RenyiGuarantee):
    """The Rényi guarantee conditional on a finite loss."""

    notion: ClassVar[str] = "rdp"
    base: Guarantee

    def renyi(self, order: float) -> float:
        checks.above_one("order", order)
        return max(renyi_given_finite(losses, order) for losses in self.base.losses() or ())

    def parameters(self) -> Mapping[str, float]:
        return self.base.parameters()


def _failure(part: Guarantee) -> float:
    """The probability of an infinite loss; zero if nothing is known of the losses."""
    return max((failure(losses) for losses in part.losses() or ()), default=0.0)


def concentrated(parts: Sequence[tuple[ZCDP | GDP, int]]) -> ZCDP:
    """Concentrated and Gaussian releases together: ρ adds up, that of μ-GDP is μ²/2."""
    total = mpf(0)
    for part, n in parts:
        total += (mpf(part.rho) if isinstance(part, ZCDP) else mpf(part.mu) ** 2 / 2) * n
    return ZCDP(round_up(total))


def through_renyi(parts: Sequence[tuple[Guarantee, int]]) -> Guarantee:
    """The sum of the releases' divergences, except with the probability that one of them fails."""
    regular, failed = unless_failed(parts)
    if failed >= 1:
        return GDP(math.inf)  # one release tells everything, and no other mends that
    for part, _ in regular:
        known = bool(isinstance(part, RDP) and part.points) or math.isfinite(part.renyi(2.0))
        if not known and not math.isfinite(part.renyi(1.001)):
            raise InvalidInput(
                f"a guarantee with a known loss or Rényi divergence is needed; got {part.notion}; "
                "convert it to (ε, δ) at a fixed δ first"
            )
    frozen = tuple(regular)

    def curve(order: float) -> float:
        return math.fsum(part.renyi(order) * n for part, n in frozen) * (1 + 1e-15)

    total = RDP(curve, f"sum over {sum(n for _, n in frozen)} releases")
    failure = round_up(failed)
    return ApproximateRDP(total, failure) if failure > 0 else total


def unless_failed(
    parts: Sequence[tuple[Guarantee, int]],
) -> tuple[list[tuple[Guarantee, int]], Real]:
    """The releases given that none of them fails, and the probability that one does."""
    failures: list[tuple[float, int]] = []
    regular: list[tuple[Guarantee, int]] = []
    for part, n in parts:
        if isinstance(part, ApproxDP):
            failures.append((part.failure, n))
            regular.append((PureDP(part.bound), n))
        elif isinstance(part, ApproximateRDP):
            failures.append((part.failure, n))
            regular.append((part.base, n))
        elif (revealed := _failure(part)) >= 1:
            return [], mpf(1)
        elif revealed > 0:
            failures.append((revealed, n))
            regular.append((_FiniteLossRDP(part), n))
        else:
            regular.append((part, n))
    return regular, any_of(failures)
