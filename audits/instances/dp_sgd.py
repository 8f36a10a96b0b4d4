"""One setting of DP-SGD for all audits of its batches: inputs, scores, what dp-accounting says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Claim, Target, mechanism

Array = NDArray[np.float64]

RECORDS, BATCHES, EPOCHS = 100, 50, 4
MULTIPLIER = 1.0
"""Noise over the clipping norm, which is 1."""
DELTA = 1e-5


def poisson_claim(epochs: int = EPOCHS) -> Claim:
    """ε at δ for batches that each record joins by independent coins, from loss distributions."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.pld import PLDAccountant

    step = PoissonSampledDpEvent(1 / BATCHES, GaussianDpEvent(MULTIPLIER))
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(SelfComposedDpEvent(step, BATCHES * epochs))
    return Claim.of(
        epsilon=accountant.get_epsilon(DELTA),
        delta=DELTA,
        adjacency="add-remove",
        release="every message",
        name="dp-accounting, Poisson",
    )


def against_poisson(
    name: str,
    release: Callable[[Array, np.random.Generator, int], Array],
    *,
    others: float,
    score: Callable[[Array], Array],
    epochs: int = EPOCHS,
) -> tuple[Target, Claim]:
    """One record of gradient 1 more or less, and the claim for Poisson batches.

    Args:
        name: of the target.
        release: (gradients, generator, runs) -> noisy sums of batches, runs first.
        others: gradient of all other records, -1 to 1.
        score: released -> one number per run, the larger the more it looks like the record.
        epochs: that are released.
    """
    rest = np.full(RECORDS - 1, others)
    target = mechanism(
        release, np.append(rest, 1.0), rest, adjacency="add-remove", name=name, score=score
    )
    return target, poisson_claim(epochs)


def last_of_epochs(released: Array) -> Array:
    """Minus the sum of the epochs' last batches, (runs, epochs, batches) -> (runs,).

    All gradients but the record's are negative: a last batch that is one short is larger.
    """
    return -released[..., -1].sum(axis=-1)


def evidence_of_batches(released: Array) -> Array:
    """The log-likelihood ratio where all other gradients are 0, (runs, ...) -> (runs,).

    Every number is the noise, plus 1 with probability one over the batches of an epoch.
    """
    likelier = np.expm1((released - 0.5) / MULTIPLIER**2) / BATCHES
    return np.log1p(likelier).reshape(len(released), -1).sum(axis=-1)
