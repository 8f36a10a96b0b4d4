"""One setting of DP-SGD for all audits of its batches, and what dp-accounting says of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Claim

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
