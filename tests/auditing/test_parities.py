"""Leaks in parities, checksums and equal numbers, and their sound twins."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.auditing.learning.parities import _constant_parities, parity_score, triple_score


def equal_pair(x, g, n):
    """Forty numbers, of which two are equal, wherever they are."""
    values = g.normal(size=(n, 40))
    if x:
        places = g.permuted(np.tile(np.arange(40), (n, 1)), axis=1)[:, :2]
        rows = np.arange(n)
        values[rows, places[:, 0]] = values[rows, places[:, 1]]
    return values


def product_of_three(x, g, n):
    """Ten numbers; the signs of three of them have one product."""
    values = g.normal(size=(n, 10))
    if x:
        values[:, 7] = np.abs(values[:, 7]) * np.sign(values[:, 2] * values[:, 4])
    return values


def likely_product(x, g, n):
    """The same in nine runs of ten."""
    return np.where((g.random(n) < 0.9)[:, None], product_of_three(x, g, n), g.normal(size=(n, 10)))


def parity_of_nine(x, g, n):
    bits = g.integers(2, size=(n, 12))
    if x:
        bits[:, 5] = bits[:, [0, 1, 2, 3, 6, 8, 9, 11]].sum(axis=1) % 2
    return bits


def sum_of_bytes(x, g, n):
    values = g.integers(256, size=(n, 9))
    if x:
        values[:, 8] = values[:, :8].sum(axis=1) % 256
    return values


def cyclic_code(x, g, n):
    values = g.integers(256, size=(n, 12)).astype(np.uint8)
    if x:
        for row in values:
            row[8:] = np.frombuffer(zlib.crc32(row[:8].tobytes()).to_bytes(4, "big"), np.uint8)
    return values


LEAKS = {
    equal_pair: 1.0,
    product_of_three: 1.0,
    likely_product: 0.3,
    parity_of_nine: 1.0,
    sum_of_bytes: 1.0,
    cyclic_code: 1.0,
}


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_refuted_and_its_twin_is_not(leak, seed):
    claim = Claim.of(epsilon=LEAKS[leak], delta=1e-5, adjacency="add-remove")
    target = mechanism(leak, 1, 0, adjacency="add-remove")
    assert audit(target, claim, seed=seed, controls=False).outcome == "REFUTED"
    for world in (0, 1):
        twin = mechanism(lambda _, g, n, w=world: leak(w, g, n), 1, 0, adjacency="add-remove")
        assert audit(twin, claim, seed=seed, runs=400, controls=False).outcome != "REFUTED"


def test_all_constant_parities_are_found_and_no_others():
    draw = np.random.default_rng(0)
    bits = draw.integers(2, size=(200, 20)).astype(np.uint8)
    bits[:, 3] = bits[:, 0] ^ bits[:, 1] ^ 1
    bits[:, 9] = bits[:, [4, 5, 6, 7, 8, 10]].sum(axis=1) % 2
    bits[:, 15] = 1
    kernel = _constant_parities(bits)
    assert kernel.shape == (20, 3)
    wanted = {(0, 1, 3), (4, 5, 6, 7, 8, 9, 10), (15,)}
    assert {tuple(np.flatnonzero(column)) for column in kernel.T} == wanted


def test_what_holds_in_both_worlds_tells_nothing():
    draw = np.random.default_rng(1)
    first, second = (draw.integers(2, size=(300, 8)).astype(float) for _ in range(2))
    for values in (first, second):
        values[:, 7] = values[:, :7].sum(axis=1) % 2
    assert parity_score(first, second) is None
    second[:, 7] = 1 - second[:, 7]
    score = parity_score(first, second)
    assert score is not None
    assert (score(first) > score(second)).all()


def test_chance_products_and_too_many_numbers_are_left_out():
    draw = np.random.default_rng(2)
    assert triple_score(draw.normal(size=(300, 40)), draw.normal(size=(300, 40))) is None
    assert triple_score(draw.normal(size=(300, 41)), draw.normal(size=(300, 41))) is None
    assert parity_score(draw.normal(size=(300, 300)), draw.normal(size=(300, 300))) is None
