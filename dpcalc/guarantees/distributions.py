"""Mechanisms given by what they put out: distributions, densities, or points of a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.deferred import DeferredLaw
from dpcalc.accounting.losses.either_order import density_law_in_either_order, law_in_either_order
from dpcalc.accounting.losses.privacy_profile import (
    LEAST_EPSILON,
    falling,
    law_from_distributions,
    loss_from_profile,
    profile_in_doubles,
)
from dpcalc.accounting.losses.two_tables import largest_loss, laws_in_doubles, whole_numbers
from dpcalc.accounting.losses.user_densities import Density, from_user_densities
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency, AdjacencyName

_forth = partial(laws_in_doubles, both=False)
_forth_and_back = partial(laws_in_doubles, both=True)


@own_arithmetic
def finite_distributions(
    p: Sequence[float], q: Sequence[float], adjacency: Adjacency | AdjacencyName
) -> Guarantee:
    """A mechanism whose output has one of two finite distributions.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.finite_distributions([0.2, 0.8], [0.4, 0.6], "add-remove").epsilon(0.1))

    Args:
        p: probabilities of the outcomes on one data set; under add-remove on the one with the
            record, in every mechanism that is composed with this one.
        q: probabilities of the same outcomes on its neighbour; under add-remove on the one without
            the record.
        adjacency: add-remove keeps the order, the same in all rounds; under any other relation each
            round may meet the two in either order, as when a record is exchanged for another.

    Returns:
        A guarantee with the exact law of the privacy loss.

    Raises:
        InvalidInput: for lists of different lengths, numbers below 0, and sums other than 1.
    """
    described = f"two distributions of {len(p)} outcomes"
    keeps_order = _keeps_order(adjacency)
    whole = whole_numbers(p, q)
    largest, given = largest_loss(*whole), (tuple(p), tuple(q))
    if keeps_order:
        laws = [
            DeferredLaw(partial(law_from_distributions, *pair), partial(_forth, *exact))
            for pair, exact in ((given, whole), (given[::-1], whole[::-1]))
        ]
        most = math.nextafter(float(largest), math.inf)
    else:
        either = partial(law_in_either_order, *given)
        laws = [DeferredLaw(either, partial(_forth_and_back, *whole))]
        most = round_up(max(largest, mpf(LEAST_EPSILON)) if largest > 0 else largest)
    directions = tuple(((law, 1),) for law in laws)
    typed = (("outcomes", tuple(zip(*given, strict=True))),)
    return DominatedMechanism(directions, described, most, keeps_order, typed).under(adjacency)


def _largest(law: DiscreteLoss) -> float:
    return math.inf if law.infinite_mass > 0 else law.supremum


def _keeps_order(adjacency: Adjacency | AdjacencyName | None) -> bool:
    """Whether a relation tells which of two neighbours is which.

    Raises:
        InvalidInput: for none, with both readings, and for an unknown one.
    """
    if adjacency is None or adjacency not in tuple(Adjacency):
        raise InvalidInput(
            "adjacency is needed for two distributions: under add-remove p belongs to the data set "
            "with the record in every round, under replace-one each round may meet p and q in "
            f"either order, which reveals more; got {adjacency!r}; try adjacency='replace-one'"
        )
    return adjacency == Adjacency.ADD_REMOVE


@own_arithmetic
def from_profile(points: Iterable[tuple[float, float]]) -> Guarantee:
    """Any mechanism that is (ε, δ)-DP for each of several pairs, in both directions.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.from_profile([(0.5, 1e-6), (1, 1e-8)]).epsilon(1e-6))

    Args:
        points: pairs (ε, δ); more of them make a tighter bound.

    Returns:
        A guarantee that dominates every mechanism with this profile.

    Raises:
        InvalidInput: for no pair, an ε below 0, and a δ outside [0, 1].
    """
    given = tuple((epsilon, delta) for epsilon, delta in points)
    curve = falling(given)
    law = DeferredLaw(partial(loss_from_profile, curve), partial(profile_in_doubles, curve))
    largest = next((epsilon for epsilon, delta in curve if delta == 0), math.inf)
    described, typed = f"profile, {len(curve)} points", (("points", given),)
    return DominatedMechanism((((law, 1),),), described, largest, False, typed)


@own_arithmetic
def from_densities(
    log_p: Density,
    log_q: Density,
    *,
    support: tuple[float, float],
    scale: float,
    outside: float = 0.0,
    symmetric: bool = False,
    adjacency: Adjacency | AdjacencyName | None = None,
) -> Guarantee:
    """A mechanism whose worst case is a pair of densities on the line, given by their logarithms.

    What nobody but the caller can vouch for: that no other pair of neighbours is worse, and that
    the densities are as smooth as ``scale`` says. That ln(p/q) is monotone, the mass and the effect
    of the scale are checked.

    Example::

        import numpy as np
        from dpcalc import mechanisms
        def logistic(middle):  # the logarithm of its density
            return lambda x: -(x - middle) - 2 * np.logaddexp(0, -(x - middle))
        found = mechanisms.from_densities(
            logistic(1), logistic(0), support=(-30, 31), scale=1, outside=1e-12,
            adjacency="add-remove",
        )
        print(found.epsilon(1e-6))

    Args:
        log_p: array of points -> ln p; under add-remove on the data set with the record.
        log_q: array of points -> ln q.
        support: a finite interval that holds all the mass but ``outside``.
        scale: length over which the densities change; the standard deviation for a normal one.
        outside: bound on the mass of p and of q on either side of the interval.
        symmetric: q against p has the same law, as for shifted symmetric noise.
        adjacency: needed unless ``symmetric``: add-remove keeps the order of the two in all rounds,
            under any other relation each round may meet them in either order.

    Returns:
        A guarantee with the law of the privacy loss, enclosed from both sides.

    Raises:
        InvalidInput: without an adjacency where one is needed, and where what is checked does not hold.
    """
    pairs = [from_user_densities(log_p, log_q, support, scale, outside)]
    if not symmetric:
        keeps_order = _keeps_order(adjacency)
        pairs.append(from_user_densities(log_q, log_p, support, scale, outside))
        if not keeps_order:
            law = density_law_in_either_order(*pairs)
            described = "supplied densities in either order"
            found = DominatedMechanism((((law, 1),),), described, _largest(law), attained=False)
            return found.under(adjacency)
    directions = tuple(((pair, 1),) for pair in pairs)
    return DominatedMechanism(directions, "supplied densities").under(adjacency)
