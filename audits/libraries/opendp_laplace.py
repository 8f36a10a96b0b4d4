"""OpenDP's Laplace measurement on a number in [0, 1]; its randomness is its own."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=1.0)

    def release(number: float, _: np.random.Generator, runs: int) -> list[float]:
        return [measurement(number) for _ in range(runs)]

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="opendp-laplace")
    return target, Claim.of(epsilon=measurement.map(1.0), adjacency="add-remove")


SHIPPED = Shipped(title="OpenDP's Laplace measurement", modules=("opendp",), pair=_pair)
