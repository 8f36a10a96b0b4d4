"""Products, convolutions, eigenvalues and singular values, against plain sums and exact bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpcalc.errors import NumericalFailure
from dpcalc.numerics import products
from dpcalc.numerics.certified_eigenvalues import (
    contraction,
    largest_eigenvalue,
    positive_definite,
    singular_values,
    smallest_eigenvalue,
)
from dpcalc.numerics.products import convolution, product

UNIT = 2.0**-53

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_products_of_all_shapes() -> None:
    rng = np.random.default_rng(1)
    vector, other = rng.normal(size=5), rng.normal(size=5)
    matrix = rng.normal(size=(4, 5))
    assert product(vector, other) == pytest.approx(float(vector @ other), rel=1e-13)
    np.testing.assert_allclose(product(matrix, vector), matrix @ vector)
    np.testing.assert_allclose(product(vector, matrix.T), vector @ matrix.T)
    np.testing.assert_allclose(product(matrix, matrix.T), matrix @ matrix.T)


def test_large_products_are_formed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    left, right = rng.normal(size=(3, 50)), rng.normal(size=(50, 4))
    used: list[int] = []

    class Noted(np.ndarray):
        def __matmul__(self, other):
            used.append(self.shape[1])
            return np.asarray(self) @ np.asarray(other)

    for work, sizes in ((2**17, [50]), (12 * 7, [7] * 7 + [1]), (5, [1] * 50)):
        monkeypatch.setattr(products, "_WORK", work)
        used.clear()
        found = product(left.view(Noted), right)
        np.testing.assert_allclose(found, left @ right, rtol=1e-12)
        assert used == sizes
    assert product(np.zeros((0, 5)), np.zeros((5, 3))).shape == (0, 3)
    # A quarter of that of complex numbers, on whichever side they are.
    for one, other in ((left * 1j, right), (left, right * 1j)):
        monkeypatch.setattr(products, "_COMPLEX_WORK", 12 * 20)
        used.clear()
        np.testing.assert_allclose(product(one.view(Noted), other), one @ other, rtol=1e-12)
        assert used == [20, 20, 10]


@pytest.mark.parametrize("sizes", [(1, 1), (3, 20), (20, 3), (25, 30), (33, 17)])
def test_convolutions_in_parts(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_LENGTH", 8)
    rng = np.random.default_rng(3)
    one, other = (rng.uniform(size=n) for n in sizes)
    found = convolution(one, other)
    assert len(found) == sum(sizes) - 1
    np.testing.assert_allclose(found, np.convolve(one, other), rtol=1e-13)


def test_definiteness_with_a_slack() -> None:
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    least = float(np.linalg.eigvalsh(matrix)[0])
    # All within the slack are definite: the bound is the least eigenvalue less rounding.
    assert positive_definite(matrix, least * (1 - 1e-13))
    assert not positive_definite(matrix, least * (1 + 1e-15))
    assert positive_definite(matrix + np.array([[0, 1e-3], [-1e-3, 0]]))
    for bad in (math.nan, math.inf):
        assert not positive_definite(np.array([[bad]]))
        assert not positive_definite(matrix, bad)
    assert not positive_definite(np.zeros((2, 2)))
    # What Cholesky's factorisation may be off by is taken off: 4(n+3)u(trace + norm).
    n = 2
    allowed = 4 * (n + 3) * UNIT * (2 * 1.0 + 1.0)
    for share, holds in ((1.2, True), (0.8, False)):
        assert positive_definite(np.eye(2), 1 - share * allowed) == holds


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_eigenvalues_are_bounded_closely(size: int, scale: float) -> None:
    rng = np.random.default_rng(size)
    root = scale * rng.normal(size=(size, size))
    matrix = (root + root.T) / 2
    values = [float(v) for v in mp.eigsy(mp.matrix(matrix.tolist()), eigvals_only=True)]
    norm = float(np.linalg.norm(matrix))
    top, bottom = largest_eigenvalue(matrix), smallest_eigenvalue(matrix)
    room = 64 * (size + 3) * UNIT * (norm + size * abs(max(values)))
    assert max(values) <= top <= max(values) + 2 * room
    assert min(values) - 2 * room <= bottom <= min(values)
    slack = 1e-3 * scale
    assert max(values) + slack <= largest_eigenvalue(matrix, slack) <= max(values) + 2.1 * slack
    # A poor estimate costs halvings and no truth.
    poor = largest_eigenvalue(matrix, estimate=max(values) - scale)
    assert max(values) <= poor <= max(values) + 2 * scale
    generous = largest_eigenvalue(matrix, estimate=max(values) + scale)
    assert generous == pytest.approx(max(values) + scale)


def test_an_eigenvalue_that_is_not_found() -> None:
    with pytest.raises(NumericalFailure) as caught:
        largest_eigenvalue(np.eye(2), estimate=-1e300)
    assert str(caught.value) == "an eigenvalue could not be bounded; try a better scaled matrix"


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 3)])
def test_singular_values_are_bounded_closely(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(7).normal(size=shape)
    values = np.linalg.svd(matrix, compute_uv=False)
    low, high = singular_values(matrix)
    assert values[-1] * (1 - 1e-11) <= low <= values[-1] * (1 + 1e-15)
    assert values[0] * (1 - 1e-15) <= high <= values[0] * (1 + 1e-12)
    assert singular_values(np.ones((2, 2)))[0] < 1e-6
    assert singular_values(np.zeros((2, 2)))[0] == 0.0


def test_contractions() -> None:
    for matrix, radius in (
        (np.array([[0.5, 0.3], [0.0, 0.4]]), 0.5),
        (np.array([[0.0, -0.9], [0.9, 0.0]]), 0.9),
        (np.diag([0.2, 0.99]), 0.99),
        (np.zeros((2, 2)), 0.0),
        (np.array([[2.0]]), 2.0),
    ):
        found = contraction(matrix, np.abs(matrix))
        assert found is not None
        assert radius <= found <= radius * (1 + 1e-6) + 1e-9
    # A Jordan block's powers grow before they shrink: a rate a little above its radius is proved.
    block = np.array([[0.9, 1.0], [0.0, 0.9]])
    found = contraction(block, np.abs(block))
    assert found is not None
    assert 0.9 < found <= 0.9 * 1.11
    # With errors as large as the entries nothing can be proved.
    assert contraction(block, 1e12 * np.abs(block)) is None
