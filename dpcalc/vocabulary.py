"""Words that a guarantee needs and that must never be mixed up, each defined once."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

__all__ = [
    "Adjacency",
    "AdjacencyName",
    "Bearing",
    "Release",
    "ReleaseName",
    "Status",
    "Verdict",
]


class _Word(StrEnum):
    """A word that is shown as one writes it."""

    def __repr__(self) -> str:
        return repr(self.value)


class Adjacency(_Word):
    """When two inputs are neighbours. A sensitivity without one of these is meaningless."""

    ADD_REMOVE = "add-remove"
    """One record is present in one data set and absent from the other."""
    REPLACE_ONE = "replace-one"
    """One record is exchanged for another; the papers' "differ in one entry"."""
    NEIGHBOURING_FUNCTIONS = "neighbouring-functions"
    """Two users' functions whose gradients differ by at most the sensitivity everywhere."""

    @property
    def difference(self) -> str:
        """What two neighbours differ in, in words."""
        return {
            Adjacency.ADD_REMOVE: "one record more or less",
            Adjacency.REPLACE_ONE: "one record exchanged for another",
            Adjacency.NEIGHBOURING_FUNCTIONS: "one user's function exchanged for a neighbouring one",
        }[self]

    @property
    def unit(self) -> str:
        """What is protected: a record, or a user's whole function."""
        return "user" if self is Adjacency.NEIGHBOURING_FUNCTIONS else "record"


AdjacencyName = Literal["add-remove", "replace-one", "neighbouring-functions"]
"""An `Adjacency` as it is written, for type checkers and completion."""


class Release(_Word):
    """What the adversary sees. A bound for one release says nothing about a larger one."""

    EVERY_ITERATE = "every iterate"
    EVERY_MESSAGE = "every message"
    LAST_ITERATE = "last iterate"
    AVERAGE = "average of iterates"
    """The mean of all iterates: more than the last one shows, up to what all of them show."""
    NOTHING = "nothing"
    """Not a privacy result."""


ReleaseName = Literal[
    "every iterate", "every message", "last iterate", "average of iterates", "nothing"
]
"""A `Release` as it is written."""


class Status(_Word):
    """What became of a printed statement in general; an instance has a verdict, from its numbers."""

    SOUND = "sound"
    """The claim is proved wherever it is made, and no smaller bound is known."""
    LOOSE = "loose"
    """The claim is proved wherever it is made, and a smaller bound is certified."""
    FALSE_SOMEWHERE = "false for some settings"
    """Instances within the statement's own assumptions exceed the claim, others may not."""


class Bearing(_Word):
    """What a finding bears on: the printed statement or its proof, never the number of an instance."""

    PROOF_FAILS = "the printed proof fails here"
    """A step of it is wrong; the number it gives may be right all the same."""
    INCOMPLETE = "the source is incomplete here"
    """A constant, a formula or the proof itself is missing from it."""
    LOOSE = "the printed bound is loose"
    """A smaller one is certified, or needs less."""
    REMARK = "remark"
    """The number of the claim does not depend on it."""


class Verdict(_Word):
    """What became of one claim about one instance; `dpcalc.claims.rule` says when."""

    HOLDS = "HOLDS"
    LOOSE = "LOOSE"
    REFUTED = "REFUTED"
    UNSUPPORTED = "UNSUPPORTED"
