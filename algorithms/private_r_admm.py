"""Private R-ADMM: private MR-ADMM with one constant penalty.

Source: zhang2019, section III.C: algorithm 3 with η_i(2k-1) = η; the updates are written out in
`private_mr_admm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc.algorithms.engine.schedules import one_number
from dpcalc.algorithms.private_mr_admm import PrivateMRADMM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateRADMM(PrivateMRADMM):
    """Recycled ADMM with objective perturbation.

    Attributes:
        penalty: η, one number above 0.
        noise_rate: α_i(k), above 0: a number, one per odd round k, or shape (odd rounds, nodes);
            infinite for no noise.
        proximal_weight: γ, 0 or above.
    """

    key = "private-r-admm"
    reference = "zhang2019, algorithm 3 with a constant penalty"

    penalty: ArrayLike

    def __post_init__(self) -> None:
        PrivateMRADMM.__post_init__(self)
        one_number("penalty", self.penalty, hint="for several penalties use private-mr-admm")

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(consensus_example(), rounds=4, penalty=0.5, noise_rate=2.0, proximal_weight=0.5)


ALGORITHM = PrivateRADMM
