"""The verdict on one claim.

A claim is a pair (ε, δ) for a theorem's algorithm with given parameters. It is compared with two
numbers for the same parameters, release and neighbouring relation: the certified ε, which is proved
to hold, and the attained ε, which a concrete instance reaches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dpcalc.claims.relations import Relation, relation_of
from dpcalc.claims.rule import Standing, standing
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.markup import html_table
from dpcalc.numerals import spelt
from dpcalc.theorems.base import Scope, Theorem
from dpcalc.vocabulary import Verdict
from dpcalc.wording import at_most

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody's claim.

    Attributes:
        name: what to call it.
        theorem: the algorithm with its parameters.
        epsilon: the claimed ε, or None for the paper's own formula.
        delta: in [0, 1).
        states_adjacency: whether the claim says its neighbouring relation, where the theorem leaves
            a choice.
        ours: reasons for values that the source of the claim does not give, by parameter.
    """

    name: str
    theorem: Theorem
    epsilon: float | None
    delta: float
    states_adjacency: bool = True
    ours: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Key of the published result."""
        return self.theorem.key

    @property
    def relation(self) -> Relation:
        """The neighbouring relation, and who says so."""
        return relation_of(self.theorem, stated=self.states_adjacency)

    @property
    def release(self) -> str:
        """What the adversary sees."""
        return self.theorem.release.value

    @property
    def guarantee(self) -> Guarantee:
        """What is certified."""
        return self.theorem.certified().guarantee

    def inputs(self) -> dict[str, Any]:
        """All parameters by name."""
        return self.theorem.inputs()

    def promised(self) -> dict[str, str]:
        """What the file vouches for: key and text of every promise made."""
        return self.theorem.promised()

    def judged(self) -> Judgement:
        """The verdict on it."""
        return judge(self)


class AnyClaim(Protocol):
    """What every claim can be asked: one about a theorem, or about a list of releases."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def key(self) -> str | None:
        """Key of the published result; None if it is about a list of releases."""

    @property
    def delta(self) -> float:
        """In [0, 1)."""

    @property
    def ours(self) -> Mapping[str, str]:
        """Reasons for values that the source of the claim does not give."""

    @property
    def relation(self) -> Relation:
        """The neighbouring relation, and who says so."""

    @property
    def release(self) -> str:
        """What the adversary sees."""

    @property
    def guarantee(self) -> Guarantee:
        """What is certified."""

    def inputs(self) -> dict[str, Any]:
        """What it is about, by name."""

    def promised(self) -> dict[str, str]:
        """What the file vouches for, with texts."""

    def judged(self) -> Judgement:
        """The verdict on it."""


@dataclass(frozen=True, slots=True, repr=False)
class Judgement:
    """A verdict with the numbers and the reason for it.

    Attributes:
        claim: what was judged.
        verdict: the verdict.
        reason: one sentence.
        claimed: ε as claimed; None if the paper claims none here.
        certified: ε that is proved.
        attained: ε that an instance reaches, None if none is known.
    """

    claim: AnyClaim
    verdict: Verdict
    reason: str
    claimed: float | None
    certified: float
    attained: float | None

    @property
    def factor(self) -> float | None:
        """The claimed ε over the certified one, where both are finite."""
        if self.claimed is None or not 0 < self.certified < math.inf:
            return None
        return self.claimed / self.certified

    def _rows(self) -> list[tuple[str, str]]:
        claimed = "none" if self.claimed is None else at_most(self.claimed)
        return [
            ("claim", self.claim.name),
            ("δ", spelt(self.claim.delta)),
            ("claimed ε", claimed),
            ("certified ε", at_most(self.certified)),
            ("verdict", self.verdict.value),
            ("why", self.reason),
            ("neighbours", self.claim.relation.name or "as the numbers given"),
            ("release", self.claim.release),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12} {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        return (
            f"Judgement({self.claim.name!r}: {self.verdict.value}, claimed={self.claimed!r}, "
            f"certified={self.certified!r}, attained={self.attained!r})"
        )

    def _repr_html_(self) -> str:
        return html_table(self._rows())

    def plot(self) -> Axes:
        """Certified ε over δ, and the claim as a point.

        Returns:
            The axes, of a figure of their own.

        Raises:
            InvalidInput: if nothing finite and above 0 can be drawn.
            MissingExtra: without matplotlib.
        """
        from dpcalc.pictures.answers import epsilon_axes

        claim, claimed = self.claim, self.claimed
        drawn = claimed is not None and 0 < claimed < math.inf and claim.delta > 0
        return epsilon_axes(
            {"certified": claim.guarantee.epsilon},
            title=f"{claim.name}: {self.verdict.value}",
            setting=f"{self.reason}. Release: {claim.release}. {claim.relation.sentence()}.",
            points={"the claim": (claim.delta, float(claimed or 0))} if drawn else {},
        )

    def record(self) -> dict[str, Any]:
        """For JSON."""
        delta = self.claim.delta
        return {
            "name": self.claim.name,
            "theorem": self.claim.key,
            "release": self.claim.release,
            **self.claim.relation.record(),
            "inputs": self.claim.inputs(),
            "claimed": {"epsilon": self.claimed, "delta": delta},
            "certified": {"epsilon": self.certified, "delta": delta},
            "attained": {"epsilon": self.attained, "delta": delta},
            "verdict": self.verdict.value,
            "factor": self.factor,
            "reason": self.reason,
            "attested": self.claim.promised(),
            "ours": dict(self.claim.ours),
        }


def judge(claim: Claim) -> Judgement:
    """Compare a claim with what is certified and what is attained.

    Raises:
        AssumptionViolated: if the claim is the paper's formula and its own conditions fail.
    """
    theorem, delta = claim.theorem, claim.delta
    claimed = claim.epsilon
    if claimed is None:
        claimed = theorem.claimed().guarantee.epsilon(delta)
    violations = theorem.violations(Scope.CERTIFIED)
    certified = math.inf if violations else theorem.certified().guarantee.epsilon(delta)
    instance = None if violations else theorem.attained()
    attained = None if instance is None else surely_attained(instance.guarantee, delta)
    verdict, reason = _decide(theorem, claimed, certified, attained, violations)
    return Judgement(claim, verdict, reason, claimed, certified, attained)


def surely_attained(guarantee: Guarantee, delta: float) -> float:
    """A lower bound of an instance's ε(δ).

    The lower end of its enclosure; a Gaussian curve's ε is the next double above the exact value, so
    two doubles below that is under it; anything else gets an allowance of 1e-14.
    """
    if isinstance(guarantee, GDP):
        epsilon = guarantee.epsilon(delta)
        return epsilon if math.isinf(epsilon) else math.nextafter(math.nextafter(epsilon, 0.0), 0.0)
    bracket = getattr(guarantee, "bracket", None)
    if bracket is not None and delta > 0:
        return float(bracket(delta).lower)
    return guarantee.epsilon(delta) * (1 - 1e-14)


def standing_of(theorem: Theorem, claimed: float, certified: float, delta: float) -> Standing:
    """What became of a claimed ε at δ, if every promise it rests on is kept.

    Args:
        theorem: the instance; its checked assumptions hold.
        claimed: the claimed ε.
        certified: the certified ε.
        delta: in [0, 1).
    """

    def attained() -> float | None:
        instance = theorem.attained()
        return None if instance is None else surely_attained(instance.guarantee, delta)

    return standing(theorem, claimed, certified, attained)


def _decide(
    theorem: Theorem,
    claimed: float,
    certified: float,
    attained: float | None,
    violations: list[str],
) -> tuple[Verdict, str]:
    if violations:
        return Verdict.UNSUPPORTED, f"assumption violated: {'; '.join(violations)}"
    found = standing(theorem, claimed, certified, lambda: attained)
    missing = theorem.unattested(Scope.CERTIFIED)
    if missing and found.verdict is not Verdict.REFUTED:
        keys = ", ".join(a.key for a in missing)
        return Verdict.UNSUPPORTED, f"not attested: {keys}"
    return found.verdict, found.reason
