"""Files to train on, and every algorithm of the folder."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms import load
from tests.algorithms.every_algorithm import KEYS, NOISY


@pytest.fixture
def table(tmp_path):
    """A CSV file of two classes that a line parts."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a > b else 'no'}" for a, b in x]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,bought", *lines]) + "\n")
    return path


@pytest.fixture(params=KEYS)
def algorithm(request):
    return load(request.param).example()


@pytest.fixture(params=NOISY)
def private(request):
    return load(request.param).example()
