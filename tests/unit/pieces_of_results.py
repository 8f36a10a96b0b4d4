"""The example of a result with other parameters, and a round of a network."""

from __future__ import annotations

from typing import Any

from dpcalc.theorems.catalogue import result

LOGISTIC = {"penalty": 1, "noise_rate": 3, "rounds": 4, "dimension": None}


def result_of(key: str, **changes: Any) -> Any:
    kind = result(key)
    given = {**kind.example, **changes}
    return kind.from_parameters({k: v for k, v in given.items() if v is not None})
