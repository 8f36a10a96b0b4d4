"""Do the sizes of the two inputs fit their relation? Which entries are records, only the user knows."""

from __future__ import annotations

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.targets.target import Target
from dpcalc.vocabulary import Adjacency

NAME = "neighbours"


def check(target: Target) -> Finding | None:
    """What to know where one added or removed record does not explain the sizes; None elsewhere."""
    if target.sizes is None or target.adjacency is not Adjacency.ADD_REMOVE:
        return None
    first, second = target.sizes
    if first == second and first > 1:
        text = (
            f"both inputs have {first} entries: if these are records, none was added or removed, and "
            "the relation is replace-one"
        )
    elif first < second:
        text = (
            f"the input with the record has {first} entries, that without it {second}: if these are "
            "records, the two are the wrong way round"
        )
    elif first > second + 1:
        text = (
            f"the inputs have {first} and {second} entries: a claim about one record covers both only "
            "if what differs belongs to one"
        )
    else:
        return None
    return Finding(
        check=NAME, severity=Severity.HOLDS, text=text, numbers={"in": first, "out": second}
    )
