"""Released values are doubles or refused: what a conversion would round, parse or drop may be a leak."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.auditing.targets.exact_numbers import exact_numbers
from dpcalc.auditing.targets.target import features
from dpcalc.errors import InvalidInput

EXTENDED = np.longdouble(1) + np.finfo(np.longdouble).eps
LOSSY = {
    "int64": np.array([2**60 + 1]),
    "int64, many": np.array([[1, 2], [2**60 + 1, 3]]),
    "uint64": np.array([2**63 + 1], dtype=np.uint64),
    "Python integers": [2**70 + 1],
    "too large": [10**400],
    "among doubles": [0.5, 2**60 + 1],
    "scalars of two types": [np.uint64(2**63 + 1), np.int64(-1)],
    "fractions": [Fraction(1, 3)],
    "decimals": [Decimal("0.1")],
    "masked": np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    "masked rows": [np.ma.masked_array([1.0, 2.0], mask=[True, False])],
    "words of digits": ["1.0", "1"],
    "bytes": np.array([b"1"]),
    "dates": np.array(["2020-01-01"], dtype="datetime64[ns]"),
    "None next to NaN": [None, float("nan")],
}


@pytest.mark.parametrize("released", LOSSY.values(), ids=LOSSY)
def test_what_is_no_double_is_refused(released):
    with pytest.raises(InvalidInput, match=r"^expected numbers that are doubles .*; got .*; "):
        features(released)


@pytest.mark.skipif(float(EXTENDED) == EXTENDED, reason="long doubles are doubles here")
def test_a_long_double_that_is_no_double_is_refused():
    with pytest.raises(InvalidInput, match="is no double"):
        features(np.array([EXTENDED]))


@pytest.mark.parametrize(
    "released",
    [
        [2**53, 2**60, -(2**70)],
        np.array([2**63], dtype=np.uint64),
        [Fraction(1, 4), True, Decimal("0.5")],
        np.array([1, np.nan, -np.inf], dtype=np.longdouble),
        [float("nan"), 2**60, np.float32(0.1)],
        np.array([True, False]),
    ],
)
def test_doubles_of_every_type_are_taken(released):
    taken = exact_numbers(released)
    assert taken.dtype == np.float64
    for value, given in zip(taken.tolist(), list(released), strict=True):
        assert value == given or (np.isnan(value) and np.isnan(float(given)))


def test_an_audit_names_the_target_and_what_it_got():
    target = mechanism(
        lambda x, g, n: np.full(n, 2**60 + int(x)), 1, 0, adjacency="add-remove", name="mine"
    )
    claim = Claim.of(epsilon=1, adjacency="add-remove")
    with pytest.raises(InvalidInput, match=r"target 'mine'.*got 1152921504606846977 of type int"):
        audit(target, claim, seed=1, controls=False)


def test_a_release_of_no_number_is_refused():
    with pytest.raises(InvalidInput, match="at least one released number per run; got none"):
        features(np.empty((5, 0)))
