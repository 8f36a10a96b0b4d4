"""How many entries the two inputs have, where that can be told."""

from __future__ import annotations

from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.vocabulary import Adjacency


def sizes_of(first: Any, second: Any, adjacency: str, name: str) -> tuple[int, int] | None:
    """The numbers of entries of both inputs; None where one cannot be told.

    Args:
        first: the input with the record.
        second: the one without it.
        adjacency: their relation.
        name: of the mechanism.

    Raises:
        InvalidInput: for different numbers of entries under replace-one.
    """
    one, other = size_of(first), size_of(second)
    if one is None or other is None:
        return None
    if adjacency == Adjacency.REPLACE_ONE and one != other:
        raise InvalidInput(
            f"expected inputs of one size for replace-one from target {name!r}; got {one} and {other} "
            "entries; a record that is left out is add-remove"
        )
    return one, other


def size_of(given: Any) -> int | None:
    """How many entries an input has along its first axis; None where that cannot be told."""
    shape = getattr(given, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    if not isinstance(given, list | tuple):
        return None
    if given and all(isinstance(part, int | float) for part in given):
        return len(given)
    sizes = {size_of(part) for part in given}
    return sizes.pop() if len(sizes) == 1 else None
