"""What is said of data whose columns need more memory than there is."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms.problems import constraints
from dpcalc.algorithms.problems.builtin import classification
from dpcalc.cli._errors import failure_of
from dpcalc.errors import InvalidInput
from dpcalc.training.catalogue import method

_SAID = "Unable to allocate 2.98 GiB for an array with shape (20000, 20000)"


@pytest.mark.parametrize("fused", ["no", "chain"])
def test_a_constraint_that_no_memory_holds_is_named_with_its_columns(
    monkeypatch: pytest.MonkeyPatch, fused: str
) -> None:
    def none(*shape: int) -> np.ndarray:
        raise MemoryError(_SAID)

    records = classification(20, 3)
    monkeypatch.setattr(constraints.np, "eye", none)
    with pytest.raises(InvalidInput, match=r"got 3 columns.* of dp-admm takes .*leave out rare"):
        method("dp-admm").from_parameters({"fused": fused}).problem(records)


def test_any_other_array_without_memory_is_named_and_columns_are_among_what_helps() -> None:
    found = failure_of(MemoryError(_SAID))
    assert "(20000, 20000)" in found.line
    assert "columns" in found.line
    assert found.status == 70
    assert failure_of(MemoryError()).line.startswith("there is not enough memory; try fewer")
