"""OpenDP's Gaussian measurement on a number in [0, 1], claimed as zCDP."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped
from dpcalc.guarantees import ZCDP


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=1.0)

    def release(value: float, _: np.random.Generator, runs: int) -> list[float]:
        return [measurement(value) for _ in range(runs)]

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="opendp-gaussian")
    return target, Claim(
        guarantee=ZCDP(measurement.map(1.0)), delta=1e-5, adjacency=target.adjacency
    )


SHIPPED = Shipped(title="OpenDP's Gaussian measurement", modules=("opendp",), pair=_pair)
