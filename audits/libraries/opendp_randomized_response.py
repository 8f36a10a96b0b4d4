"""OpenDP's randomized response on one bit, true three times in four."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response_bool(prob=0.75)

    def release(value: bool, _: np.random.Generator, runs: int) -> list[bool]:
        return [measurement(value) for _ in range(runs)]

    target = mechanism(
        release, True, False, adjacency="replace-one", name="opendp-randomized-response"
    )
    return target, Claim.of(epsilon=measurement.map(1), adjacency="replace-one")


SHIPPED = Shipped(title="OpenDP's randomized response", modules=("opendp",), pair=_pair)
