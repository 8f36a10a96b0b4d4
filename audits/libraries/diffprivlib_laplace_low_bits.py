"""diffprivlib's Laplace mechanism, seen down to the last bit.

A noisy 1 is a multiple of 2^-53, for so the sum is rounded; a noisy 0 is the noise itself, which
near 0 is finer.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, coarse, random_state


def _release(count: float, generator: np.random.Generator, runs: int) -> list[float]:
    from diffprivlib.mechanisms import Laplace

    noisy = Laplace(epsilon=1.0, sensitivity=1.0, random_state=random_state(generator))
    return [noisy.randomise(count) for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(
        _release,
        1.0,
        0.0,
        adjacency="add-remove",
        name="diffprivlib-laplace-low-bits",
        score=coarse,
    )
    return target, Claim.of(epsilon=1.0, adjacency="add-remove")


SHIPPED = Shipped(
    title="diffprivlib's Laplace mechanism to the last bit",
    modules=("diffprivlib",),
    pair=_pair,
    refuted=True,
    thread="https://github.com/IBM/differential-privacy-library/issues/94",
)
