"""What the convergence results of M-ADMM and MR-ADMM share about penalties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcalc.errors import InvalidInput
from dpcalc.theorems.authoring import assume
from dpcalc.theorems.schedule import Schedule
from dpcalc.theorems.statements import Assumption, Formula

Row = tuple[float, ...]

_MOST_ROUNDS = 100_000
_MOST_FACTORS = 4_000_000


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


def stalled_product(start: float, factor: float, pull: float = 2.0) -> float:
    """A lower bound of ``Π_{t>=0} x_t/(1 + x_t)`` with ``x_t = pull·start·factor^t``, factor > 1.

    This is the error that never goes away when the inverses of growing penalties are summable.
    """
    first, log_factor = 1 / (pull * start), math.log(factor)
    wanted = max(0.0, math.log(first) + 45.0 - math.log1p(-1 / factor)) / log_factor
    terms = min(int(wanted) + 1, _MOST_FACTORS)
    logarithm = 0.0
    for low in range(0, terms, 1 << 18):
        powers = np.arange(low, min(low + (1 << 18), terms))
        logarithm += float(np.log1p(first * np.exp(-log_factor * powers)).sum())
    rest = first * math.exp(-log_factor * terms) / (1 - 1 / factor)
    return math.exp(-(logarithm * (1 + 1e-9) + rest))


def stalled_formula(start: float, factor: float) -> Formula:
    """The product that `stalled_product` bounds, in symbols; ``pull`` is 2."""
    import sympy

    eta, q = sympy.symbols("eta q", positive=True)
    t = sympy.Symbol("t", integer=True, nonnegative=True)
    x = 2 * eta * q**t
    product: sympy.Expr = sympy.Product(x / (1 + x), (t, 0, sympy.oo))
    return Formula("attained.value", product, {"eta": start, "q": factor})


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
