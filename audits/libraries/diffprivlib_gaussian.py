"""diffprivlib's analytic Gaussian mechanism on a count of 1 or 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(count: float, generator: np.random.Generator, runs: int) -> list[float]:
    from diffprivlib.mechanisms import GaussianAnalytic

    noisy = GaussianAnalytic(
        epsilon=1.0, delta=0.01, sensitivity=1.0, random_state=random_state(generator)
    )
    return [noisy.randomise(count) for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(_release, 1.0, 0.0, adjacency="add-remove", name="diffprivlib-gaussian")
    return target, Claim.of(epsilon=1.0, delta=0.01, adjacency="add-remove")


SHIPPED = Shipped(
    title="diffprivlib's analytic Gaussian mechanism", modules=("diffprivlib",), pair=_pair
)
