"""Laws with sixty digits that are made when they are first looked at.

A system that accounts for every round as it runs asks for moments, which doubles bound in a few
microseconds (`dpcalc.guarantees.many_orders`); the law itself takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.numerics.arithmetic import own_arithmetic

_HELD = frozenset(
    (
        "losses",
        "masses",
        "infinite_mass",
        "missing",
        "mass_error",
        "blur",
        "supremum",
        "mass_at_supremum",
    )
)
"""What a law holds."""


class DeferredLaw(DiscreteLoss):
    """A `DiscreteLoss` that is made when one of its numbers is first asked for.

    Args:
        make: the law.
        near: laws the largest of whose moments bounds those of a round at every order, or None;
            for many orders at once, at a small price.
    """

    def __init__(
        self,
        make: Callable[[], DiscreteLoss],
        near: Callable[[], tuple[DiscreteLoss, ...] | None],
    ) -> None:
        self._make, self.near = make, near

    def __getattr__(self, name: str) -> Any:
        """A number of the law, which is not there before it is made."""
        if name not in _HELD:
            raise AttributeError(f"a law has no {name!r}")
        vars(self).update(vars(own_arithmetic(self._make)()))
        return vars(self)[name]
