"""The infinite product of 1/(1 + a·rᵗ) next to its own factors in fifty digits."""

from __future__ import annotations

import pytest
from mpmath import mp, mpf

from dpcalc.numerics.geometric_product import geometric_product


def logarithm(first: float, ratio: float) -> mpf:
    """Σ ln(1 + a·rᵗ): term by term, and by Taylor's series where terms are below 1e-4."""
    term, r, total = mpf(first), mpf(ratio), mpf(0)
    while term > 1e-4:
        total += mp.log1p(term)
        term *= r
    return total - sum((-term) ** k / (k * (1 - r**k)) for k in range(1, 14))


@pytest.mark.parametrize("ratio", [1e-9, 2**-5, 0.3, 0.75, 0.997])
@pytest.mark.parametrize("first", [6e-12, 1.4e-10, 1.3e-9, 3e-8, 1e-4, 0.3, 7.0, 1e5])
def test_it_is_below_the_product_by_no_more_than_it_says(first: float, ratio: float) -> None:
    """Near 1 the inflated logarithm is lost in the last digit of an exponential."""
    with mp.workdps(50):
        total = logarithm(first, ratio)
        if total > 700:
            return
        found = geometric_product(first, ratio)
        assert mp.exp(-total * (1 + mpf("1.1e-9"))) * (1 - mpf(2) ** -50) <= found <= mp.exp(-total)
