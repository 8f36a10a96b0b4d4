"""Certificates to verify and to damage."""

from __future__ import annotations

SAMPLED = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "1", "rate": "0.01"}

HEADLINE = {
    "adjacency": "add-remove",
    "releases": [{**SAMPLED, "count": 10_000}],
    "delta": "1e-5",
}
