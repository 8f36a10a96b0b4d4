"""What the convergence results of M-ADMM and MR-ADMM share about penalties."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.theorems.authoring import assume
from dpcalc.theorems.numbers import Numbers, Real
from dpcalc.theorems.schedule import Schedule
from dpcalc.theorems.statements import Assumption

Row = tuple[float, ...]

_MOST_ROUNDS = 100_000


def rows(penalty: Schedule, nodes: int, rounds: int | None = None) -> list[Row]:
    """The penalties per node of the given rounds, or of all rows of a table."""
    count = rounds or max(1, len(penalty.table))
    if count > _MOST_ROUNDS:
        raise InvalidInput(
            f"rounds needs to be at most {_MOST_ROUNDS}, which are taken one by one; got "
            f"rounds={count:g}; try rounds=1 for the factor of one round"
        )
    found = penalty.rounds("penalty", count, nodes)
    return [row for row, n in found for _ in range(n)]


def tail(penalty: Schedule, nodes: int) -> Row | None:
    """The row that is used for ever, None for a rule that never settles; a table keeps its last."""
    return rows(penalty, nodes)[-1] if penalty.factor == 1.0 else None


def common(row: Sequence[float]) -> bool:
    """Whether all nodes use the same value."""
    return len(set(row)) == 1


def decreasing(penalty: Schedule, nodes: int) -> str | None:
    """Where penalties decrease, or None."""
    if penalty.factor < 1.0:
        return f"penalties must not decrease; got penalty={penalty}; try a factor of 1 or above"
    for t, (before, after) in enumerate(itertools.pairwise(rows(penalty, nodes)), start=2):
        if any(y < x for x, y in zip(before, after, strict=True)):
            return f"penalties must not decrease; round {t} has a smaller one than round {t - 1}"
    return None


def left_by_growing(x: Numbers, penalty: Schedule, pull: Real) -> Real:
    """Π y/(1 + y) over the rounds, y = pull·η(t), from below; penalties grow.

    This is the error that never goes away when the inverses of growing penalties are summable.

    Args:
        x: digits or symbols.
        penalty: η(t) = start·factorᵗ, factor above 1.
        pull: what every penalty is multiplied by, above 0.
    """
    start, factor = x.named("eta", penalty.start), x.named("q", penalty.factor)
    return x.geometric_product(1 / (pull * start), 1 / factor)


def _shrinking(result: Any) -> str | None:
    return decreasing(result.penalty, result.graph.nodes)


def penalties_of_m_admm(step_too_large: Callable[[Any], str | None]) -> tuple[Assumption, ...]:
    """What results on M-ADMM assume of its start, its updates and its penalties.

    Args:
        step_too_large: why the dual step of an instance exceeds a penalty.
    """
    return (
        assume("zero-dual-start", "All dual variables start at zero."),
        assume("exact-minimiser", "Every primal update is the exact minimiser."),
        assume("penalties-increase", "Penalties do not decrease.", "claimed", _shrinking),
        assume(
            "step-at-most-penalty",
            "The dual step is at most every penalty.",
            "claimed",
            step_too_large,
        ),
    )
