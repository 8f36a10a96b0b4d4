"""DP-SGD in a few lines, batches cut from a shuffled order, sold with Poisson accounting.

Not any library's code: the loop that is left when a data loader that shuffles is put under an
accountant that assumes independent inclusion. All other gradients are the clipping norm, negative.
Without the record the last batch of every epoch is one short; no sampling hides that.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcalc.audits.instances.dp_sgd import (
    BATCHES,
    EPOCHS,
    MULTIPLIER,
    RECORDS,
    Array,
    against_poisson,
    last_of_epochs,
)
from dpcalc.audits.instances.shipped import Shipped


def _release(gradients: Array, generator: np.random.Generator, runs: int) -> Array:
    padded = np.zeros((runs, EPOCHS, RECORDS))
    orders = np.tile(gradients, (runs, EPOCHS, 1))
    padded[..., : len(gradients)] = generator.permuted(orders, axis=-1)
    sums = padded.reshape(runs, EPOCHS, BATCHES, -1).sum(axis=-1)
    return sums + MULTIPLIER * generator.standard_normal(sums.shape)


SHIPPED = Shipped(
    title="DP-SGD in the style of Opacus with shuffled batches, accounted for as Poisson",
    modules=("dp_accounting",),
    pair=partial(against_poisson, "dp-sgd-shuffled", _release, others=-1.0, score=last_of_epochs),
    refuted=True,
    thread="https://github.com/meta-pytorch/opacus/issues/80",
)
