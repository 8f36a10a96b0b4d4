"""OpenDP's Laplace measurement on integers: a count of 1 or 0."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=1.0)

    def release(value: int, _: np.random.Generator, runs: int) -> list[int]:
        return [measurement(value) for _ in range(runs)]

    target = mechanism(release, 1, 0, adjacency="add-remove", name="opendp-discrete-laplace")
    return target, Claim.of(epsilon=measurement.map(1), adjacency="add-remove")


SHIPPED = Shipped(title="OpenDP's discrete Laplace measurement", modules=("opendp",), pair=_pair)
