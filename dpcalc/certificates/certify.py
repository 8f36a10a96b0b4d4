"""Certificates of ε(δ): both ends with their evidence, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dpcalc
from dpcalc.certificates.checker import FORMAT, digest
from dpcalc.certificates.evidence import evidence
from dpcalc.certificates.formulas import with_closed_form
from dpcalc.certificates.grammar import exact
from dpcalc.certificates.mechanisms import dominating
from dpcalc.certificates.statement import NotCovered, releases_of, written
from dpcalc.certificates.verdicts import Contradicted, NotCertified
from dpcalc.certificates.ways import Ways, by_chi_square, by_pairs, with_known
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.sampled_replacement import SampledRounds
from dpcalc.numerals import unpadded

if TYPE_CHECKING:
    from dpcalc.theorems.statements import Formula

Parts = list[tuple[Guarantee, int]]


@dataclass(frozen=True, slots=True)
class Certified:
    """What came of the two ends of an enclosure of ε.

    Attributes:
        certificate: to be written to a file; None if nothing is certified.
        upper, lower: "certified", or a sentence that says why not.
    """

    certificate: dict[str, Any] | None
    upper: str
    lower: str

    @property
    def of_pairs(self) -> bool:
        """Whether the lower end is one of pairs that dominate mechanisms which lose less."""
        known = self.certificate
        return known is not None and dominating(known["releases"], known["adjacency"])

    def made_for(self, file: str, number: int, name: str) -> Certified:
        """The same with the name of a claim in its certificate: which file, its number there from 1."""
        if self.certificate is None:
            return self
        rest = {field: value for field, value in self.certificate.items() if field != "digest"}
        rest["claim"] = {"file": file, "number": number, "name": name}
        return replace(self, certificate={**rest, "digest": digest(rest)})


CERTIFIED = "certified"
WRONG = "certainly wrong"
_NOT_OF_PAIRS = (
    "not certified: the upper end follows from the rounds' χ²-divergence, and no lower end does"
)


def certify(
    parts: Iterable[tuple[Guarantee, int]],
    adjacency: str,
    delta: float,
    upper: float,
    lower: float | None = None,
    formulas: Iterable[Formula] = (),
) -> Certified:
    """A certificate that δ(upper) <= δ, and δ(ε) > δ for every ε below lower, for composed releases.

    Args:
        parts: guarantees with the number of rounds each describes.
        adjacency: add-remove or replace-one; "" where no release depends on it.
        delta: δ in [0, 1).
        upper: the ε that is reported.
        lower: the lower end next to it, 0 or None if there is none.
        formulas: of the theorem behind them, if there is one; its closed form takes the place of the
            number that was rounded from it.
    """
    known, parts = tuple(formulas), list(parts)
    larger = _by_pairs(parts, delta, upper)
    if larger is not None:
        found_at = _certified(parts, adjacency, delta, upper, None, known, by_chi_square)
        return replace(found_at, lower=_NOT_OF_PAIRS)
    found = [
        _certified(alternative, adjacency, delta, upper, lower, known)
        for alternative in _alternatives(parts, delta, upper)
    ]
    return next((each for each in found if each.upper == CERTIFIED), found[0])


def _by_pairs(parts: Parts, delta: float, upper: float) -> float | None:
    """The ε of the rounds' dominating pairs, where a smaller one is reported."""
    together = compose(*parts)
    if not isinstance(together, SampledRounds):
        return None
    larger = together.pairs().epsilon(delta)
    return larger if larger > upper else None


def _alternatives(parts: Parts, delta: float, upper: float) -> list[Parts]:
    """Bounds of one release that all hold: those which give the ε that is reported."""
    if len(parts) != 1 or parts[0][1] != 1 or not isinstance(parts[0][0], BestOf):
        return [parts]
    bounds = [b for b in parts[0][0].bounds if b.epsilon(delta) <= upper * (1 + _SAME)]
    found = (_alternatives([(bound, 1)], delta, upper) for bound in bounds)
    return [each for some in found for each in some] or [parts]


_SAME = 1e-9
"""Relative distance of two bounds that are taken for one."""


def _certified(
    parts: Parts,
    adjacency: str,
    delta: float,
    upper: float,
    lower: float | None,
    formulas: tuple[Formula, ...],
    ways: Ways = by_pairs,
) -> Certified:
    try:
        releases = with_closed_form(releases_of(parts, adjacency), formulas)
    except NotCovered as reason:
        return Certified(None, f"not certified: {reason}", f"not certified: {reason}")
    statement = {"adjacency": adjacency, "releases": releases, "delta": written(delta)}
    ends, found = {}, {}
    for end, value in (("upper", upper), ("lower", lower)):
        ends[end], found[end] = _end(statement, end, value, ways)
    certificate = {
        "format": FORMAT,
        "made_by": f"dpcalc {dpcalc.__version__}",
        **statement,
        **ends,
    }
    certificate["digest"] = digest(certificate)
    some = any(end is not None for end in ends.values())
    return Certified(certificate if some else None, found["upper"], found["lower"])


def _end(
    statement: dict[str, Any], end: str, value: float | None, ways: Ways
) -> tuple[dict[str, Any] | None, str]:
    if value is None or not math.isfinite(value) or (end == "lower" and value <= 0):
        return None, "not certified: there is no such end"
    if not statement["releases"]:
        return None, "not certified: nothing is released"
    printed = unpadded(repr(float(value)))
    found, verdict, instead, known = _at(statement, end, printed, ways)
    beyond = exact(printed) < value if end == "upper" else exact(printed) > value
    if (
        found is None and beyond and not instead
    ):  # the shortest decimal is not quite the double that was found
        found, verdict, instead, known = _at(statement, end, float(value).hex(), ways)
    if found is None and instead:
        found, larger, *_ = _at(statement, end, instead, with_known(known, ways))
        verdict = f"{verdict}; ε = {instead} is certified" if larger == CERTIFIED else verdict
    return found, verdict


def _at(
    statement: dict[str, Any], end: str, epsilon: str, ways: Ways
) -> tuple[dict[str, Any] | None, str, str, dict[str, dict[str, Any]]]:
    """An end of a certificate or None, its status, ε to try instead, and what shows that one."""
    directions = ("remove", "add") if statement["adjacency"] == "add-remove" else ("both",)
    found: dict[str, Any] = {}
    unproved: dict[str, NotCertified] = {}
    wrong: list[Contradicted] = []
    for direction in directions:
        try:
            found[direction] = evidence(statement, end, epsilon, direction, ways)
        except NotCertified as reason:
            unproved[direction] = reason
        except Contradicted as reason:
            wrong.append(reason)
        if end == "lower" and found:
            break
    needed = 1 if end == "lower" else len(directions)
    if len(found) == needed:
        return {"epsilon": epsilon, "evidence": found}, CERTIFIED, "", {}
    if len(wrong) > len(directions) - needed:
        return None, f"{WRONG}: {wrong[0]}", "", {}
    reasons = list(unproved.values())
    instead = max((reason.instead for reason in reasons if reason.instead), key=exact, default="")
    known = {direction: reason.how for direction, reason in unproved.items()}
    return None, f"not certified: {reasons[0]}", instead, known
