"""One epoch of DP-SGD on batches that jax-privacy draws, with dp-accounting's ε."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.engine.sgd_claims import (
    BATCHES,
    MULTIPLIER,
    RECORDS,
    Array,
    evidence_of_batches,
    poisson_claim,
)
from dpcalc.audits.engine.shipped import Shipped


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


def _pair() -> tuple[Target, Claim]:
    others = np.zeros(RECORDS - 1)
    target = mechanism(
        _release,
        np.append(others, 1.0),
        others,
        adjacency="add-remove",
        name="jax-privacy-poisson",
        score=evidence_of_batches,
    )
    return target, poisson_claim(epochs=1)


SHIPPED = Shipped(
    title="jax-privacy's Poisson batches",
    modules=("jax_privacy", "dp_accounting"),
    pair=_pair,
)
