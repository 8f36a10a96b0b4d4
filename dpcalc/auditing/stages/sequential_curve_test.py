"""Bets against the curve of one claim while an audit runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.bets import Bet, Settled
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes, in_runs, reference
from dpcalc.auditing.estimators.sequential_curve import (
    Profile,
    chosen_bet,
    claimed_profile,
    detectable,
    gaussian_profile,
    largest_rejected,
    log_wealth,
    point_profile,
    settled,
    slopes,
)
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Observations, joined
from dpcalc.errors import AssumptionViolated

FIRST = 50
"""Runs that are watched before the first bet."""

_FEWEST = 10  # runs of a bet
_SHARE = 0.2  # of the runs so far, after which rules are chosen again


@dataclass(slots=True)
class RunningCurve:
    """The e-process of `estimators.sequential_curve`, fed batch by batch.

    When bets change depends on the number of runs alone, not on the batches in which they come.

    Attributes:
        claim: what is tested.
        alpha: error probability over all moments together.
        earlier: all runs so far, and before them a pilot that is never bet on; None without either.
        bets: what was bet so far.
        runs: runs so far, without the pilot.
        largest: largest log-wealth under the claim so far.
        lower: largest lower bound so far, of μ for a curve claim, else of ε at the claim's δ.
    """

    claim: Claim
    alpha: float
    earlier: Observations | None = None
    bets: list[Settled] = field(default_factory=list)
    runs: int = 0
    largest: float = 0.0
    lower: float = 0.0
    _open: Bet | None = None
    _left: int = 0

    def update(self, batch: Observations) -> None:
        """Bet on these runs, and look once more after every bet."""
        if not batch.fair_coins:
            raise AssumptionViolated("expected worlds drawn by fair coins to bet on answers")
        start = 0
        while start < batch.runs:
            if self._left == 0:
                self._begin()
            stop = min(start + self._left, batch.runs)
            part = batch.between(start, stop)
            if self._open is not None:
                self._settle(settled(self._open, part))
            self.earlier = part if self.earlier is None else joined([self.earlier, part])
            self.runs += part.runs
            self._left -= part.runs
            start = stop

    @property
    def value(self) -> float:
        """The largest e-value so far."""
        return math.exp(min(self.largest, 700.0))

    @property
    def rejects(self) -> bool:
        """Whether the claim is refuted at α."""
        return self.lower > self.claim.bound(self._quantity) * (1 + 1e-12)

    def epsilon_lower(self, delta: float) -> float:
        """The bound of ε at δ from the answers so far, for any mechanism."""
        return largest_rejected(
            self.bets, lambda epsilon: point_profile(epsilon, delta), alpha=self.alpha
        )

    def evidence(
        self,
        planned: int | None = None,
        *,
        outcomes: Outcomes = Outcomes.DISCRETE,
        share: float = 1.0,
    ) -> Evidence:
        """The bound at this moment.

        Args:
            planned: runs of the whole design, for its power; those made so far if left out.
            outcomes: how often they repeat; see `reference_mechanisms`.
            share: of the runs in which the mechanism answers; see `answering`.
        """
        claim, runs = self.claim, planned or self.runs
        named = reference(claim.delta, outcomes, curve=claim.is_curve, share=share)
        return Evidence(
            method="sequential-curve",
            quantity=self._quantity,
            lower=self.lower,
            epsilon=self.epsilon_lower(claim.delta),
            alpha=self.alpha,
            delta=claim.delta,
            access=AdversaryAccess.RUNS,
            runs=self.runs,
            detectable=detectable(
                runs=runs, claim=claim, alpha=self.alpha, outcomes=outcomes, share=share
            ),
            reference=in_runs(named, round(share * runs), runs),
            counted={"log_wealth": self.largest, "bets": [bet.record() for bet in self.bets]},
            assumes=("fair coins", "every bet was made before its runs"),
            anytime=True,
        )

    def path(self) -> list[tuple[int, float]]:
        """Runs so far and log-wealth under the claim, before the first bet and after every one."""
        profile, runs = claimed_profile(self.claim), self.runs - sum(b.runs for b in self.bets)
        found = [(runs, 0.0)]
        for k, bet in enumerate(self.bets, start=1):
            runs += bet.runs
            found.append((runs, log_wealth(self.bets[:k], profile)))
        return found

    @property
    def _quantity(self) -> Quantity:
        return Quantity.MU if self.claim.is_curve else Quantity.EPSILON

    def _family(self, value: float) -> Profile:
        """The profile in which the claim would have this μ, or this ε at its δ."""
        if self.claim.is_curve:
            return gaussian_profile(value)
        return point_profile(value, self.claim.delta)

    def _begin(self) -> None:
        """The next bet and for how many runs, from everything before."""
        known = 0 if self.earlier is None else self.earlier.runs
        if self.earlier is None or known < FIRST:
            self._open, self._left = None, FIRST - known
            return
        at = slopes(self.claim)
        self._open = chosen_bet(self.earlier, at, claimed_profile(self.claim)(at))
        self._left = max(_FEWEST, round(_SHARE * known))

    def _settle(self, latest: Settled) -> None:
        """Keep the answers and look once more."""
        if self.bets and self.bets[-1].bet is latest.bet:
            self.bets[-1] = self.bets[-1].joined(latest)
        else:
            self.bets.append(latest)
        self.largest = max(self.largest, log_wealth(self.bets, claimed_profile(self.claim)))
        self.lower = largest_rejected(self.bets, self._family, alpha=self.alpha, least=self.lower)
