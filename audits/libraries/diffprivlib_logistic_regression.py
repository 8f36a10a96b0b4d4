"""diffprivlib's logistic regression: ten records, the label of one replaced."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing import Claim, Target, mechanism
from dpcalc.audits.instances.shipped import Shipped, random_state


def _release(positives: int, generator: np.random.Generator, runs: int) -> list[list[float]]:
    from diffprivlib.models import LogisticRegression

    X, y = np.ones((10, 1)), np.arange(10) < positives
    state = random_state(generator)
    model = LogisticRegression(epsilon=1.0, data_norm=1.0, fit_intercept=False, random_state=state)
    return [model.fit(X, y).coef_[0].tolist() for _ in range(runs)]


def _pair() -> tuple[Target, Claim]:
    target = mechanism(
        _release, 6, 5, adjacency="replace-one", name="diffprivlib-logistic-regression"
    )
    return target, Claim.of(epsilon=1.0, adjacency="replace-one")


SHIPPED = Shipped(
    title="diffprivlib's logistic regression", modules=("diffprivlib",), pair=_pair, runs=400
)
