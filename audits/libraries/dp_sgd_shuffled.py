"""DP-SGD in a few lines, batches cut from a shuffled order, sold with Poisson accounting.

Not any library's code: the loop that is left when a data loader that shuffles is put under an
accountant that assumes independent inclusion. All other gradients are the clipping norm, negative.
Without the record the last batch of every epoch is one short; no sampling hides that.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.engine.sgd_claims import (
    BATCHES,
    EPOCHS,
    MULTIPLIER,
    RECORDS,
    Array,
    last_of_epochs,
    poisson_claim,
)
from dpcalc.audits.engine.shipped import Shipped


def _release(gradients: Array, generator: np.random.Generator, runs: int) -> Array:
    padded = np.zeros((runs, EPOCHS, RECORDS))
    orders = np.tile(gradients, (runs, EPOCHS, 1))
    padded[..., : len(gradients)] = generator.permuted(orders, axis=-1)
    sums = padded.reshape(runs, EPOCHS, BATCHES, -1).sum(axis=-1)
    return sums + MULTIPLIER * generator.standard_normal(sums.shape)


def _pair() -> tuple[Target, Claim]:
    others = -np.ones(RECORDS - 1)
    target = mechanism(
        _release,
        np.append(others, 1.0),
        others,
        adjacency="add-remove",
        name="dp-sgd-shuffled",
        score=last_of_epochs,
    )
    return target, poisson_claim()


SHIPPED = Shipped(
    title="DP-SGD in the style of Opacus with shuffled batches, accounted for as Poisson",
    modules=("dp_accounting",),
    pair=_pair,
    refuted=True,
    thread="https://github.com/meta-pytorch/opacus/issues/80",
)
