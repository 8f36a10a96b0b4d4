"""Compiled normal numbers are numpy's, to the last bit and to the state they leave behind."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms.problems import normals as module
from dpcalc.algorithms.problems.generators import cryptographic, repeatable
from dpcalc.algorithms.problems.normals import standard_normal


@pytest.fixture
def unchecked():
    """What is found about the compiled loop is found anew, before and after."""
    module._checked.cache_clear()
    yield
    module._checked.cache_clear()


@pytest.mark.parametrize("seed", range(3))
def test_compiled_normals_are_numpys_bit_for_bit(seed):
    """Of a million numbers 270 lie beyond the last layer and 12,000 at the edge of one."""
    pytest.importorskip("numba")
    assert module._checked() is not module._numpys
    one, other = (repeatable(seed, (0, 1, 2)) for _ in range(2))
    one.integers(0, 10, 3, dtype=np.uint32)  # leaves half a word behind
    other.integers(0, 10, 3, dtype=np.uint32)
    for shape in ((10, 100_000), (4096,), (5,), (0, 3)):
        np.testing.assert_array_equal(standard_normal(one, shape), other.standard_normal(shape))
    np.testing.assert_array_equal(one.standard_gamma(3.0, 9), other.standard_gamma(3.0, 9))
    assert one.integers(0, 9, dtype=np.uint32) == other.integers(0, 9, dtype=np.uint32)


def test_the_generator_of_real_runs_is_left_to_numpy():
    pytest.importorskip("randomgen")
    one, other = (cryptographic(7, (0, 0, 0)) for _ in range(2))
    np.testing.assert_array_equal(standard_normal(one, (8192,)), other.standard_normal(8192))


@pytest.mark.parametrize("planted", ["a layer", "the end", "the state"])
def test_numbers_that_are_not_numpys_are_not_used(planted, unchecked, monkeypatch):
    """A wrong table entry, a wrong end of the last layer and a state not moved on are found out."""
    pytest.importorskip("numba")
    from dpcalc.algorithms.problems import ziggurat

    inside, widths, heights = (table.copy() for table in ziggurat.TABLES)
    right = ziggurat.fill
    if planted == "a layer":
        widths[200] *= 1 + 2**-52
    elif planted == "the end":
        inside[0] += np.uint64(2**48)
    else:
        monkeypatch.setattr(ziggurat, "fill", lambda state, *rest: right(state.copy(), *rest))
    monkeypatch.setattr(ziggurat, "TABLES", (inside, widths, heights))
    assert module._checked() is module._numpys
    one, other = (repeatable(0, (0, 0, 0)) for _ in range(2))
    np.testing.assert_array_equal(standard_normal(one, (8192,)), other.standard_normal(8192))


def test_without_numba_numpy_draws(unchecked, monkeypatch):
    monkeypatch.setattr(module, "_PAYS", 0)
    monkeypatch.setattr(module.compiled, "is_there", lambda: False)
    one, other = (repeatable(0, (0, 0, 0)) for _ in range(2))
    np.testing.assert_array_equal(standard_normal(one, (8192,)), other.standard_normal(8192))
