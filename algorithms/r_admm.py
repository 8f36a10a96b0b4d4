"""R-ADMM: every even round reuses the gradient of the odd round before it and sees no data.

Source: zhang2019, algorithm 1, equations (10)-(13). Without noise. It is `mr_admm`, where the
updates are written out, with one constant penalty η.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc.algorithms.engine.schedules import one_number
from dpcalc.algorithms.mr_admm import MRADMM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RADMM(MRADMM):
    """Recycled ADMM.

    Attributes:
        penalty: η, one number above 0.
        proximal_weight: γ, 0 or above.
    """

    key = "r-admm"
    reference = "zhang2019, algorithm 1, equations (10)-(13)"

    penalty: ArrayLike

    def __post_init__(self) -> None:
        MRADMM.__post_init__(self)
        one_number("penalty", self.penalty, hint="for several penalties use mr-admm")

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(consensus_example(), rounds=4, penalty=0.5, proximal_weight=0.5)


ALGORITHM = RADMM
