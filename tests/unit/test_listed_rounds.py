"""Which rounds are listed next to others."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.composition import graded_sums
from dpcalc.accounting.composition.listed_losses import Listed
from dpcalc.accounting.composition.listed_rounds import parted
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses.subsampled_gaussian import PoissonReplace


@pytest.mark.parametrize(("rounds", "listed"), [(1, 0), (2, 1), (3, 0), (5584, 0)])
def test_of_equal_rounds_no_fewer_are_listed_than_are_asked(rounds: int, listed: int) -> None:
    """Each question about nearly all of 5,584 costs as much as that about all, and is as wide."""
    found = parted(LossSum.of([(PoissonReplace(0.74, 1.5e-9), rounds)]), 1e-25)
    assert (found is not None) == bool(listed)
    if found is not None:
        assert len(found.outlines) == listed
        assert found.rest.rounds == rounds - listed


def test_a_lower_list_may_be_empty() -> None:
    """Everything so far below the next point that e^x is no double is left out, and nothing remains."""
    one = Listed(np.array([-750.0]), np.array([1.0]), np.zeros(1), 0.0)
    found = graded_sums._power(one, 3, lambda n: np.array([-4000.0, 10.0 * n]), graded_sums._merged)
    assert len(found.losses) == 0
    assert found.infinite == 0
