"""Whether numbers of neighbours belong to a connected network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from dpcalc.errors import InvalidInput


def check_degrees(name: str, degrees: Sequence[float]) -> None:
    """Refuse numbers of neighbours that no connected network has.

    Some network has the degrees d₁ >= ... >= d_n if and only if their sum is even and
    ``Σ_{i<=k} d_i <= k(k-1) + Σ_{i>k} min(d_i, k)`` for every k (Erdős and Gallai 1960); one of
    these is connected if and only if every degree is at least 1 and the sum at least 2(n-1).

    Args:
        name: of the parameter.
        degrees: whole numbers from 1 to n - 1, one per node.

    Raises:
        InvalidInput: with the condition that fails.
    """
    ordered = sorted((int(d) for d in degrees), reverse=True)
    n, total = len(ordered), sum(ordered)
    tries = f"try one number, the fewest neighbours of a node, such as {name} = {ordered[-1]}"
    if total % 2:
        raise InvalidInput(
            f"{name} needs an even sum, since every edge has two ends; got a sum of {total} over "
            f"{n} nodes; {tries}"
        )
    if total < 2 * (n - 1):
        raise InvalidInput(
            f"{name} needs a sum of at least {2 * (n - 1)} to connect {n} nodes; got {total}; {tries}"
        )
    if (k := _first_excess(ordered)) is not None:
        raise InvalidInput(
            f"{name} needs the numbers of neighbours of a network; got {k} nodes with "
            f"{sum(ordered[:k])} neighbours in all, more than the others have room for; {tries}"
        )


def _first_excess(ordered: Sequence[int]) -> int | None:
    """The smallest k at which the condition fails for degrees in falling order; None if none does.

    The number m of degrees of at least k only falls as k grows; behind both, min(d_i, k) = d_i.
    """
    n = len(ordered)
    heads = [0, *accumulate(ordered)]
    m = n
    for k in range(1, n + 1):
        while m > 0 and ordered[m - 1] < k:
            m -= 1
        large = max(m - k, 0)
        small = heads[n] - heads[max(m, k)]
        if heads[k] > k * (k - 1) + k * large + small:
            return k
    return None
