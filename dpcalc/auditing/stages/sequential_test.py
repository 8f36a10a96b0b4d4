"""The e-process of one claim while an audit runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.eprocess import (
    accuracy_lower,
    allowed_accuracy,
    answers_epsilon_lower,
    answers_log_wealth,
    detectable,
    epsilon_from_accuracy,
    log_wealth,
    lower_from_accuracy,
)
from dpcalc.auditing.estimators.reference_mechanisms import (
    RESPONSE,
    Outcomes,
    in_runs,
    reference,
)
from dpcalc.auditing.estimators.rules import Answers, Rule
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.errors import AssumptionViolated


@dataclass(slots=True)
class RunningTest:
    """The e-process of right and wrong answers, fed batch by batch.

    Attributes:
        claim: what is tested.
        rule: fixed before the first batch; for a curve one that answers every run.
        alpha: error probability over all moments together.
        right: right answers so far.
        wrong: wrong answers so far.
        runs: runs so far.
        largest: largest log-wealth so far.
        lower: largest lower bound so far, of μ for a curve claim, else of ε at the claim's δ.
    """

    claim: Claim
    rule: Rule
    alpha: float
    right: int = 0
    wrong: int = 0
    runs: int = 0
    largest: float = 0.0
    lower: float = 0.0

    def update(self, batch: Observations) -> None:
        """Look once more."""
        if not batch.fair_coins:
            raise AssumptionViolated("expected worlds drawn by fair coins for the e-process")
        answers = self.rule.answers(batch)
        self.right += int(answers.right)
        self.wrong += int(answers.wrong)
        self.runs += answers.runs
        self.largest = max(self.largest, self._log_wealth())
        now = self.epsilon_lower(self.claim.delta)
        if self.claim.is_curve:
            now = lower_from_accuracy(self._accuracy(), self.claim)
        self.lower = max(self.lower, now)

    @property
    def value(self) -> float:
        """The largest e-value so far."""
        return math.exp(min(self.largest, 700.0))

    @property
    def rejects(self) -> bool:
        """Whether the claim is refuted at α."""
        return self.largest >= -math.log(self.alpha)

    def epsilon_lower(self, delta: float) -> float:
        """The bound of ε at δ from the answers so far, for any mechanism."""
        if not self.rule.abstains:
            return epsilon_from_accuracy(self._accuracy(), delta)
        return answers_epsilon_lower(
            self.right, self.wrong, self.runs, delta=delta, alpha=self.alpha
        )

    def _accuracy(self) -> float:
        return float(accuracy_lower(self.right, self.runs, alpha=self.alpha))

    def _log_wealth(self) -> float:
        if not self.rule.abstains:
            return float(log_wealth(self.right, self.runs, allowed_accuracy(self.claim)))
        epsilon = min(self.claim.epsilon, 700.0)
        return float(
            answers_log_wealth(
                self.right, self.wrong, self.runs, epsilon=epsilon, delta=self.claim.delta
            )
        )

    def evidence(
        self,
        planned: int | None = None,
        *,
        outcomes: Outcomes = Outcomes.DISCRETE,
        share: float = 1.0,
        learnt: bool = False,
    ) -> Evidence:
        """The bound at this moment.

        Args:
            planned: runs of the whole design, for its power; those made so far if left out.
            outcomes: how often they repeat; see `reference_mechanisms`.
            share: of the runs in which the mechanism answers; see `answering`.
            learnt: whether the score was learnt; see `abstention.smallest_response`.
        """
        curve = self.claim.is_curve
        quantity = Quantity.MU if curve else Quantity.EPSILON
        named = reference(self.claim.delta, outcomes, curve=curve, share=share)
        runs = planned or self.runs
        telling = round(share * runs)
        if named == RESPONSE and self.lower > 0:
            right, wrong = (round(runs * n / self.runs) for n in (self.right, self.wrong))
            answers = Answers(right=np.asarray(right), wrong=np.asarray(wrong), runs=runs)
            telling = self.rule.telling(answers, telling, learnt=learnt)
        return Evidence(
            method="e-process",
            quantity=quantity,
            lower=self.lower,
            epsilon=self.epsilon_lower(self.claim.delta),
            alpha=self.alpha,
            delta=self.claim.delta,
            access=AdversaryAccess.RUNS,
            runs=self.runs,
            detectable=detectable(
                runs=runs,
                claim=self.claim,
                alpha=self.alpha,
                outcomes=outcomes,
                telling=telling if telling < runs else None,
                learnt=learnt,
            ),
            reference=in_runs(named, telling, runs),
            counted={
                "right": self.right,
                "wrong": self.wrong,
                "runs": self.runs,
                "log_wealth": self.largest,
                **self.rule.record(),
                **({"telling": telling, "learnt": learnt} if telling < runs else {}),
            },
            assumes=("fair coins", "the decision rule was fixed before these runs"),
            anytime=True,
        )
