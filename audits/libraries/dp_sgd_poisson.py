"""DP-SGD in a few lines with batches by independent coins, as Opacus draws them by default."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcalc.audits.instances.dp_sgd import (
    BATCHES,
    EPOCHS,
    MULTIPLIER,
    Array,
    against_poisson,
    evidence_of_batches,
)
from dpcalc.audits.instances.shipped import Shipped


def _release(gradients: Array, generator: np.random.Generator, runs: int) -> Array:
    sums = np.empty((runs, EPOCHS, BATCHES))
    for epoch, batch in np.ndindex(EPOCHS, BATCHES):
        drawn = generator.random((runs, len(gradients))) < 1 / BATCHES
        sums[:, epoch, batch] = drawn @ gradients
    return sums + MULTIPLIER * generator.standard_normal(sums.shape)


SHIPPED = Shipped(
    title="DP-SGD in the style of Opacus with Poisson batches",
    modules=("dp_accounting",),
    pair=partial(
        against_poisson, "dp-sgd-poisson", _release, others=0.0, score=evidence_of_batches
    ),
)
