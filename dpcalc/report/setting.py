"""What an answer is about: release, neighbouring relation, unit; the same in all verbs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dpcalc
from dpcalc.claims.relations import Relation
from dpcalc.numerals import spelt, unpadded
from dpcalc.report.text import upper
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.theorems.base import Result, Theorem

_GUESSES = {
    Adjacency.ADD_REMOVE: "whether a given record was used",
    Adjacency.REPLACE_ONE: "which of two given records was used",
    Adjacency.NEIGHBOURING_FUNCTIONS: "which of two neighbouring functions a user has",
}
"""What an attacker wants to know."""


def setting(theorem: Theorem, relation: Relation) -> dict[str, Any]:
    """For JSON: what is released, under which relation, and what neighbours differ in."""
    return {"release": theorem.release.value, **relation.record()}


def setting_lines(record: Mapping[str, Any], relation: Relation) -> list[str]:
    """For people: release and relation of a record with `setting`."""
    return [f"release: {record['release']}", relation.sentence()]


def setting_note(theorem: Theorem, *, varied: str = "", delta: float | None = None) -> str:
    """For the foot of a picture: parameters, release, neighbours, source and version.

    Args:
        theorem: what is drawn.
        varied: the parameter that the picture varies; "epsilon" if the noise answers.
        delta: the δ at which it is drawn; None if δ is varied.
    """
    skipped = {varied, "release", theorem.noise if varied == "epsilon" else varied}
    shown = _inputs(theorem, skipped)
    if delta is not None:
        shown.append(f"δ = {spelt(delta)}")
    adjacency = str(getattr(theorem, "adjacency", ""))
    if adjacency and "adjacency" not in theorem.inputs():
        shown.append(f"neighbours: {adjacency}")
    shown.append(f"release: {theorem.release.value}")
    return _note(theorem, shown)


def inputs_note(result: Result, *, skipped: Collection[str]) -> str:
    """The same for a result without privacy content: parameters, source and version.

    Args:
        result: what is drawn.
        skipped: parameters that the picture varies.
    """
    return _note(result, _inputs(result, skipped))


def _inputs(result: Result, skipped: Collection[str]) -> list[str]:
    return [
        f"{name.replace('_', ' ')} = {_short(value)}"
        for name, value in result.inputs().items()
        if name not in skipped and value not in (None, False)
    ]


def _note(result: Result, shown: Sequence[str]) -> str:
    return f"{result.key}: {', '.join(shown)}. {result.reference}. dpcalc {dpcalc.__version__}."


def _short(value: object) -> str:
    return unpadded(f"{value:g}" if isinstance(value, float) else str(value))


def risk_line(accuracy: float, adjacency: str | None) -> str:
    """The best accuracy of an attack in a sentence; nothing if it is no limit.

    Args:
        accuracy: as `dpcalc.report.records.attack_accuracy` found it.
        adjacency: the neighbouring relation; None or "" if none was said.
    """
    if accuracy >= 0.99995:
        return ""
    guess = _GUESSES[Adjacency(adjacency)] if adjacency else "which of two neighbours was used"
    return (
        f"From even odds, an attacker who guesses {guess} is right at most "
        f"{upper(100 * accuracy, 4)} % of the time."
    )
