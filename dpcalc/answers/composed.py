"""Several releases as one guarantee."""

from __future__ import annotations

from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.composition import compose as compose_counted


def compose(*parts: Guarantee | tuple[Guarantee, int]) -> Guarantee:
    """The guarantee of releases that may each depend on those before.

    Example::

        import dpcalc
        print(dpcalc.compose((dpcalc.PureDP(0.1), 100), dpcalc.GDP(0.5)).epsilon(1e-6))

    Args:
        parts: guarantees, or pairs of one and how often it is used; all about the same neighbours.

    Raises:
        InvalidInput: for anything else, and for guarantees that cannot be composed.
    """
    return compose_counted([_counted(part) for part in parts])


def _counted(part: object) -> tuple[Guarantee, int]:
    if isinstance(part, Guarantee):
        return part, 1
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], Guarantee):
        return part[0], part[1]
    raise InvalidInput(
        f"guarantees, or pairs (guarantee, count), were needed; got {part!r}; "
        "try compose((PureDP(0.1), 100), GDP(0.5))"
    )
