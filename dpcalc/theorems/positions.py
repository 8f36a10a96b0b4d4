"""A record that is equally likely to stand at every position of an order, or before every stop."""

from __future__ import annotations

from collections.abc import Callable

from dpcalc.accounting.iteration import mixed_positions
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import Real
from dpcalc.theorems.authoring import assume, finding
from dpcalc.theorems.base import Bound

WEAK_CONVEXITY = finding(
    "Weak convexity of the Rényi divergence restricts the order and loses a factor of two; "
    "joint convexity of the hockey-stick divergence needs neither.",
    "loose",
)
RANDOM_ORDER = assume(
    "random-order",
    "The permutation or the stopping time is drawn uniformly and independently of the data.",
)


def over_positions(mu_after: Callable[[int], Real], positions: int) -> Bound:
    """The mixture of Gaussian profiles over the steps left after the record's use.

    Args:
        mu_after: t -> μ with t steps left, not increasing.
        positions: how many there are; t is uniform on 1..positions.
    """
    mus, shares = mixed_positions(mu_after, positions)
    numbers = {
        "positions": float(positions),
        "largest_mu": max(mus),
        "smallest_mu": min(mus),
    }
    return Bound(GaussianMixture(mus, shares), numbers, "joint convexity over positions")
