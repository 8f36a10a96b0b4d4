"""The example of a theorem on noisy descent, with other parameters."""

from __future__ import annotations

import os

from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import privacy_result

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"


def example_of(key: str, **changes: object) -> Theorem:
    kind = privacy_result(key)
    return kind.from_parameters({**kind.example, **changes})
