"""What every published result has: parameters, promises, findings and a formula in symbols."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc.errors import AssumptionViolated, InvalidInput, Unattested, unknown_name
from dpcalc.numerics.arithmetic import OwnArithmetic
from dpcalc.theorems.construction import as_written, missing_names
from dpcalc.theorems.parameters import converted, parameters
from dpcalc.theorems.statements import Assumption, Finding, Formula, Scope
from dpcalc.vocabulary import Bearing


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Result(OwnArithmetic, ABC):
    """A published result about an algorithm; a frozen dataclass of its parameters.

    Attributes:
        attest: keys of the promises that the caller vouches for, or "all".

    Class attributes:
        key: its name on the command line, the name of its file with dashes.
        title: what it is about.
        reference: paper and number.
        statement: the printed statement in the paper's symbols, one line mapping each to a name.
        findings: what a careful reading found.
        assumptions: what must hold.
        example: parameters of a typical instance.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    statement: ClassVar[str]
    findings: ClassVar[tuple[Finding, ...]]
    assumptions: ClassVar[tuple[Assumption, ...]]
    example: ClassVar[Mapping[str, Any]]

    attest: Iterable[str] = ()

    def __repr__(self) -> str:
        """The parameters that have a value, as one would write them, then what is attested."""
        given = {name: getattr(self, name) for name in (*parameters(type(self)), "attest")}
        shown = (
            f"{k}={as_written(v)}" for k, v in given.items() if v is not None and v != frozenset()
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __post_init__(self) -> None:
        """Check every parameter and every attestation by name."""
        converted(self)
        promises = {a.key for a in self.assumptions if a.promised}
        given = _attestations(self.attest, promises)
        for name in given:
            if name not in promises:
                raise unknown_name(f"attestation for {self.key}", name, {*promises, "all"})
        object.__setattr__(self, "attest", frozenset(given))
        self._check_together()

    def _check_together(self) -> None:  # most results have nothing to add
        """Refuse combinations of parameters that make no sense."""

    @classmethod
    def from_parameters(
        cls, given: Mapping[str, Any], attest: Iterable[str] = (), *, as_options: bool = False
    ) -> Self:
        """An instance from names as the command line or a claims file spells them.

        Args:
            given: values by name, with dashes or underscores.
            attest: keys of promises, or "all".
            as_options: whether errors name parameters as options of the command line.

        Raises:
            InvalidInput: for unknown names (with the nearest known one), for missing ones, and for
                one that is spelt in two ways.
        """
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"the parameters of {cls.key} need to be a table of name = value; got {given!r}; "
                f"see: dpcalc theorems {cls.key}"
            )
        known = parameters(cls)
        named = {str(name).replace("-", "_"): value for name, value in given.items()}
        if len(named) < len(given):
            spellings = {n: [s for s in given if str(s).replace("-", "_") == n] for n in named}
            twice = next(n for n, found in spellings.items() if len(found) > 1)
            got = " and ".join(map(str, spellings[twice]))
            raise InvalidInput(f"{twice} is needed once; got {got}; leave out one")
        for name in named:
            if name not in known:
                raise unknown_name(f"parameter of {cls.key}", name, known)
        if missing := missing_names(cls, named):
            spelt = ["--" + n.replace("_", "-") if as_options else n for n in missing]
            raise InvalidInput(
                f"{cls.key} also needs {', '.join(spelt)}; see: dpcalc theorems {cls.key}"
            )
        return cls(**named, attest=attest)

    def inputs(self) -> dict[str, Any]:
        """The parameters by name, schedules as text."""
        from dpcalc.theorems.schedule import Schedule

        found = {name: getattr(self, name) for name in parameters(type(self))}
        return {k: str(v) if isinstance(v, Schedule) else v for k, v in found.items()}

    def replace(self, **changes: Any) -> Self:
        """The same instance with other values for some parameters, or other promises.

        Raises:
            InvalidInput: for an unknown name, with the nearest known one.
        """
        known = parameters(type(self))
        for name in changes:
            if name not in known and name != "attest":
                raise unknown_name(f"parameter of {self.key}", name, known)
        return dataclasses.replace(self, **changes)

    def violations(self, scope: Scope) -> list[str]:
        """Reasons why checked assumptions fail that a bound needs."""
        return [
            reason
            for a in self.assumptions
            if a.violated is not None and a.scope in (scope, Scope.BOTH)
            if (reason := a.violated(self)) is not None
        ]

    def violations_of_claim(self) -> list[str]:
        """Reasons why the paper's own formula does not apply."""
        return self.violations(Scope.CLAIMED)

    def require(self, scope: Scope) -> None:
        """Raise `AssumptionViolated` if a checked assumption of a bound fails."""
        if reasons := self.violations(scope):
            raise AssumptionViolated(f"{self.key}, {scope} bound: {'; '.join(reasons)}")

    def unattested(self, scope: Scope) -> list[Assumption]:
        """Promises a bound needs that the caller has not made."""
        attested = frozenset(self.attest)
        return [
            a
            for a in self.assumptions
            if a.promised and a.scope in (scope, Scope.BOTH) and a.key not in attested
        ]

    def promised(self) -> dict[str, str]:
        """What the caller has vouched for: key and text of every promise made."""
        attested = frozenset(self.attest)
        return {a.key: a.text for a in self.assumptions if a.key in attested}

    def require_attested(self, scope: Scope) -> None:
        """Raise `Unattested` unless every promise that a bound needs has been made."""
        if missing := self.unattested(scope):
            keys = ", ".join(a.key for a in missing)
            raise Unattested(
                f"{self.key} needs the caller's word for: "
                f"{' '.join(a.text for a in missing)} Attest {keys} if that is so."
            )

    def applicable_findings(self) -> list[Finding]:
        """The findings that concern this instance."""
        return [f for f in self.findings if f.applies(self)]

    def failing_proof(self) -> str | None:
        """The first finding by which the printed proof fails for this instance."""
        found = self.applicable_findings()
        return next((f.text for f in found if f.bearing is Bearing.PROOF_FAILS), None)

    def counterexample(self) -> str:
        """What is said where `attained` exceeds a claim, and what its instance needs."""
        return "a concrete instance exceeds the claim."

    @abstractmethod
    def symbolic(self) -> tuple[Formula, ...]:
        """The printed formulas, so that a test can evaluate them with fifty digits."""


def _attestations(given: object, promises: Iterable[str]) -> tuple[str, ...]:
    """Keys one by one, separated by commas, or all of them under the name "all"."""
    listed = (given,) if isinstance(given, str) else given
    if not isinstance(listed, Iterable):
        raise InvalidInput(f'attest needs a list of keys or "all"; got {given!r}; try "all"')
    keys = [part.strip() for name in listed for part in str(name).split(",")]
    return tuple(promises) if "all" in keys else tuple(key for key in keys if key)
