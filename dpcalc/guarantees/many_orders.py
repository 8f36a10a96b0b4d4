"""Rényi divergences at many orders at once, of mechanisms and of bare guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.many_moments import moments_of_round
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.guarantees.bare_orders import at_most_loss, bare_divergences
from dpcalc.guarantees.base import Guarantee
from dpcalc.numerics.arithmetic import own_arithmetic

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Directions

Array = NDArray[np.float64]


@runtime_checkable
class _Mechanism(Protocol):
    """A mechanism that is dominated by known losses, as `dpcalc.guarantees.dominated` has them."""

    @property
    def directions(self) -> Directions: ...

    @property
    def largest(self) -> float: ...


@own_arithmetic
def divergences(guarantee: Guarantee, orders: Array) -> Array:
    """Upper bounds of the divergences at orders above 1, which increase; infinite where unknown.

    Rounding: in doubles, enlarged by more than they may be off, for mechanisms and for bare
    guarantees; of others as `Guarantee.renyi`.
    """
    if isinstance(guarantee, _Mechanism):
        with np.errstate(over="ignore"):
            found = _of_mechanism(guarantee, orders)
            if found is not None:
                return at_most_loss(guarantee.largest, found, orders)
    return bare_divergences(guarantee, orders)


def _of_mechanism(guarantee: _Mechanism, orders: Array) -> Array | None:
    """The larger of the log-moments of its directions; None where a loss has no formula here.

    What bounds a record that is removed bounds one that is added, which is left out.
    """
    losses: set[PrivacyLoss] = set()
    for direction in guarantee.directions:
        loss, count = direction[0]
        if len(direction) > 1 or count != 1:
            return None
        losses.add(PoissonRemove(loss.sigma, loss.rate) if isinstance(loss, PoissonAdd) else loss)
    found = [moments_of_round(loss, orders) for loss in losses]
    known = [moments for moments in found if moments is not None]
    return np.max(known, axis=0) if len(known) == len(found) else None
