"""A case: a mechanism on two neighbours, a claim about it, and what an attack must find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dpcalc.auditing.claim import Claim
from dpcalc.auditing.targets.target import Target
from dpcalc.auditing.verdict import Outcome
from dpcalc.errors import unknown_name
from dpcalc.extras import need


class ClaimSource(StrEnum):
    """Whose claim is under attack."""

    PAPER = "paper"
    """As published, flaws included."""
    CERTIFIED = "certified"
    """The correct algorithm with the certified bound; an attack on it must fail."""
    OWN = "own"
    """Of who asks: a mechanism or runs of their own."""
    BUG = "planted bug"
    """A mistake of the kind that is found in practice; some check must catch it."""


DETECTED = (Outcome.REFUTED, Outcome.PRECONDITION_FAILED)
"""Outcomes that raise the alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What is attacked and held against what.

    Attributes:
        target: the mechanism on the worst neighbours found.
        claim: what is claimed of it.
        certified: ε at the claim's δ that is proved for the very target, infinite if none can be,
            None if nothing is known; a lower bound above it would be a mistake in a proof or in an
            estimator.
        note: how the instance was made, for reports.
    """

    target: Target
    claim: Claim
    certified: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One claim of one mechanism.

    Attributes:
        key: name within the audit, with dashes.
        title: one line.
        role: whose claim.
        instance_of_theorem: makes target and claim; called when the case is carried out.
        expected: outcomes that are right.
        runs: counted runs.
        tilted: runs for importance sampling.
        alpha: error probability that this case may spend at most.
        methods: estimators; chosen by what is known if left out.
        batch: runs made at once; left to the design if not given.
        only_on_request: whether it is left out unless asked for by name or with all.
        theorem: key of the theorem whose claim it is; the audit's first if left out.
    """

    key: str
    title: str
    role: ClaimSource
    instance: Callable[[], Instance]
    expected: tuple[Outcome, ...]
    runs: int = 2000
    tilted: int = 1000
    alpha: float = 1.0
    methods: tuple[str, ...] | None = None
    batch: int | None = None
    only_on_request: bool = False
    theorem: str = ""


def case(
    key: str,
    title: str,
    role: ClaimSource,
    instance: Callable[[], Instance],
    expected: tuple[Outcome, ...],
    **more: Any,
) -> Case:
    """A `Case` in one line."""
    return Case(key=key, title=title, role=role, instance=instance, expected=expected, **more)


def planted(key: str, title: str, instance: Callable[[], Instance], **more: Any) -> Case:
    """The case of a planted bug, which must be detected."""
    return case(key, title, ClaimSource.BUG, instance, DETECTED, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingTable:
    """A table of exact or measured numbers that is evidence of another kind.

    Attributes:
        key: name within the audit.
        title: one line.
        columns: headings; the first is the horizontal axis of a picture.
        rows: (seed) -> the table's rows.
        note: what to see in it.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Callable[[int], Sequence[Sequence[float]]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All attacks on one algorithm.

    Attributes:
        key: short name on the command line.
        title: what is attacked.
        reference: paper and number.
        theorem: key of the theorem whose claims are attacked.
        other_theorems: keys of further ones.
        cases: at least one certified case and one planted bug.
        exhibits: further evidence.
        instance_of_theorem: (theorem, claim) -> the worst mechanism known with the theorem's
            parameters, held against the claim; None where it cannot be built. For claims files.
        libraries: modules beyond the base installation without which no case can run.
    """

    key: str
    title: str
    reference: str
    theorem: str
    cases: tuple[Case, ...]
    other_theorems: tuple[str, ...] = ()
    exhibits: tuple[SupportingTable, ...] = ()
    instance_of_theorem: Callable[[Any, Claim], Instance | None] | None = None
    libraries: tuple[str, ...] = ()

    def need_libraries(self) -> None:
        """Return if the libraries are installed.

        Raises:
            MissingExtra: with a command that installs what is missing.
        """
        need(*self.libraries, purpose=f"the audit {self.key}")

    def case(self, key: str) -> Case:
        """The case of that name.

        Raises:
            InvalidInput: naming the nearest known one.
        """
        known: Mapping[str, Case] = {case.key: case for case in self.cases}
        if key not in known:
            raise unknown_name(f"case of {self.key}", key, known)
        return known[key]

    def default_cases(self) -> tuple[Case, ...]:
        """The published claims and their correct twins; planted bugs are for those who ask."""
        return tuple(
            c for c in self.cases if c.role is not ClaimSource.BUG and not c.only_on_request
        )

    @property
    def theorems(self) -> tuple[str, ...]:
        """Keys of all theorems whose claims are attacked."""
        return (self.theorem, *self.other_theorems)

    @property
    def certified_case(self) -> Case:
        """The case used to test a claim given by the user."""
        return next(c for c in self.cases if c.role is ClaimSource.CERTIFIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTable:
    """An exhibit carried out."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "note": self.note,
        }
