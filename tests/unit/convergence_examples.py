"""The example of every convergence result."""

from __future__ import annotations

from dpcalc.theorems.catalogue import result


def example(key, **changes):
    kind = result(key)
    given = {k: v for k, v in {**kind.example, **changes}.items() if v is not None}
    return kind.from_parameters(given)
