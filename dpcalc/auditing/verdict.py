"""The verdict on one claim: REFUTED, NOT REFUTED, UNDERPOWERED or PRECONDITION FAILED.

An audit bounds privacy loss from below. It can refute a claim; it can fail to refute one, and then
says how large a violation it would have noticed. It never shows that a mechanism is private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.evidence import Evidence, Finding
from dpcalc.markup import html_table
from dpcalc.numerals import spelt
from dpcalc.wording import at_least, confidence, runs_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Outcome(StrEnum):
    """What became of a claim under attack."""

    REFUTED = "REFUTED"
    NOT_REFUTED = "NOT REFUTED"
    UNDERPOWERED = "UNDERPOWERED"
    PRECONDITION_FAILED = "PRECONDITION FAILED"

    @property
    def exit_status(self) -> int:
        """0 not refuted with enough power, 1 refuted, 3 underpowered, 4 a precondition failed."""
        return _EXIT[self]


_EXIT = {
    Outcome.NOT_REFUTED: 0,
    Outcome.REFUTED: 1,
    Outcome.UNDERPOWERED: 3,
    Outcome.PRECONDITION_FAILED: 4,
}

DEFAULT_DETECTABLE_RATIO = 2.0
"""A design has enough power if it would notice a privacy loss this many times the claimed one."""

ALPHA = 1e-4
"""The chance of refuting a true claim, unless another is asked for.

REFUTED accuses somebody, and audits run by the hundred in continuous integration: one accusation of a
mechanism that keeps its claim exactly in twenty audits is too many.
"""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict:
    """The outcome with everything needed to recompute it.

    Attributes:
        target: name of what was attacked.
        claim: what was put to the test.
        outcome: the verdict on it.
        reason: one sentence.
        evidence: lower bounds, strongest first.
        findings: answers of the deterministic checks and of the checks on the experiment.
        alpha: error probability of the whole verdict.
        runs: runs of the mechanism, pilot included.
        seed: from which everything random was drawn.
        detectable_ratio: a design has enough power if it notices this many times the claimed value.
        versions: of dpcalc, numpy, scipy and Python.
        controls: what the same design said of mechanisms whose answer is known.
    """

    target: str
    claim: Claim
    outcome: Outcome
    reason: str
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...] = ()
    alpha: float
    runs: int
    seed: int | None = None
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO
    versions: Mapping[str, str] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same verdict.

        Not of a target with randomness of its own, nor where a limit of time was felt.
        """
        return self.seed is not None and not {"repetition", "time"} & {
            f.check for f in self.findings
        }

    @property
    def best(self) -> Evidence | None:
        """The strongest gating evidence."""
        return max((e for e in self.evidence if e.gates), key=strength, default=None)

    @property
    def epsilon_lower(self) -> float:
        """The largest ε at the claim's δ that is shown for the mechanism; 0 if none is.

        Bounds on μ and ρ are no part of it: they say nothing about ε unless the mechanism is
        Gaussian, and that is what is in question.
        """
        return max((e.epsilon for e in self.evidence if e.gates and e.epsilon), default=0.0)

    @property
    def lower_bounds(self) -> dict[Quantity, float]:
        """The largest gating lower bound in every notion that is bounded at all."""
        found: dict[Quantity, float] = {}
        for e in self.evidence:
            for quantity, value in ((e.quantity, e.lower), (Quantity.EPSILON, e.epsilon)):
                if e.gates and value is not None:
                    found[quantity] = max(value, found.get(quantity, 0.0))
        return found

    @property
    def epsilon_shown(self) -> float | None:
        """The largest ε at the claim's δ by a gating bound or by a counterexample; None if none."""
        bounds = self.lower_bounds
        shown = [bounds[Quantity.EPSILON]] if Quantity.EPSILON in bounds else []
        for finding in self.findings:
            numbers = finding.numbers
            shown += [float(numbers[n]) for n in ("epsilon_lower", "largest") if n in numbers]
        return max(shown, default=None)

    @property
    def detectable(self) -> float | None:
        """The smallest ε that the best method of this design would have told from the claim."""
        found = [d for e in self.evidence if e.gates and (d := detectable_epsilon(e)) is not None]
        return min(found, default=None)

    def plot(self) -> Axes:
        """The error rates that the claim leaves to every attack, and how far this attack got.

        The least false-negative rate over the false-positive one, from 0 to 1. The claim excludes
        what lies below its line. Some attack reaches every line that is shown, at the confidence of
        the lower bound it is named after. A rule whose answers were counted in both worlds is a
        point.

        Returns:
            The axes, of a figure of their own (``axes.figure.savefig("audit.pdf")``).

        Raises:
            MissingExtra: without matplotlib.
        """
        from dpcalc.auditing.tradeoff_picture import tradeoff_axes

        claim = self.claim
        return tradeoff_axes(
            claim,
            {**self.lower_bounds, Quantity.EPSILON: self.epsilon_shown or 0.0},
            self.best,
            title=f"{self.target}: {self.outcome.value}",
            setting=f"{claim.name}, {claim.adjacency}, {claim.release}. {runs_text(self.runs)}, "
            f"α = {spelt(self.alpha, 4)}.",
        )

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "target": self.target,
            "claim": self.claim.record(),
            "outcome": self.outcome.value,
            "reason": self.reason,
            "epsilon_lower": self.epsilon_lower,
            "lower_bounds": {q.value: value for q, value in self.lower_bounds.items()},
            "detectable_epsilon": self.detectable,
            "confidence": 1 - self.alpha,
            "alpha": self.alpha,
            "runs": self.runs,
            "seed": self.seed,
            "repeatable": self.repeatable,
            "detectable_ratio": self.detectable_ratio,
            "evidence": [e.record() for e in self.evidence],
            "findings": [f.record() for f in self.findings],
            "controls": dict(self.controls),
            "versions": dict(self.versions),
        }

    def __repr__(self) -> str:
        return (
            f"Verdict({self.target!r}: {self.outcome.value}, claim={self.claim.name!r}, "
            f"epsilon_lower={self.epsilon_lower!r}, runs={self.runs})"
        )

    def _repr_html_(self) -> str:
        return html_table(_rows(self))

    def __str__(self) -> str:
        claim = self.claim
        lines = [
            f"{self.outcome.value}  {self.target}: {claim.name}, {claim.adjacency}, {claim.release}",
            f"  {self.reason}",
        ]
        for e in self.evidence:
            mark = "" if e.gates else "  (report only)"
            seen = "" if e.detectable is None else f", notices {e.detectable:.4g}"
            lines.append(
                f"  {e.method}: {e.quantity.symbol} ≥ {at_least(e.lower)} at confidence "
                f"{confidence(e.alpha)}, "
                f"δ = {spelt(e.delta)}, {runs_text(e.runs)}{seen}{mark}"
            )
        lines += [f"  {f.check}: {f.severity}: {f.text}" for f in self.findings]
        return "\n".join(lines)


def _rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What a notebook shows."""
    claim = verdict.claim
    return [
        ("target", verdict.target),
        ("claim", f"{claim.name}, {claim.adjacency}, {claim.release}"),
        ("verdict", verdict.outcome.value),
        ("why", verdict.reason),
        ("ε shown", at_least(verdict.epsilon_lower)),
        ("runs", f"{verdict.runs:,}"),
        ("confidence", str(confidence(verdict.alpha))),
    ]


def strength(evidence: Evidence) -> float:
    """What evidence is ordered by: ε, or that of the Gaussian mechanism with this μ or ρ.

    For ordering only. It bounds nothing: a mechanism with this μ or ρ may have a smaller ε.
    """
    return _as_epsilon(evidence.quantity, evidence.lower, evidence.delta)


def detectable_epsilon(evidence: Evidence) -> float | None:
    """`Evidence.detectable` as ε at the evidence's δ, of the reference mechanism, a Gaussian one."""
    if evidence.detectable is None:
        return None
    return _as_epsilon(evidence.quantity, evidence.detectable, evidence.delta)


def _as_epsilon(quantity: Quantity, value: float, delta: float) -> float:
    if quantity is Quantity.EPSILON or value == 0:
        return value
    from dpcalc.accounting.gaussian import gaussian_epsilon

    mu = value if quantity is Quantity.MU else math.sqrt(2 * value)
    return gaussian_epsilon(mu, delta) * (1 - 1e-14)
