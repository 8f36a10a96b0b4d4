"""diffprivlib's median of five numbers, a 1 replaced by 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(zeros: int, generator: np.random.Generator, runs: int) -> list[float]:
    from diffprivlib.tools import median

    numbers, state = np.repeat([0.0, 0.5, 1.0], [zeros, 1, 4 - zeros]), random_state(generator)
    return [median(numbers, epsilon=1.0, bounds=(0, 1), random_state=state) for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(_release, 3, 2, adjacency="replace-one", name="diffprivlib-median")
    return target, Claim.of(epsilon=1.0, adjacency="replace-one")


SHIPPED = Shipped(title="diffprivlib's median", modules=("diffprivlib",), pair=_pair)
