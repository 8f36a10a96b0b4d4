"""A verdict together with what was observed: from which reports are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpcalc.auditing.experiment import Experiment
from dpcalc.auditing.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditResult:
    """One claim after the attack.

    Attributes:
        key: short name.
        title: one line.
        role: whose claim it is.
        verdict: the verdict.
        experiment: what was observed; None if no run was needed or the runs are elsewhere.
        certified: ε at the claim's δ that is proved for the target; None if nothing is.
        expected: expected outcomes; empty if nothing was expected.
        note: how the instance was made.
        seconds: how long it took.
    """

    key: str
    title: str
    role: str
    verdict: Verdict
    experiment: Experiment | None = None
    certified: float | None = None
    expected: tuple[Outcome, ...] = ()
    note: str = ""
    seconds: float = 0.0

    @property
    def epsilon_lower(self) -> float | None:
        """The largest ε at the claim's δ that was shown for the mechanism, whatever it is.

        By a gating bound on ε itself or by a counterexample; None if there is neither. A bound on μ
        or ρ is no bound on ε, see `native_lower`.
        """
        return self.verdict.epsilon_shown

    @property
    def native_lower(self) -> float | None:
        """The largest gating lower bound in the claim's own notion; None if there is none."""
        return self.verdict.lower_bounds.get(self.verdict.claim.quantity)

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict.outcome is Outcome.REFUTED

    @property
    def unexpected(self) -> bool:
        """Whether the outcome is none of the expected ones."""
        return bool(self.expected) and self.verdict.outcome not in self.expected

    @property
    def contradicts_proof(self) -> bool:
        """Whether a lower bound lies above the proved ε.

        Either the proof or the estimator is wrong then, or this is a chance event.
        """
        attack = self.epsilon_lower
        return attack is not None and self.certified is not None and attack > self.certified

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "key": self.key,
            "title": self.title,
            "role": self.role,
            "certified": {"epsilon": self.certified, "delta": self.verdict.claim.delta},
            "attack": {"epsilon": self.epsilon_lower, "delta": self.verdict.claim.delta},
            "own_bound": {
                "quantity": self.verdict.claim.quantity.value,
                "lower": self.native_lower,
            },
            "expected": [outcome.value for outcome in self.expected],
            "note": self.note,
            "seconds": round(self.seconds, 2),
            "verdict": self.verdict.record(),
        }


def exit_status(results: Sequence[AuditResult]) -> int:
    """1 if a claim is refuted, else 4 if a precondition failed, else 3 if underpowered, else 0."""
    found = {result.verdict.outcome for result in results}
    for outcome in (Outcome.REFUTED, Outcome.PRECONDITION_FAILED, Outcome.UNDERPOWERED):
        if outcome in found:
            return outcome.exit_status
    return 0
