"""What was found: statistical lower bounds, and counterexamples that need no statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.errors import InvalidInput


class AdversaryAccess(StrEnum):
    """What the adversary of a bound was given."""

    RUNS = "scores of independent runs"
    """Nothing is assumed about the mechanism."""
    DENSITY = "exact densities of the release"
    """The likelihood ratio and the sampler are trusted; only behind a passed noise check."""
    ONE_RUN = "one run with many independent canaries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A lower bound that exceeds the true value with probability at most ``alpha``.

    Attributes:
        method: name of the estimator's file, with dashes.
        quantity: what is bounded.
        lower: the lower bound, 0 or above.
        alpha: the error probability spent on it, in (0, 1).
        delta: at which ε is bounded.
        access: what the adversary was given.
        runs: independent runs counted.
        direction: which of the two laws was held against which, or both.
        gates: whether it may refute a claim; report-only estimates may not.
        detectable: the smallest true value that this design would have told from the claim in four
            of five repetitions; None if not computed, infinite if it cannot.
        reference: the mechanism for which ``detectable`` holds.
        epsilon: the ε at ``delta`` that the same event bounds from below for any mechanism whatever,
            at no further α; None if it bounds none. A bound on μ or ρ by itself is none: only of a
            mechanism that *is* Gaussian would it give one. For a bound on ε it is ``lower``.
        counted: what the bound was computed from: counts or summary numbers.
        assumes: what the bound needs beyond independent runs.
        anytime: whether it holds whenever one stops.
    """

    method: str
    quantity: Quantity
    lower: float
    alpha: float
    delta: float
    access: AdversaryAccess
    runs: int
    direction: str = "both"
    gates: bool = True
    detectable: float | None = None
    reference: str = ""
    epsilon: float | None = None
    counted: Mapping[str, Any] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
    anytime: bool = False

    def __post_init__(self) -> None:
        checks.non_negative_or_infinite("lower", self.lower)
        checks.delta(self.delta)
        if self.quantity is Quantity.EPSILON:
            object.__setattr__(self, "epsilon", self.lower)
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"alpha needs a number in (0, 1); got alpha={self.alpha!r}")

    @property
    def confidence(self) -> float:
        """1 - alpha."""
        return 1 - self.alpha

    def refutes(self, claim: Claim) -> bool:
        """Whether the bound contradicts the claim; never for a report-only estimate."""
        return self.gates and self.exceeds(claim)

    def exceeds(self, claim: Claim) -> bool:
        """Whether the lower bound lies above what is claimed."""
        bound = claim.bound(self.quantity)
        return self.lower > bound * (1 + 1e-12) and math.isfinite(bound)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.method,
            "quantity": self.quantity.value,
            "lower": self.lower,
            "alpha": self.alpha,
            "delta": self.delta,
            "access": self.access.value,
            "runs": self.runs,
            "direction": self.direction,
            "gates": self.gates,
            "detectable": self.detectable,
            "reference": self.reference,
            "epsilon": self.epsilon,
            "counted": dict(self.counted),
            "assumes": list(self.assumes),
            "anytime": self.anytime,
        }


class Severity(StrEnum):
    """What a deterministic check says about the claim."""

    HOLDS = "holds"
    """Nothing was found."""
    REFUTES = "refutes"
    """A counterexample to the claim itself: it fails with certainty, given what is declared."""
    PREMISE = "premise"
    """Something the proof or an estimator relies on is false; the claim may hold by luck."""
    UNDECIDED = "undecided"
    """The check could not be carried out on what is known."""


NAN = "nan"
"""The check that counts releases which are no numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer of a check that needs no statistics, or of a check on the experiment itself.

    Attributes:
        check: name of the check's file, with dashes.
        severity: what it means for the claim.
        text: one sentence with the numbers that matter.
        numbers: everything needed to look at it again.
    """

    check: str
    severity: Severity
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "check": self.check,
            "severity": self.severity.value,
            "text": self.text,
            "numbers": dict(self.numbers),
        }
