"""Words that a guarantee needs and that must never be mixed up, each defined once."""

from __future__ import annotations

from enum import StrEnum


class Adjacency(StrEnum):
    """When two inputs are neighbours. A sensitivity without one of these is meaningless."""

    ADD_REMOVE = "add-remove"
    """One record is present in one data set and absent from the other."""
    REPLACE_ONE = "replace-one"
    """One record is exchanged for another; the papers' "differ in one entry"."""
    NEIGHBOURING_FUNCTIONS = "neighbouring-functions"
    """Two users' functions whose gradients differ by at most the sensitivity everywhere."""


class Release(StrEnum):
    """What the adversary sees. A bound for one release says nothing about a larger one."""

    EVERY_ITERATE = "every iterate"
    EVERY_MESSAGE = "every message"
    LAST_ITERATE = "last iterate"
    NOTHING = "nothing"
    """Not a privacy result."""


class Status(StrEnum):
    """What became of a published result on a careful reading."""

    SOUND = "sound"
    """The claim is proved and no smaller bound is known."""
    LOOSE = "loose"
    """The claim holds and a smaller bound is certified."""
    REFUTED = "refuted"
    """The claim is false: an instance within its assumptions exceeds it."""
    UNSETTLED = "unsettled"
    """Neither proved nor refuted."""
