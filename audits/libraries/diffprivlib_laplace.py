"""diffprivlib's Laplace mechanism on a count of 1 or 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(count: float, generator: np.random.Generator, runs: int) -> list[float]:
    from diffprivlib.mechanisms import Laplace

    laplace = Laplace(epsilon=1.0, sensitivity=1.0, random_state=random_state(generator))
    return [laplace.randomise(count) for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(_release, 1.0, 0.0, adjacency="add-remove", name="diffprivlib-laplace")
    return target, Claim.of(epsilon=1.0, adjacency="add-remove")


SHIPPED = Shipped(title="diffprivlib's Laplace mechanism", modules=("diffprivlib",), pair=_pair)
