"""Laws of an objective-perturbed update: what opposite records make of it, and mistakes to plant."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law


def doubled_shift(mu: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian mechanism with 2μ, in doubles."""
    m = 2 * mu
    return float(ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m))


def changes(update, record, other):
    """What neighbours have in place of one record, in three ways, with the law that covers each."""
    removed, added = removal_laws(update)
    none = np.zeros_like(record)
    yield record, other, replacement_law(update)
    yield record, none, removed
    yield none, record, added


def spread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out that a record's derivative falls."""
    monkeypatch.setattr(objective_perturbation, "mean_profile", lambda *_: None)
    removal_laws.cache_clear()
    replacement_law.cache_clear()
