"""What is given for composition: guarantees, how often each is used, and under which relation."""

from __future__ import annotations

from collections.abc import Iterable

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.vocabulary import Adjacency


def counted_part(part: object) -> tuple[Guarantee, int]:
    """A guarantee with the number of its uses: once, where none is said."""
    if isinstance(part, Guarantee):
        return part, 1
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], Guarantee):
        return part[0], checks.count("count", part[1], minimum=0)
    raise InvalidInput(
        f"expected guarantees, or pairs (guarantee, count); got {part!r}; "
        "try compose((PureDP(0.1), 100), GDP(0.5))"
    )


def shared_relation(parts: Iterable[tuple[Guarantee, int]]) -> Adjacency | None:
    """The relation of all that say one."""
    said = list(dict.fromkeys(part.adjacency for part, n in parts if n and part.adjacency))
    if len(said) > 1:
        raise InvalidInput(
            "expected releases under one neighbouring relation; got some under "
            f"{' and some under '.join(said)}; state all of them under one, or compose apart those "
            "of each"
        )
    return said[0] if said else None
