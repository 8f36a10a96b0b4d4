"""DP-SGD in a few lines with batches by independent coins, as Opacus draws them by default."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.engine.sgd_claims import (
    BATCHES,
    EPOCHS,
    MULTIPLIER,
    RECORDS,
    Array,
    evidence_of_batches,
    poisson_claim,
)
from dpcalc.audits.engine.shipped import Shipped


def _release(gradients: Array, generator: np.random.Generator, runs: int) -> Array:
    sums = np.empty((runs, EPOCHS, BATCHES))
    for epoch, batch in np.ndindex(EPOCHS, BATCHES):
        drawn = generator.random((runs, len(gradients))) < 1 / BATCHES
        sums[:, epoch, batch] = drawn @ gradients
    return sums + MULTIPLIER * generator.standard_normal(sums.shape)


def _pair() -> tuple[Target, Claim]:
    others = np.zeros(RECORDS - 1)
    target = mechanism(
        _release,
        np.append(others, 1.0),
        others,
        adjacency="add-remove",
        name="dp-sgd-poisson",
        score=evidence_of_batches,
    )
    return target, poisson_claim()


SHIPPED = Shipped(
    title="DP-SGD in the style of Opacus with Poisson batches",
    modules=("dp_accounting",),
    pair=_pair,
)
