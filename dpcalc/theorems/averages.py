"""The mean of all iterates as a release of its own, for results about the last iterate.

A bound on the last iterate says nothing about a mean: for strongly convex losses the mean may reveal
as much as all iterates together. What holds for every function of all iterates is the composition of
all uses of the record.
"""

from __future__ import annotations

from typing import Any

from dpcalc.theorems.authoring import assume, release
from dpcalc.vocabulary import Release

COMPOSED = "composition over all uses, which bounds every function of all iterates"


def last_or_average() -> Any:
    """The parameter of results that have both releases."""
    text = "what is seen: the last iterate, or the mean of all iterates"
    return release(text, Release.LAST_ITERATE, Release.AVERAGE)


def averaged(theorem: Any) -> bool:
    """Whether the mean of all iterates is released, not the last one."""
    return bool(theorem.release == Release.AVERAGE)


def _another_release(theorem: Any) -> str | None:
    if averaged(theorem):
        return (
            "the paper bounds the last iterate, and an average of iterates may reveal as much as all "
            f"of them; got release={theorem.release}; try --release last-iterate, or read the "
            "certified bound, which composes all uses"
        )
    return None


LAST_ONLY = assume(
    "last-iterate",
    "The last iterate is released, not an average of iterates.",
    "claimed",
    _another_release,
)
