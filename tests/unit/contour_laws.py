"""Laws whose sums are integrated along a contour."""

from __future__ import annotations

from dpcalc.accounting.losses import (
    LaplaceLoss,
    RandomisedResponseLoss,
)

LAPLACE = LaplaceLoss(0.7, 0.7)

RESPONSES = RandomisedResponseLoss.of({0.7: 3, 0.2: 1})
