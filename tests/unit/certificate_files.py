"""Certificates to verify and to damage."""

from __future__ import annotations

import copy
from typing import Any

from dpcalc.certificates.checker import digest

SAMPLED = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "1", "rate": "0.01"}

HEADLINE = {
    "adjacency": "add-remove",
    "releases": [{**SAMPLED, "count": 10_000}],
    "delta": "1e-5",
}


def with_changes(
    certificate: dict[str, Any] | None, direction: str, changes: dict[str, Any]
) -> dict[str, Any]:
    """Its upper end with other values, wherever their names stand, and a new checksum."""
    edited = copy.deepcopy(certificate)
    assert edited is not None
    edited["lower"] = None
    release, how = edited["releases"][0], edited["upper"]["evidence"][direction]
    for name, value in changes.items():
        where = next((t for t in (how, release, edited["upper"]) if name in t), edited)
        where[name] = value
    return {**edited, "digest": digest(edited)}
