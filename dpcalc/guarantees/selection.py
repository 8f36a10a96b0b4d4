"""The best of a random number of runs, chosen by a score that is part of what each run releases.

Statement
    K has P[K = k] ∝ (1-γ)^k/k (logarithmic, s = 1) or (1-γ)^k (geometric, s = 2), k = 1, 2, ... Q is
    run K times and the run with the highest score is released, K and the other runs are not. With
    δ_Q the profile of one run, and any a >= 0 for which (1-γ)·δ_Q(a) <= γ(e^a - 1),

        δ(ε) <= E[K]·δ_Q(ε - s·a).

    For ε₀-DP runs that is (1 + s)ε₀-DP or better, however many runs are expected.
Source
    The setting and the bound in Rényi divergences are those of Papernot and Steinke 2022 (theorem 2
    and corollary 3); the bound by profiles is proved in docs/theorems/private-selection.md.
Rounding
    Any a that meets the condition gives a valid bound, so its search may be sloppy; the condition is
    checked with sixty digits, answers are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpcalc import checks
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.guarantees.base import Guarantee
from dpcalc.numerics.kept import kept_within
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.numerics.search import minimise

POWERS = {"logarithmic": 1, "geometric": 2}
"""s of the laws of K."""

_HALVINGS = 50

_HELD = 2**16
"""Bytes of kept orders."""


@dataclass(frozen=True, slots=True)
class RandomSelection(Guarantee):
    """What the best of K runs reveals, K at random.

    Args:
        base: the guarantee of one run, its score included.
        stop: γ, in (0, 1): the smaller, the more runs.
        law: logarithmic or geometric.
    """

    notion: ClassVar[str] = "random-selection"
    base: Guarantee
    stop: float
    law: str = "logarithmic"

    def __post_init__(self) -> None:
        if not 0 < checks.probability("stop", self.stop) < 1:
            raise InvalidInput(f"stop needs a number in (0, 1); got stop={self.stop!r}; try 0.1")
        if self.law not in POWERS:
            raise unknown_name("law of the number of runs", self.law, POWERS)

    @property
    def expected_runs(self) -> float:
        """E[K], rounded up."""
        return round_up(self._expected())

    def _expected(self) -> Real:
        ctx, gamma = context(), mpf(self.stop)
        if self.law == "geometric":
            return 1 / gamma
        return (1 / gamma - 1) / ctx.log(1 / gamma)

    @property
    def shift(self) -> float:
        """s·a, what the choice adds to ε."""
        low, high = 0.0, 1.0
        if self._suffices(low):
            return 0.0
        while not self._suffices(high):
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._suffices(middle) else (middle, high)
        return round_up(mpf(high) * POWERS[self.law])

    def _suffices(self, a: float) -> bool:
        """Whether a meets the condition of the statement."""
        gamma = mpf(self.stop)
        return bool((1 - gamma) * mpf(self.base.delta(a)) <= gamma * context().expm1(mpf(a)))

    def epsilon(self, delta: float) -> float:
        """s·a + ε_Q(δ/E[K])."""
        share = max(0.0, round_down(mpf(checks.delta(delta)) / self._expected()))
        one, shift = self.base.epsilon(share), self.shift
        if not (math.isfinite(one) and math.isfinite(shift)):
            return math.inf
        return round_up(mpf(one) + mpf(shift))

    def delta(self, epsilon: float) -> float:
        """E[K]·δ_Q(ε - s·a), at most 1."""
        rest = checks.non_negative_or_infinite("epsilon", epsilon) - self.shift
        if not rest >= 0:
            return 1.0
        inside = rest if math.isinf(rest) else math.nextafter(rest, 0.0)
        return min(1.0, round_up(self._expected() * mpf(self.base.delta(inside))))

    def renyi(self, order: float) -> float:
        """Theorem 2 of the source: ε + s((1 - 1/β)ε_β + ln(1/γ)/β) + ln E[K]/(α - 1), best β."""
        checks.above_one("order", order)
        one, power = self.base.renyi(order), POWERS[self.law]
        if not math.isfinite(one):
            return math.inf
        total = _choice(self.base, self.stop, _best_order(self.base, self.stop))
        if total == math.inf:
            return math.inf
        ctx = context()
        return round_up(mpf(one) + power * total + ctx.log(self._expected()) / (mpf(order) - 1))

    def parameters(self) -> Mapping[str, float]:
        """γ and E[K]."""
        return {"stop": self.stop, "expected_runs": self.expected_runs}


def _choice(base: Guarantee, stop: float, log_excess: float) -> Real:
    """(1 - 1/β)ε_β + ln(1/γ)/β at β = 1 + exp(log_excess)."""
    beta = 1 + mpf(math.exp(log_excess))
    other = base.renyi(float(beta))
    if not math.isfinite(other):
        return math.inf
    return (1 - 1 / beta) * mpf(other) + context().log(1 / mpf(stop)) / beta


@kept_within(_HELD)
def _best_order(base: Guarantee, stop: float) -> float:
    """Where the choice costs about least; the same at every order of the answer."""
    best, _ = minimise(lambda x: float(_choice(base, stop, x)), math.log(1e-6), math.log(1e9))
    return best


def stop_for(expected: float, law: str = "logarithmic") -> float:
    """γ at which the mean number of runs is about ``expected``.

    Args:
        expected: above 1.
        law: logarithmic or geometric.
    """
    if not expected > 1:
        raise InvalidInput(f"expected needs a number above 1; got expected={expected!r}; try 10")
    if law == "geometric":
        return 1 / expected
    low, high = math.log(1e-12), math.log(1 - 1e-9)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        gamma = math.exp(middle)
        fewer = (1 / gamma - 1) / -middle < expected
        low, high = (low, middle) if fewer else (middle, high)
    return math.exp(high)
