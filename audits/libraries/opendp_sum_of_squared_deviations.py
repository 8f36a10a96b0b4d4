"""OpenDP's sum of squared deviations from the mean, of numbers with few bits to spare.

The mean is rounded before it is subtracted. Which way depends on the one record that differs, and
all the other deviations follow it; the declared sensitivity counts the roundings of the sum alone.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped

LOWEST, RECORDS = 2.0**51, 4096
"""Numbers between 2^51 and 2^51 + 1, whose last bit is worth a half."""


def _pair() -> tuple[Target, Claim]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    bounds = dp.atom_domain(bounds=(LOWEST, LOWEST + 1), nan=False)
    deviations = dp.t.make_sum_of_squared_deviations(
        dp.vector_domain(bounds, size=RECORDS), dp.symmetric_distance()
    )
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noisy = dp.m.make_laplace(*space, scale=deviations.map(2))

    def release(first: float, _: np.random.Generator, runs: int) -> list[float]:
        records = [LOWEST + first] + [LOWEST + 0.5] * (RECORDS - 1)
        exact = deviations(records)  # once for all runs: nothing random is in it
        return [noisy(exact) for _ in range(runs)]

    name = "opendp-sum-of-squared-deviations"
    target = mechanism(release, 1.0, 0.5, adjacency="replace-one", name=name)
    return target, Claim.of(epsilon=noisy.map(deviations.map(2)), adjacency="replace-one")


SHIPPED = Shipped(
    title="OpenDP's sum of squared deviations",
    modules=("opendp",),
    pair=_pair,
    refuted=True,
    thread="https://github.com/opendp/opendp/issues/2923",
)
