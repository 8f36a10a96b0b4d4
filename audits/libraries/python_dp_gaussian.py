"""Google's Gaussian mechanism by way of PyDP, on a count of 1 or 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped


def _pair() -> tuple[Target, Claim]:
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    noisy = GaussianMechanism(epsilon=1.0, delta=0.01, sensitivity=1.0)

    def release(count: float, _: np.random.Generator, runs: int) -> list[float]:
        return [noisy.add_noise(count) for _ in range(runs)]

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="python-dp-gaussian")
    return target, Claim.of(epsilon=1.0, delta=0.01, adjacency="add-remove")


SHIPPED = Shipped(title="PyDP's Gaussian mechanism", modules=("pydp",), pair=_pair)
