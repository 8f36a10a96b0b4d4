"""diffprivlib's linear regression: two records, one of them replaced.

The sum of squares of a feature gets noise scaled to its lower bound. Where that bound is 0 the sum
is used as it is, and the coefficient, a noisy number divided by it, has its scale.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(feature: float, generator: np.random.Generator, runs: int) -> list[float]:
    from diffprivlib.models import LinearRegression

    X, y, state = np.array([[feature], [0.01]]), np.array([0.5, 0.5]), random_state(generator)
    model = LinearRegression(
        epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, random_state=state
    )
    return [model.fit(X, y).coef_[0] for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(
        _release, 1.0, 0.01, adjacency="replace-one", name="diffprivlib-linear-regression"
    )
    return target, Claim.of(epsilon=1.0, adjacency="replace-one")


SHIPPED = Shipped(
    title="diffprivlib's linear regression",
    modules=("diffprivlib",),
    pair=_pair,
    refuted=True,
    runs=1000,
    thread="https://github.com/IBM/differential-privacy-library/issues/105",
)
