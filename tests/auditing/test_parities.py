"""Scores that see constant parities and products of signs: what they find and what they leave out.

Leaks of this kind and their sound twins are among the planted ones: `test_planted_leaks`.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing.learning.parities import _constant_parities, parity_score, triple_score


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
