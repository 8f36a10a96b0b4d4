"""Small problems over a network, and slow copies to compare methods with."""

from __future__ import annotations

import numpy as np

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import from_edges

EDGES = ((0, 1), (1, 2), (0, 2), (2, 3))


def problem(loss=None, network=None, sizes=(5, 8, 6, 7)):
    from dpcalc.algorithms.problems.records import split

    whole = classification(sum(sizes), 2, seed=3)
    return ConsensusProblem(
        records=split(whole.features, whole.labels, sizes=sizes),
        network=network or from_edges(EDGES),
        loss=loss or Logistic(),
        loss_weight=4.0,
        ridge=0.6,
    )


def plain(p):
    """The same numbers for the oracle."""
    parts = [(p.records.features[s], p.records.labels[s]) for s in p.records.slices]
    loss = {
        "logistic": lambda m: np.log1p(np.exp(-m)),
        "smoothed-hinge": lambda m: 0.0 if m > 1 else (1 - m) ** 2 / 2 if m > 0 else 0.5 - m,
    }[p.loss.name]
    return parts, {"loss": loss, "C": p.loss_weight, "rho": p.ridge}
