"""OpenDP's Laplace measurement, seen down to the last bit.

The exact sum of number and noise is rounded once, so the last bits say no more than the sum does.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, coarse


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=1.0)

    def release(value: float, _: np.random.Generator, runs: int) -> list[float]:
        return [measurement(value) for _ in range(runs)]

    target = mechanism(
        release, 1.0, 0.0, adjacency="add-remove", name="opendp-laplace-low-bits", score=coarse
    )
    return target, Claim.of(epsilon=measurement.map(1.0), adjacency="add-remove")


SHIPPED = Shipped(
    title="OpenDP's Laplace measurement to the last bit", modules=("opendp",), pair=_pair
)
