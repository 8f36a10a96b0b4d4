"""One epoch of DP-SGD on batches that jax-privacy draws, with dp-accounting's ε."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcalc.audits.instances.dp_sgd import (
    BATCHES,
    MULTIPLIER,
    Array,
    against_poisson,
    evidence_of_batches,
)
from dpcalc.audits.instances.shipped import Shipped


def _release(gradients: Array, generator: np.random.Generator, runs: int) -> Array:
    from jax_privacy.batch_selection import CyclicPoissonSampling

    sampling = CyclicPoissonSampling(sampling_prob=1 / BATCHES, iterations=BATCHES)
    sums = np.array(
        [
            [gradients[batch].sum() for batch in sampling.batch_iterator(len(gradients), generator)]
            for _ in range(runs)
        ]
    )
    return sums + MULTIPLIER * generator.standard_normal(sums.shape)


SHIPPED = Shipped(
    title="jax-privacy's Poisson batches",
    modules=("jax_privacy", "dp_accounting"),
    pair=partial(
        against_poisson,
        "jax-privacy-poisson",
        _release,
        others=0.0,
        score=evidence_of_batches,
        epochs=1,
    ),
)
