"""What tests of laws leave behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law


@pytest.fixture
def fresh_laws() -> Iterator[None]:
    """Laws that were made with a planted mistake are forgotten."""
    yield
    removal_laws.cache_clear()
    replacement_law.cache_clear()
