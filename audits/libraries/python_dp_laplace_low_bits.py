"""Google's Laplace mechanism by way of PyDP, seen down to the last bit."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, coarse


def _pair() -> tuple[Target, Claim]:
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    noisy = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)

    def release(count: float, _: np.random.Generator, runs: int) -> list[float]:
        return [noisy.add_noise(count) for _ in range(runs)]

    target = mechanism(
        release, 1.0, 0.0, adjacency="add-remove", name="python-dp-laplace-low-bits", score=coarse
    )
    return target, Claim.of(epsilon=1.0, adjacency="add-remove")


SHIPPED = Shipped(title="PyDP's Laplace mechanism to the last bit", modules=("pydp",), pair=_pair)
