"""diffprivlib's geometric mechanism on a count of 1 or 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(count: int, generator: np.random.Generator, runs: int) -> list[int]:
    from diffprivlib.mechanisms import Geometric

    noisy = Geometric(epsilon=1.0, sensitivity=1, random_state=random_state(generator))
    return [noisy.randomise(count) for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(_release, 1, 0, adjacency="add-remove", name="diffprivlib-geometric")
    return target, Claim.of(epsilon=1.0, adjacency="add-remove")


SHIPPED = Shipped(title="diffprivlib's geometric mechanism", modules=("diffprivlib",), pair=_pair)
