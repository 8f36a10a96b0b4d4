"""An objective-perturbed update: what opposite records make of it, and a mistake to plant."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtr

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law


def doubled_shift(mu: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian mechanism with 2μ, in doubles."""
    m = 2 * mu
    return float(ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m))


def spread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out that a record's derivative falls."""
    monkeypatch.setattr(objective_perturbation, "mean_profile", lambda *_: None)
    removal_laws.cache_clear()
    replacement_law.cache_clear()
