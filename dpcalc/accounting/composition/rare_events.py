"""Whether events are so rare that a lattice suits a sum better than a contour.

A contour needs the more nodes the more slowly moments fall off on it: where rounds that differ at all
are few. A lattice needs them to be few, as every round and every outcome is split.
"""

from __future__ import annotations

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import Estimate
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.density_pair import DensityPair, PrivacyLoss

_MANY_NODES = 300
_FEW_ROUNDS, _MANY_NODES_OF_FEW = 16, 50

_RARE, _RARE_ALONE, _FAR_OUT = 1.0, 0.05, -46.0
"""Fewer expected events are rare: a contour then needs more nodes than a lattice has points. One answer
about densities costs less on it where more than the second are expected and ln δ is above the last."""

_DENSE = 256
"""Outcomes that are as good as a density."""

_MANY_LAWS, _SOME, _SOME_OF_FEW = 16, 0.01, 0.03
"""Different laws of any kind; and events of which more are expected in different rounds leave a contour
better off than a lattice, the second in fewer than ten rounds."""


def rare_events(total: LossSum, estimate: Estimate | None, *, many: bool = False) -> bool:
    """Whether a contour needs many nodes as rounds that differ are rare; ``many`` share a lattice."""
    different = sum(isinstance(loss, DensityPair) for loss, _ in total.parts)
    laws = different > 2 or len(total.parts) > _MANY_LAWS
    if laws and total.expected_events >= (_SOME if total.rounds >= 10 else _SOME_OF_FEW):
        return False  # a lattice convolves them one by one, as fine as the finest needs
    most = _MANY_NODES_OF_FEW if total.rounds <= _FEW_ROUNDS else _MANY_NODES
    strained = estimate is None or estimate.nodes > most
    near = estimate is not None and estimate.contour.log_delta > _FAR_OUT
    alone = near and not many and (different or any(_is_dense(loss) for loss, _ in total.parts))
    return strained and total.expected_events <= (_RARE_ALONE if alone else _RARE)


def _is_dense(loss: PrivacyLoss) -> bool:
    """Whether its outcomes are as good as a density, whose moments fall off on a contour."""
    return isinstance(loss, DiscreteLoss) and len(loss.losses) >= _DENSE
