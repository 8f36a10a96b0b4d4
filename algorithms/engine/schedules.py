"""Parameters that may differ between rounds and nodes, as one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]


def schedule(
    name: str,
    value: ArrayLike,
    *,
    rounds: int,
    nodes: int = 1,
    infinite: bool = False,
    zero: bool = False,
) -> Array:
    """``value`` for every round and node; shape (rounds, nodes).

    Args:
        name: the parameter's name, for errors.
        value: a number; a sequence with one number per round; or an array of shape (rounds, nodes)
            in which either length may be 1. All above 0, unless ``zero``.
        rounds: how many rounds use the parameter.
        nodes: how many nodes.
        infinite: whether infinity is allowed.
        zero: whether 0 is allowed.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} needs numbers; {error}") from error
    column = array[:, None] if array.ndim == 1 else np.atleast_2d(array)
    if column.ndim != 2 or column.shape[0] not in (1, rounds) or column.shape[1] not in (1, nodes):
        raise InvalidInput(
            f"{name} needs a number, {rounds} numbers (one per round) or shape ({rounds}, {nodes}) "
            f"with rounds first; got shape={array.shape!r}"
        )
    positive = (column > 0) | (zero & (column == 0))
    if not (positive & (np.isfinite(column) | infinite)).all():
        needed = ("" if infinite else "finite ") + (
            "numbers, 0 or above" if zero else "numbers above 0"
        )
        raise InvalidInput(f"{name} needs {needed}; got {name}={value!r}")
    full = np.array(np.broadcast_to(column, (rounds, nodes)))
    full.flags.writeable = False
    return full


def geometric(start: ArrayLike, growth: ArrayLike, rounds: int) -> Array:
    """start·growth^(t-1) for t = 1, ..., rounds, per node; shape (rounds, nodes).

    Args:
        start: a number, or one per node.
        growth: a number, or one per node.
        rounds: how many.
    """
    checks.count("rounds", rounds)
    exponent = np.arange(rounds)[:, None]
    return np.asarray(np.atleast_1d(start) * np.atleast_1d(growth) ** exponent, dtype=np.float64)


def at(scheduled: ArrayLike, t: int) -> Array:
    """The entries of a `schedule` for its ``t``-th round, counted from 1; shape (nodes,)."""
    return np.asarray(scheduled, dtype=np.float64)[t - 1]


def settle(
    owner: object,
    *names: str,
    rounds: int,
    nodes: int = 1,
    infinite: bool = False,
    zero: bool = False,
) -> None:
    """Replace the named attributes of a frozen ``owner`` by their schedules."""
    for name in names:
        value = getattr(owner, name)
        full = schedule(name, value, rounds=rounds, nodes=nodes, infinite=infinite, zero=zero)
        object.__setattr__(owner, name, full)


def one_number(name: str, scheduled: ArrayLike, *, hint: str) -> None:
    """Refuse a `schedule` whose entries differ."""
    values = np.asarray(scheduled, dtype=np.float64)
    if np.ptp(values) != 0:
        raise InvalidInput(
            f"{name} needs one number for all rounds and nodes; got values from {values.min():g} "
            f"to {values.max():g}; {hint}"
        )
