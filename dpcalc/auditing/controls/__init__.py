"""Mechanisms whose privacy loss is known exactly: without them no audit result counts."""

from __future__ import annotations

from dpcalc.auditing.controls.mechanisms import (
    exponential_norm,
    gaussian,
    laplace,
    randomised_response,
    subsampled_gaussian,
)

__all__ = [
    "exponential_norm",
    "gaussian",
    "laplace",
    "randomised_response",
    "subsampled_gaussian",
]
