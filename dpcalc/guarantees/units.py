"""What a noise multiplier is measured in, and how far neighbours are apart in that unit.

Statement
    A sum of records is released with noise. C is the largest norm of what one record contributes
    (the clipping norm), Δ the sensitivity: how far apart the sums of two neighbours may be. Adding or
    removing a record moves the sum by Δ = C; replacing one, by Δ = 2C, as far as from v to -v.
    A *multiplier* is the noise over C, one number for either relation, as in DP-SGD; the noise
    *over sensitivity* is the noise over Δ.
"""

from __future__ import annotations

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import Real, mpf
from dpcalc.vocabulary import Adjacency

_MOVED = {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE_ONE: 2}
MOVING = tuple(relation.value for relation in _MOVED)
"""The relations under which a record's norm says how far neighbours are apart."""


def moved(adjacency: object) -> int:
    """Δ/C: how far a sum moves between neighbours, in units of one record's largest norm.

    Raises:
        InvalidInput: for a missing relation, with both readings, and for one that has no records.
    """
    if adjacency is None or (isinstance(adjacency, str) and not adjacency):
        raise InvalidInput(
            "adjacency is needed next to a multiplier of one record's norm: add-remove moves a sum by "
            "that norm, replace-one by twice as much; got none; try adjacency='add-remove'"
        )
    if not isinstance(adjacency, str) or adjacency not in MOVING:
        raise InvalidInput(
            f"adjacency needs add-remove or replace-one; got adjacency={str(adjacency)!r}; under any "
            "other relation give the noise over the sensitivity"
        )
    return _MOVED[Adjacency(adjacency)]


def sensitivity_over_noise(
    kind: str,
    multiplier: float | None,
    adjacency: Adjacency | str | None,
    over_sensitivity: float | None,
) -> Real:
    """Δ over the noise, from exactly one of two ways to state the noise.

    Args:
        kind: "noise" or "scale": what the two fields begin with.
        multiplier: noise over C, needs an adjacency.
        adjacency: add-remove or replace-one.
        over_sensitivity: noise over Δ, which says the same under every relation.
    """
    name, other = f"{kind}_multiplier", f"{kind}_over_sensitivity"
    if (multiplier is None) == (over_sensitivity is None):
        raise InvalidInput(
            f"exactly one of {name} (over one record's largest norm) and {other} (over the distance "
            f"of neighbours) is needed; got {'neither' if multiplier is None else 'both'}"
        )
    if over_sensitivity is not None:
        return 1 / mpf(checks.positive(other, over_sensitivity))
    return moved(adjacency) / mpf(checks.positive(name, multiplier or 0.0))
