"""Whether some mechanism that a guarantee covers has just the privacy loss that it describes."""

from __future__ import annotations

from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import ApproxDP, PureDP
from dpcalc.guarantees.sampled_replacement import SampledRounds


def is_attained(guarantee: Guarantee) -> bool:
    """Whether the lower end of its enclosure is reached by some mechanism it covers."""
    if isinstance(guarantee, SampledRounds):
        return True
    if isinstance(guarantee, Composition):
        return all(is_attained(part) for part, _ in guarantee.parts)
    if isinstance(guarantee, BestOf):
        return False
    return isinstance(guarantee, PureDP | ApproxDP | GDP) or (
        isinstance(guarantee, DominatedMechanism) and guarantee.attained
    )
